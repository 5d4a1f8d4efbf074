"""The teacher's own question: its link, its validation and its place on the page."""

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.question import checked
from attnviz.errors import InvalidQuestion
from tests.app.shown import buttons, message_to, open_page, page_text, press, visit, warnings

QUIZ = {"quiz": "Who was late?", "options": "the lawyer; the witness", "right": "the witness"}


def verdict(app: AppTest) -> str:
    return next(each.value for each in app.markdown if each.value.endswith(".**"))


@pytest.mark.parametrize("page", ["scale", "explore"])
def test_question_in_a_link_is_shown_and_judges_the_guess(page: str) -> None:
    app = visit(page, QUIZ)
    assert not app.warning
    guess = app.button_group(key=f"guess_{page}")
    assert "Who was late?" in [each.value for each in app.markdown]
    assert list(guess.options) == ["the lawyer", "the witness"]
    guess.set_value("the lawyer").run()
    assert verdict(app) == "**Not quite. Answer: the witness.**"


def test_question_without_a_correct_option_is_kept_per_page_and_removable() -> None:
    app = visit("scale", {**QUIZ, "right": "not marked"})
    app.button_group(key="guess_scale").set_value("the lawyer").run()
    assert verdict(app) == "**No option was marked as correct.**"
    assert "causal mask" in page_text(app.switch_page("pages/masks.py").run())
    app.text_input(key="quiz").set_value("Who is it?").run()
    app.text_input(key="options").set_value("she; he").run()
    assert "Who was late?" in page_text(app.switch_page("pages/scale.py").run())
    assert list(app.button_group(key="guess_scale").options) == ["the lawyer", "the witness"]
    assert "Who is it?" in page_text(app.switch_page("pages/masks.py").run())
    press(app.switch_page("pages/scale.py").run(), "Remove this question")
    assert "independent random entries" in page_text(app)
    assert "right=" not in message_to(app, "copy_link")["query"]
    assert "Remove this question" not in buttons(app)


def test_invalid_question_is_reported_and_the_lessons_question_shown() -> None:
    app = open_page("scale", {**QUIZ, "options": "one; one", "right": "two"}, predict="1")
    assert "The option “one” occurs 2 times" in warnings(app)
    assert "`right` = `two` is not valid" in warnings(app)
    assert "independent random entries" in page_text(app)
    assert "Reveal" in buttons(app)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", "ab", "question"),
        ("x" * 401, "ab", "401"),
        ("Who?", "", "none"),
        ("Who?", "a", "has 1"),
        ("Who?", "abcdefg", "has 7"),
        ("Who?", ["a", "b", " a"], "2 times"),
        ("Who?", ["a", "b" * 81], "has 81"),
    ],
)
def test_missing_too_long_or_repeated_parts_are_refused(text: str, options: list[str], message: str) -> None:
    with pytest.raises(InvalidQuestion, match=message):
        checked(text, options)
    assert checked("x" * 400, ["b" * 80, " c\td"]) == ("x" * 400, ["b" * 80, "c d"])


def test_followers_and_voters_in_a_room_cannot_reveal_the_answer() -> None:
    def page() -> None:
        from functools import partial

        import streamlit as st

        from attnviz.app import question
        from attnviz.app.state import link

        link.arrive("scale")
        question.draw_question(question.Question("Why?", ["a", "b"], "a", "Because."))
        for reason in ("vote", "led", ""):
            cover = partial(question.keep_covered, reason, in_room=True)
            st.button(f"Cover: {reason or 'no reason'}", on_click=cover)

    def offered(app: AppTest) -> set[str]:
        return {"Reveal", "Cover the answer"} & set(buttons(app))

    app = press(AppTest.from_function(page).run(), "Cover: no reason")
    assert offered(press(app, "Reveal")) == {"Cover the answer"}
    assert offered(press(app, "Cover: vote")) == set()
    assert offered(press(app, "Cover: no reason")) == {"Reveal"}
    assert offered(press(app, "Cover: led")) == set()
