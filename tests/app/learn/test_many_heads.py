"""The page "Why many heads?" without a browser: its sentences and tables say what compute returns."""

import re

import numpy as np

from attnviz.app.learn.many_heads import compute
from attnviz.text import percent
from tests.app.shown import visit, words

TEXT = "The dog did not cross the road as it was too tired."
IT = 9


def test_the_picture_and_the_tables_are_told() -> None:
    app, found = visit("many_heads", tokens_counted="1000"), compute.at_token(TEXT, 3, IT, 12)
    told = words(app)
    assert not app.info
    assert "In **head 2** of 12, `it` looks at `dog` :violet[**66 %**], `road` :violet[**12 %**]" in told
    assert f":green[**{100 * found.shares[1]:+.1f} %**] of the block's output" in told
    assert f"head {found.shares.argmax() + 1}'s, {100 * found.shares.max():+.1f} %" in told
    assert "add up to 100 %" in told
    assert "12 pieces of 32. Head 2 gets numbers 33 to 64, and nothing else." in told
    for cost in compute.costs(384, [1, 2, 3, 4, 6, 8, 12], tokens=15):
        counts = f"{cost.parameters:,} | {cost.multiply_adds:,} | {cost.weights:,}"
        assert f"| {cost.heads} × {cost.d_head} | {counts} |" in told
    for size in compute.known_sizes():
        inside = f"{size.d_feed_forward} = {size.d_feed_forward // size.d_model} × {size.d_model}"
        shape = f"{size.d_model} = {size.heads} × {size.d_head} | {inside} | {size.layers}"
        assert f"| {size.name} | {shape} |" in told
    assert "109,482,240 parameters" in told
    assert "335,141,888 parameters" in told
    base = compute.multiply_adds(1000, 768, 12, 3072)
    assert f"| BERT base | {base.attention / 1e6:,.2f} | {base.layer / 1e6:,.2f} |" in told
    assert "Brunner" not in told  # said only of texts with more tokens than a head has numbers
    assert "Brunner" in words(visit("many_heads", text=f"{TEXT} " * 4))


def test_the_largest_head_says_so() -> None:
    largest = compute.at_token(TEXT, 3, IT, 12).shares.argmax() + 1
    assert "No head's share is larger." in words(visit("many_heads", head=str(largest)))


def test_a_text_may_have_fewer_tokens_than_there_are_heads() -> None:
    assert "In **head 12** of 12, " in words(visit("many_heads", text="The dog slept.", head="12"))


def test_one_wide_head_has_one_row_and_says_that_it_was_not_trained() -> None:
    app = visit("many_heads", heads_of_384="1", head="8")
    assert "In **head 1** of 1, `it` looks at `[CLS]`" in words(app)
    assert "cut into 1" in app.info[0].value
    assert "one piece of 384. Head 1 gets numbers 1 to 384: all of them." in words(app)
    assert app.session_state["head"] == 8  # what Explore will open


def test_what_a_head_is_good_at_leads_to_the_filter_on_explore() -> None:
    (previous,) = (habit for habit in compute.habits(TEXT) if habit.name == "previous")
    layer, head = (1 + np.argwhere(previous.found)[0]).tolist()
    told = words(visit("many_heads", layer=str(layer), head=str(head)))
    raw = percent(float(previous.raw[layer - 1, head - 1]))
    assert f"| yes | {raw} of its attention" in told
    assert f"**previous** ({previous.found.sum()} of 72 heads)" in told
    assert re.search(rf"head {layer}-{head} counts as \*\*previous", told)
