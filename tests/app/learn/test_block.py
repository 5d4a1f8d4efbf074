"""The page about a block without a browser: its words and charts are what compute returns."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.learn.block.compute import Walk, journey, walk
from tests.app.shown import charts, clean, visit

TEXT = "The dog did not cross the road as it was too tired."
IT = 9


def said(app: AppTest, begin: str) -> str:
    """The one paragraph that begins like this."""
    clean(app)
    [found] = [element.value for element in app.markdown if element.value.startswith(begin)]
    return str(found)


def expected(walked: Walk) -> list[list[float | None]]:
    """The numbers that each step of the picture says."""
    x, attention, attended = walked.came_in, walked.attention, walked.attended
    return [
        [x.length],
        [attention.length, attention.cosine],
        [x.length, attention.length, walked.first_sum.length, walked.first_sum.cosine],
        [walked.first_sum.length, attended.length],
        [walked.feed_forward.length],
        [attended.length, walked.feed_forward.length, walked.second_sum.length],
        [walked.came_out.length, walked.came_out.cosine],
    ]


def test_every_step_says_its_numbers() -> None:
    for step, numbers in enumerate(expected(walk(TEXT, 4, IT)), start=1):
        told = said(visit("block", layer="5", stage_in_block=str(step)), f"**Layer 5, step {step}.**")
        found = [float(number.replace("−", "-")) for number in re.findall(r"[-−]?\d+\.\d+", told)]
        assert found == pytest.approx(numbers, abs=0.0051)


def test_the_neurons_and_the_charts_show_what_was_computed() -> None:
    app, walked, through = visit("block"), walk(TEXT, 3, IT), journey(TEXT)
    told = said(app, "For `it`")
    assert f"**{walked.firing} of {len(walked.activated.values)}**" in told
    strongest = [neuron + 1 for neuron, _ in walked.strongest(5)]
    assert [int(number) for number in re.findall(r"neuron (\d+) \(", told)] == strongest
    lengths = charts(app)["How long are the parts?"]["lines"]
    for line, row in zip(lengths, (through.came_in, through.attention, through.feed_forward), strict=True):
        assert line["x"] == list(range(1, 7))
        assert line["y"] == pytest.approx(row[:, IT].tolist(), rel=1e-4)
    chosen = charts(app)["How much of the embedding is left?"]["lines"][0]
    assert chosen["y"] == pytest.approx(through.similarity[:, IT].tolist(), abs=1e-4)
    assert chosen["printed"] == [f"{value:.2f}" for value in chosen["y"]]


def test_of_a_long_text_the_nearest_tokens_are_drawn() -> None:
    app = visit("block", text="word " * 300)
    assert "The faint lines are its 24 nearest of 301 other tokens." in said(app, "`word (token 152)` begins")
    lines = charts(app)["How much of the embedding is left?"]["lines"]
    assert [line["faint"] for line in lines] == [False, *24 * [True]]
