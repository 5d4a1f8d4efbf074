"""The lesson "Cross-attention" without a browser: the table shows the computed values."""

import pytest

from attnviz.app.lessons.cross_attention.page import OPENING_READER
from attnviz.app.lessons.cross_attention.values import cross, keys_by_weight
from tests.app.shown import page_text, visit

SOURCE = "The dog did not cross the road as it was too tired."


@pytest.mark.parametrize(("selected", "query"), [("3 hound", 2), ("11 street", 10)])
def test_table_shows_the_largest_weights(selected: str, query: int) -> None:
    app, found = visit("cross_attention", cross_query=selected), cross(OPENING_READER, SOURCE)
    shown, keys = page_text(app).replace("−", "-"), keys_by_weight(found, query)
    assert "13 queries × 15 keys" in [header.value for header in app.header]
    for key in keys[:3]:
        measured = f"{key.dot_product:.1f} | {key.length:.2f} | {key.cosine:.2f}"
        assert f"{100 * key.weight:.1f} % | {measured}" in shown.replace("\u00a0", " ")
