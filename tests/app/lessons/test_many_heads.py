"""The lesson "Multi-head attention" without a browser: picture and tables show the computed values."""

import pytest

from attnviz.app.lessons.many_heads import page, values
from attnviz.text import signed_share
from tests.app.shown import message_to, page_text, stored_arrays, visit

TEXT = "The dog did not cross the road as it was too tired."
IT = 9


def test_picture_and_tables_show_the_computed_values() -> None:
    app, found = visit("many_heads"), values.at_token(TEXT, 3, IT)
    table, text = message_to(app, "share_table"), page_text(app)
    assert not app.info
    assert [row["marked"] for row in table["rows"]].index(True) == message_to(app, "head_view")["query"] == 1
    assert [row["shares"] for row in table["rows"]] == [
        [share] for share in (*found.shares, found.bias_share)
    ]
    assert sum(row["shares"][0] for row in table["rows"]) == pytest.approx(1, abs=1e-4)
    assert stored_arrays(app, "heads of a token exact")["values"][0] == pytest.approx(found.weights)
    assert f"length {found.lengths[1]:.3f}" in text
    share = signed_share(float(found.shares[1])).replace("\u00a0", " ")
    assert f"**{share}**" in text.replace("\\", "")
    assert "rows 33 to 64" in text
    for cost in values.costs(384, page.HEADS, tokens=15):
        counts = f"{cost.parameters:,} | {cost.multiply_adds:,} | {cost.weights:,}"
        assert f"| {cost.heads} × {cost.d_head} | {counts} |" in text
