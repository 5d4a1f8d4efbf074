"""A question of the teacher's own: what a link can ask, what is refused, and whose place it takes."""

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.question import checked
from attnviz.errors import InvalidQuestion
from tests.app.shown import buttons, press, sent, try_page, visit, warnings, words

ASKED = {"quiz": "Who was late?", "options": "the lawyer; the witness", "right": "the witness"}


def verdict(app: AppTest) -> str:
    return next(each.value for each in app.markdown if each.value.endswith(".**"))


@pytest.mark.parametrize("page", ["scale", "explore"])
def test_a_link_asks_it_and_judges_the_guess(page: str) -> None:
    app = visit(page, ASKED)
    assert not app.warning
    asked = app.button_group(key=f"guess_{page}")
    assert "Who was late?" in [each.value for each in app.markdown]
    assert list(asked.options) == ["the lawyer", "the witness"]
    asked.set_value("the lawyer").run()
    assert verdict(app) == "**Not quite: the witness.**"


def test_it_needs_no_right_answer_and_goes_when_it_is_removed_and_stays_with_its_page() -> None:
    app = visit("scale", {**ASKED, "right": "not marked"})
    app.button_group(key="guess_scale").set_value("the lawyer").run()
    assert verdict(app) == "**No option was marked as correct.**"
    assert "causal mask" in words(app.switch_page("pages/masks.py").run())
    app.text_input(key="quiz").set_value("Who is it?").run()
    app.text_input(key="options").set_value("she; he").run()
    assert "Who was late?" in words(app.switch_page("pages/scale.py").run())
    assert list(app.button_group(key="guess_scale").options) == ["the lawyer", "the witness"]
    assert "Who is it?" in words(app.switch_page("pages/masks.py").run())
    press(app.switch_page("pages/scale.py").run(), "Remove this question")
    assert "independent random entries" in words(app)
    assert "right=" not in sent(app, "copy_link")["query"]
    assert "Remove this question" not in buttons(app)


def test_what_cannot_be_asked_is_told_and_the_pages_own_question_stays() -> None:
    app = try_page("scale", {**ASKED, "options": "one; one", "right": "two"}, predict="1")
    assert "The option “one” occurs 2 times" in warnings(app)
    assert "`right` = `two` is not valid" in warnings(app)
    assert "independent random entries" in words(app)
    assert "Reveal" in buttons(app)


@pytest.mark.parametrize(
    ("text", "options", "said"),
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
def test_what_is_missing_too_long_or_doubled_is_refused(text: str, options: list[str], said: str) -> None:
    with pytest.raises(InvalidQuestion, match=said):
        checked(text, options)
    assert checked("x" * 400, ["b" * 80, " c\td"]) == ("x" * 400, ["b" * 80, "c d"])


def test_who_is_asked_in_a_room_cannot_reveal_nor_who_follows() -> None:
    def page() -> None:
        from functools import partial

        import streamlit as st

        from attnviz.app import question
        from attnviz.app.state import link

        link.arrive("scale")
        question.draw_question(question.Question("Why?", ["a", "b"], "a", "Because."))
        for why in ("vote", "led", ""):
            cover = partial(question.keep_covered, why, in_room=True)
            st.button(f"{why or 'nothing'} covers", on_click=cover)

    def offered(app: AppTest) -> set[str]:
        return {"Reveal", "Cover the answer"} & set(buttons(app))

    app = press(AppTest.from_function(page).run(), "nothing covers")
    assert offered(press(app, "Reveal")) == {"Cover the answer"}
    assert offered(press(app, "vote covers")) == set()
    assert offered(press(app, "nothing covers")) == {"Reveal"}
    assert offered(press(app, "led covers")) == set()
