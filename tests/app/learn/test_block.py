"""The page about a block without a browser: what a link opens, what is said, and what of bad input."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from tests.app.learn.block_reference import blocks, cosine
from tests.app.learn.conftest import VisitLesson
from tests.app.shown import charts

TEXT = "The dog did not cross the road as it was too tired."
IT = 9


def said(app: AppTest, begin: str) -> str:
    """The one paragraph that begins like this."""
    assert not app.exception
    [found] = [element.value for element in app.markdown if element.value.startswith(begin)]
    return str(found)


def numbers(text: str) -> list[float]:
    return [float(number.replace("−", "-")) for number in re.findall(r"[-−]?\d+\.\d+", text)]


@pytest.mark.parametrize("layer", [1, 5])
def test_every_step_says_its_lengths(visit_lesson: VisitLesson, layer: int) -> None:
    vectors = {name: matrix[IT] for name, matrix in blocks(TEXT).vectors[layer - 1].items()}
    length = {name: float((vector @ vector) ** 0.5) for name, vector in vectors.items()}
    turned = {
        name: cosine(vectors[name], vectors["came_in"]) for name in ("attention", "first_sum", "came_out")
    }
    expected = [
        [length["came_in"]],
        [length["attention"], turned["attention"]],
        [length["came_in"], length["attention"], length["first_sum"], turned["first_sum"]],
        [length["first_sum"], length["attended"]],
        [length["feed_forward"]],
        [length["attended"], length["feed_forward"], length["second_sum"]],
        [length["came_out"], turned["came_out"]],
    ]
    for step, found in enumerate(expected, start=1):
        app = visit_lesson("block", layer=str(layer), stage_in_block=str(step))
        begin = f"**Layer {layer}, step {step}.**"
        assert numbers(said(app, begin)) == pytest.approx(found, abs=0.0051)


def test_the_guess_is_judged_by_the_lengths(visit_lesson: VisitLesson) -> None:
    vectors = blocks(TEXT).vectors[3]
    assert (vectors["came_in"][IT] ** 2).sum() > (vectors["attention"][IT] ** 2).sum()
    app = visit_lesson("block")
    app.button_group(key="guess_block").set_value("the update").run()
    assert said(app, "**Not quite.**")
    app.button_group(key="guess_block").set_value("the old vector").run()
    assert numbers(said(app, "**Yes.**"))[0] == pytest.approx(
        (vectors["came_in"][IT] ** 2).sum() ** 0.5, abs=0.0051
    )


def test_the_neurons_that_are_above_0(visit_lesson: VisitLesson) -> None:
    activated = blocks(TEXT).vectors[3]["activated"]
    words = said(visit_lesson("block"), "For `it`")
    assert f"**{(activated[IT] > 0).sum()} of {activated.shape[1]}**" in words
    strongest = activated[IT].argsort()[::-1][:5]
    assert [int(number) - 1 for number in re.findall(r"neuron (\d+) \(", words)] == strongest.tolist()


@pytest.mark.parametrize(
    "asked", [{"layer": "99"}, {"stage_in_block": "8"}, {"stage_in_block": "x"}, {"query": "77 cat"}]
)
def test_what_does_not_exist_falls_back_and_the_page_says_so(
    visit_lesson: VisitLesson, asked: dict[str, str]
) -> None:
    app = visit_lesson("block", asked)
    assert said(app, "**Layer 4, step 1.** `it`")
    [name] = asked
    assert name in app.warning[0].value


def test_of_a_long_text_the_nearest_tokens_are_drawn(visit_lesson: VisitLesson) -> None:
    app = visit_lesson("block", text="word " * 300)
    assert "The faint lines are its 24 nearest of 301 other tokens." in said(app, "`word (token 152)` begins")
    lines = charts(app)["How much of the embedding is left?"]["lines"]
    assert len(lines) == 25
    assert [line["faint"] for line in lines] == [False, *24 * [True]]


def test_the_charts_show_every_layer(visit_lesson: VisitLesson) -> None:
    vectors = [layer["came_in"][IT] for layer in blocks(TEXT).vectors]
    shown = charts(visit_lesson("block"))
    length, *updates = shown["How long are the parts?"]["lines"]
    assert length["x"] == list(range(1, len(vectors) + 1))
    assert length["y"] == pytest.approx([float((vector @ vector) ** 0.5) for vector in vectors], rel=1e-4)
    for line, name in zip(updates, ("attention", "feed_forward"), strict=True):
        update = [layer[name][IT] for layer in blocks(TEXT).vectors]
        assert line["y"] == pytest.approx([float((vector @ vector) ** 0.5) for vector in update], rel=1e-4)
    chosen = shown["How much of the embedding is left?"]["lines"][0]
    turned = [cosine(vector, vectors[0]) for vector in (*vectors, blocks(TEXT).vectors[-1]["came_out"][IT])]
    assert chosen["y"] == pytest.approx(turned, abs=1e-4)
    assert chosen["printed"] == [f"{value:.2f}" for value in chosen["y"]]


@pytest.mark.parametrize(
    "text", ["a", "😀😀", "<script>alert(1)</script> **bold** $x$", "مرحبا بالعالم", "a a a a"]
)
def test_any_text_is_followed(visit_lesson: VisitLesson, text: str) -> None:
    app = visit_lesson("block", text=text, stage_in_block="7")
    assert said(app, "**Layer 4, step 7.**")
    assert not app.error


def test_too_long_a_text_gets_a_kind_word(visit_lesson: VisitLesson) -> None:
    app = visit_lesson("block", text="x " * 5000)
    assert not app.exception
    assert "tokens" in app.error[0].value
