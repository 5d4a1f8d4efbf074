"""The lesson "Multi-head attention" without a browser: picture and tables show the computed values."""

import pytest

from attnviz.app.lessons.many_heads import page, values
from tests.app.shown import sent, visit, words

TEXT = "The dog did not cross the road as it was too tired."
IT = 9


def test_picture_and_tables_show_the_computed_values() -> None:
    app, found = visit("many_heads"), values.at_token(TEXT, 3, IT, 12)
    message, said = sent(app, "shares"), words(app)
    assert not app.info
    assert message["selected"] == 1
    assert message["shares"] == pytest.approx(found.shares.tolist(), abs=1e-5)
    assert message["bias"][2] == pytest.approx(found.bias_share)
    assert sum(message["shares"]) + message["bias"][2] == pytest.approx(1, abs=1e-4)
    assert "rows 33 to 64" in said
    for cost in values.costs(384, page.HEADS, tokens=15):
        counts = f"{cost.parameters:,} | {cost.multiply_adds:,} | {cost.weights:,}"
        assert f"| {cost.heads} × {cost.d_head} | {counts} |" in said
    for size in values.known_sizes():
        inside = f"{size.d_feed_forward} = {size.d_feed_forward // size.d_model} × {size.d_model}"
        shape = f"{size.d_model} = {size.heads} × {size.d_head} | {inside} | {size.layers}"
        assert f"| {size.name} | {shape} |" in said


def test_one_wide_head_is_labelled_as_untrained() -> None:
    app = visit("many_heads", heads_of_384="1", head="8")
    assert sent(app, "shares")["selected"] == 0
    assert len(app.info) == 1
    assert "rows 1 to 384" in words(app)
    assert app.session_state["head"] == 8  # what Explore will open
