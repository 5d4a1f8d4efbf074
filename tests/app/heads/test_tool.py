"""What all pages about heads at work share: the model, the sentence, a link, and the way to each other."""

from urllib.parse import parse_qs

import pytest

from tests.app.shown import sent, visit


def test_what_cannot_be_read_gets_a_kind_word_and_stays_in_the_box() -> None:
    app = visit("beyond_weights", text="A cat sat.")
    for text in ("", "   ", "one " * 2_500, "\u0000"):
        app.text_input(key="text").set_value(text).run()
        assert not app.exception
        assert app.error[0].value
        assert app.text_input(key="text").value == text


@pytest.mark.parametrize(
    ("page", "named"),
    [("intervene", ["text", "edits"]), ("compare", ["text", "other"]), ("find", ["text"])],
)
def test_the_address_names_what_the_page_filled_in(page: str, named: list[str]) -> None:
    app = visit(page)
    link = sent(app, "copy_link")
    assert link["always"] == named
    assert set(named) <= set(parse_qs(link["query"]))


def test_an_own_sentence_does_not_meet_the_partner_of_another() -> None:
    app = visit("compare")
    assert app.session_state["other"]
    app.switch_page("pages/beyond_weights.py").run()
    app.text_input(key="text").set_value("The old sailor slept.").run()
    app.switch_page("pages/compare.py").run()
    assert (app.session_state["text"], app.session_state["other"]) == ("The old sailor slept.", "")
