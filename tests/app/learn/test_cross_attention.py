"""The page on cross-attention without a browser: its sentences and choices."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.learn.cross_attention.compute import cross
from attnviz.app.learn.cross_attention.sections import ITSELF, OPENING_READER
from tests.app.learn.conftest import VisitLesson
from tests.app.shown import words

SOURCE = "The dog did not cross the road as it was too tired."


def headers(app: AppTest) -> list[str]:
    return [str(header.value) for header in app.header]


def test_the_picture_is_told_in_words(visit_lesson: VisitLesson) -> None:
    app = visit_lesson("cross_attention")
    assert "`hound` reads `dog` **79 %**. The other 14 tokens share 21 %." in words(app)
    assert "13 readers × 15 sources" in headers(app)


def test_another_token_reads(visit_lesson: VisitLesson) -> None:
    assert "`street` reads `road` **73 %**." in words(visit_lesson("cross_attention", reads="11 street"))


def test_vectors_before_the_first_layer(visit_lesson: VisitLesson) -> None:
    row = cross(OPENING_READER, SOURCE, 0).weights[2]
    assert f"`hound` reads `dog` **{100 * row.max():.0f} %**" in words(
        visit_lesson("cross_attention", vectors="0")
    )


def test_reading_itself_is_square(visit_lesson: VisitLesson) -> None:
    app = visit_lesson("cross_attention", cross_reads=ITSELF)
    assert "13 readers × 13 sources" in headers(app)
    assert "13 × 13, a row for each reader, a column for each source: square" in words(app)
    row = cross(OPENING_READER, OPENING_READER, 6).weights[2]
    assert f"`hound` reads `hound` **{100 * row.max():.0f} %**" in words(app)


def test_columns_need_not_sum_to_1(visit_lesson: VisitLesson) -> None:
    totals = cross(OPENING_READER, SOURCE, 6).weights.sum(axis=0)
    told = words(visit_lesson("cross_attention"))
    assert f"`dog` gets {100 * totals.max():.0f} % in all, `as` {100 * totals.min():.0f} %" in told


def test_one_number_of_the_output_adds_up_as_printed(visit_lesson: VisitLesson) -> None:
    app = visit_lesson("cross_attention")
    (line,) = [str(latex.value) for latex in app.latex if "o_1" in str(latex.value)]
    found = cross(OPENING_READER, SOURCE, 6)
    weights, values = found.weights[2], found.values[:, 0]
    order = np.argsort(-weights, kind="stable")
    for key in order[:3]:
        assert f"{weights[key]:.3f}" in line
        assert f"{values[key]:.3f}" in line
    assert f"{weights[order[3:]] @ values[order[3:]]:.3f}" in line
    assert f"{weights @ values:.3f}" in line


@pytest.mark.parametrize(("guess", "verdict"), [("dog", "Yes."), ("it", "Not quite.")])
def test_the_guess_is_answered(visit_lesson: VisitLesson, guess: str, verdict: str) -> None:
    app = visit_lesson("cross_attention")
    app.button_group(key="guess_cross_attention").set_value(guess).run()
    assert f"**{verdict}** `hound` reads `dog` 79 %" in words(app)


@pytest.mark.parametrize(
    "texts",
    [
        {"reader": "a", "text": "b"},
        {"reader": "🐕 مرحبا <script>alert(1)</script>", "text": "**b** $x$ [l](u) `c`"},
        {"reader": "dog " * 300, "text": "dog dog"},
        {"reader": SOURCE},
    ],
)
def test_any_two_texts_are_read(visit_lesson: VisitLesson, texts: dict[str, str]) -> None:
    app = visit_lesson("cross_attention", texts)
    assert not app.error
    assert "reads" in words(app)


@pytest.mark.parametrize("box", ["text", "reader"])
@pytest.mark.parametrize(("typed", "said"), [(" ", "nothing here"), ("dog " * 600, "tokens")])
def test_what_cannot_be_read_is_refused_kindly(
    visit_lesson: VisitLesson, box: str, typed: str, said: str
) -> None:
    app = visit_lesson("cross_attention", {box: typed})
    assert not app.exception
    assert said in app.error[0].value


@pytest.mark.parametrize(
    ("name", "value"), [("reads", "3 cat"), ("vectors", "7"), ("cross_view", "Heatmap"), ("cross_reads", "x")]
)
def test_a_link_that_asks_for_nonsense_gets_a_kind_word(
    visit_lesson: VisitLesson, name: str, value: str
) -> None:
    app = visit_lesson("cross_attention", {name: value})
    assert "`hound` reads `dog`" in words(app)
    assert f"`{name}` cannot be `{value}` here" in app.warning[0].value
