"""The lesson "The block" without a browser: tables and charts show the computed values."""

import re

import pytest

from attnviz.app.lessons.block.values import walk
from tests.app.shown import sent, visit

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
