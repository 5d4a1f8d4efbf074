"""The lesson "The block" without a browser: tables and charts show the computed values."""

import re

import pytest

from attnviz.app.lessons.block.values import lengths, walk
from tests.app.shown import charts, sent, visit, words

TEXT = "The dog did not cross the road as it was too tired."
IT = 9
# Rows of the table beside the picture, in order.
ROWS = (
    *("came_in", "attention", "first_sum", "attended"),
    *("feed_forward", "second_sum", "came_out"),
)


def test_the_table_has_the_length_and_the_cosine_of_each_vector_and_both_rescalings() -> None:
    vectors = walk(TEXT, 4, IT).vectors
    expected: list[float] = []
    for name in ROWS:
        before = {"attended": "first_sum", "came_out": "second_sum"}.get(name)
        expected += [vectors[name].length / vectors[before].length] if before else []
        expected += [vectors[name].length]
        expected += [vectors[name].cosine or 0] if name != "came_in" else []
    [text] = [each.value for each in visit("block", layer="5").markdown if "rescaled**" in each.value]
    found = re.findall(r"−?\d+\.\d\d", text[text.index("| $x$") :])
    assert [float(number.replace("−", "-")) for number in found] == pytest.approx(expected, abs=0.0051)


def test_the_picture_has_the_numbers_of_each_vector() -> None:
    walked, facts = walk(TEXT, 3, IT), sent(visit("block"), "steps")["facts"]
    for name in ROWS:
        numbers = {fact["part"]: fact["value"] for fact in facts[name]}
        vector = walked.vectors[name]
        assert numbers.pop("cosine", vector.cosine) == vector.cosine
        assert numbers == {"length": vector.length, "mean": vector.mean}
    neurons = walked.vectors["activated"].values
    assert [fact["value"] for fact in facts["activated"]] == [(neurons > 0).sum(), neurons.max()]


def test_the_charts_show_the_computed_values() -> None:
    app, found = visit("block"), lengths(TEXT)
    measured, cosines = (chart["lines"] for chart in charts(app).values())
    for line, row in zip(measured, (found.came_in, found.attention, found.feed_forward), strict=True):
        assert line["x"] == list(range(1, 7))
        assert line["y"] == pytest.approx(row[:, IT].tolist(), rel=1e-4)
    assert cosines[0]["y"] == pytest.approx(found.similarity[:, IT].tolist(), abs=1e-4)


def test_of_a_long_text_the_nearest_tokens_are_drawn() -> None:
    app = visit("block", text="word " * 300)
    assert "24 of 301 other tokens" in words(app)
    *_, cosines = charts(app).values()
    assert [line["faint"] for line in cosines["lines"]] == [False, *24 * [True]]
