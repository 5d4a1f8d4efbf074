"""The lesson "Cross-attention" without a browser: tables show the computed values."""

import pytest

from attnviz.app.lessons.cross_attention.page import OPENING_READER
from attnviz.app.lessons.cross_attention.values import cross, largest
from tests.app.shown import visit, words

SOURCE = "The dog did not cross the road as it was too tired."


@pytest.mark.parametrize(("reads", "query"), [("3 hound", 2), ("11 street", 10)])
def test_the_tables_show_the_largest_weights_and_the_output(reads: str, query: int) -> None:
    app, found = visit("cross_attention", reads=reads), cross(OPENING_READER, SOURCE)
    shown, keys = words(app).replace("−", "-"), largest(found, query)
    assert "13 queries × 15 keys" in [header.value for header in app.header]
    for key in keys[:3]:
        measured = f"{key.dot_product:.1f} | {key.length:.2f} | {key.cosine:.2f}"
        assert f"{100 * key.weight:.1f} % | {measured}" in shown.replace("\u00a0", " ")
        assert f"{key.weight:.3f} | {key.value:.3f} | {key.weight * key.value:.3f}" in shown
    assert f"{sum(key.weight * key.value for key in keys[3:]):.3f}" in shown
    assert f"**{found.output[0, query, 0]:.3f}**" in shown
