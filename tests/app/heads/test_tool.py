"""Common behaviour of the pages in Heads: the sentence, the link, and moving between tools."""

from urllib.parse import parse_qs

import pytest

from tests.app.shown import message_to, visit


def test_unreadable_text_shows_an_error_and_stays_in_the_box() -> None:
    app = visit("beyond_weights", text="A cat sat.")
    for text in ("", "   ", "one " * 2_500, "\u0000"):
        app.text_input(key="text").set_value(text).run()
        assert not app.exception
        assert app.error[0].value
        assert app.text_input(key="text").value == text


@pytest.mark.parametrize(
    ("page", "names"), [("intervene", ["text", "edits"]), ("compare", ["text", "other"]), ("find", ["text"])]
)
def test_copied_link_has_the_default_texts(page: str, names: list[str]) -> None:
    app = visit(page)
    link = message_to(app, "copy_link")
    assert link["always"] == names
    assert set(names) <= set(parse_qs(link["query"]))


def test_own_sentence_clears_the_second_sentence_of_an_example() -> None:
    app = visit("compare")
    assert app.session_state["other"]
    app.switch_page("pages/beyond_weights.py").run()
    app.text_input(key="text").set_value("The old sailor slept.").run()
    app.switch_page("pages/compare.py").run()
    assert (app.session_state["text"], app.session_state["other"]) == ("The old sailor slept.", "")
