"""The lesson "The block" without a browser: tables and charts show the computed values."""

from attnviz.app.lessons.block.values import walk
from tests.app.shown import message_to, visit

TEXT = "The dog did not cross the road as it was too tired."
IT = 9
# Rows of the table next to the picture, in order.
ROWS = (
    *("layer_input", "attention", "first_sum", "after_attention"),
    *("feed_forward", "second_sum", "layer_output"),
)


def test_picture_has_the_numbers_of_each_vector() -> None:
    walked, facts = walk(TEXT, 3, IT), message_to(visit("block"), "steps")["facts"]
    for name in ROWS:
        numbers = {fact["part"]: fact["value"] for fact in facts[name]}
        vector = walked.vectors[name]
        assert numbers.pop("cosine", vector.cosine) == vector.cosine
        assert numbers == {"length": vector.length, "mean": vector.mean}
    neurons = walked.vectors["activated"].values
    assert [fact["value"] for fact in facts["activated"]] == [(neurons > 0).sum(), neurons.max()]
