"""The page of the six steps: what a link, a word, a long text and a bad one do."""

import numpy as np
import pytest

from attnviz.lessons.query_key_value import MOST_ROWS, walk
from attnviz.ui.examples import OPENING
from tests.ui.learn.conftest import VisitLesson
from tests.ui.shown import clean, sent, words

PAGE = "query_key_value"
FORTY = " ".join(["dog"] * 38)  # and [CLS] and [SEP]


def test_it_opens_with_it_in_head_4_2_at_step_1(visit_lesson: VisitLesson) -> None:
    app = visit_lesson(PAGE)
    clean(app)
    message = sent(app, "walk")
    assert (message["step"], message["total"], message["rest"]) == (1, 15, None)
    assert message["tokens"][message["query"]]["label"] == "it"
    assert len(message["steps"]) == 6


def test_a_link_opens_any_step_of_any_token(visit_lesson: VisitLesson) -> None:
    app = visit_lesson(PAGE, step="5", layer="1", head="12", query="3 dog")
    clean(app)
    message = sent(app, "walk")
    assert message["step"] == 5
    assert message["tokens"][message["query"]]["label"] == "dog"
    assert "embedding" not in message["origin"]
    assert not app.warning


@pytest.mark.parametrize("step", ["0", "7", "two", ""])
def test_a_step_that_does_not_exist_is_the_first_and_is_said(visit_lesson: VisitLesson, step: str) -> None:
    app = visit_lesson(PAGE, step=step)
    clean(app)
    assert sent(app, "walk")["step"] == 1
    assert "step" in app.warning[0].value


def test_the_control_moves_the_picture(visit_lesson: VisitLesson) -> None:
    app = visit_lesson(PAGE)
    app.segmented_control(key="step").set_value("4").run()
    clean(app)
    assert sent(app, "walk")["step"] == 4


def test_the_sentences_have_the_models_numbers(visit_lesson: VisitLesson) -> None:
    done = walk(OPENING.text, 3, 1, 9)
    said = words(visit_lesson(PAGE))
    dog = 2
    assert f"{done.dot_products[dog]:.2f} ÷ 5.66 = {done.scores[dog]:.2f}" in said
    assert f":red[**dog**] {100 * done.weights[dog]:.0f} %" in said
    assert f"{done.model_scores[9, dog]:.2f}" in said
    assert f"{done.model_scores[dog, 9]:.2f}" in said
    assert f"{done.model_weights[:, dog].sum():.2f} in all" in said


def test_the_guess_is_answered_by_the_numbers(visit_lesson: VisitLesson) -> None:
    app = visit_lesson(PAGE)
    app.pills(key="guess_query_key_value").set_value("dog").run()
    clean(app)
    assert "**Yes.**" in words(app)


def test_the_convention_turns_the_table_and_not_the_numbers(visit_lesson: VisitLesson) -> None:
    app = visit_lesson(PAGE)
    before = sent(app, "weights_table")
    app.segmented_control(key="convention").set_value("columns").run()
    clean(app)
    after = sent(app, "weights_table")
    assert (before["columns"], after["columns"]) == (False, True)
    assert before["weights"] == after["weights"]
    np.testing.assert_allclose(np.array(after["weights"]), walk(OPENING.text, 3, 1, 9).model_weights)
    assert "column is one query" in after["caption"]


def test_of_a_long_text_the_page_says_what_it_shows(visit_lesson: VisitLesson) -> None:
    app = visit_lesson(PAGE, text=FORTY, query="5 dog")
    clean(app)
    message = sent(app, "walk")
    assert (len(message["tokens"]), message["total"]) == (MOST_ROWS, 40)
    done = walk(FORTY, 3, 1, 4)
    left_out = [token for token in range(40) if token not in done.rows]
    assert message["rest"]["count"] == len(left_out)
    assert message["rest"]["weight"] == pytest.approx(float(done.weights[left_out].sum()), abs=1e-6)
    said = words(app)
    assert f"This text has 40: the rows are `dog (token 5)` and the {MOST_ROWS - 1} tokens" in said
    table = sent(app, "weights_table")
    sums = np.array(table["weights"]).sum(axis=1) + np.array(table["others"])
    np.testing.assert_allclose(sums, 1, atol=1e-5)


def test_that_weights_are_not_unique_is_said_only_where_it_is_so(visit_lesson: VisitLesson) -> None:
    assert "only possible weights" not in words(visit_lesson(PAGE))
    various = (
        "The unbelievable tokenization was unhappier than the tokenization of seven hundred narrow roads, "
    )
    app = visit_lesson(PAGE, text=various * 3)
    clean(app)
    assert "only possible weights" in words(app)


@pytest.mark.parametrize(
    "text",
    [
        "?",
        "👩‍🚀 🐕",
        "שלום עולם",
        "<script>alert(1)</script>",
        "**x** $trap$ :red[x] [a](b) :material/home:",
        "`a` ``b",
    ],
)
def test_any_text_that_can_be_read_is_shown_as_text(visit_lesson: VisitLesson, text: str) -> None:
    app = visit_lesson(PAGE, text=text)
    clean(app)
    said = words(app)
    assert "<script>" not in said
    assert "$trap$" not in said
    assert "[a](b)" not in said
    assert len(sent(app, "walk")["tokens"]) >= 3


@pytest.mark.parametrize("text", ["", "x" * 10_000, "dog " * 2_500])
def test_what_cannot_be_read_is_said_kindly(visit_lesson: VisitLesson, text: str) -> None:
    app = visit_lesson(PAGE, text=text)
    assert not app.exception
    if text.startswith("dog"):
        assert "at most" in app.error[0].value
