"""The sentence box of the Learn pages: defaults, links and notices."""

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.examples import OPENING


def page() -> None:
    import streamlit as st

    from attnviz.app.lessons import choosing
    from attnviz.app.state import link

    link.arrive("masks")
    text = choosing.sentence()
    layer, head = choosing.head()
    place = choosing.token(text, "From (query)")
    st.text(f"{layer} {head} {place}")


def open_page(**parameters: str) -> AppTest:
    app = AppTest.from_function(page, default_timeout=60)
    for name, value in parameters.items():
        app.query_params[name] = value
    return app.run()


def selection(app: AppTest) -> str:
    assert not app.exception
    return str(app.text[0].value)


def test_page_opens_with_it_in_head_4_2() -> None:
    app = open_page()
    assert app.text_input(key="text").value == OPENING.text
    assert selection(app) == "3 1 9"


def test_link_sets_sentence_head_and_token() -> None:
    assert selection(open_page(text="One two three.", layer="6", head="12", query="3 two")) == "5 11 2"


@pytest.mark.parametrize(
    "choices", [{"layer": "99"}, {"head": "0"}, {"query": "77 cat"}, {"layer": "x"}, {"text": ""}]
)
def test_invalid_parameters_fall_back_to_defaults(choices: dict[str, str]) -> None:
    assert selection(open_page(**choices)) == "3 1 9"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("The lawyer told the witness that she was late.", 7),
        ("A snollygoster dog", 7),
        ("The cat of the old king and the queen slept.", 6),  # not "and", although it is nearer to the middle
        ("To be or not to be", 4),
        ("One, two", 3),
    ],
)
def test_default_token_is_a_pronoun_or_a_content_word(text: str, place: int) -> None:
    assert selection(open_page(text=text)) == f"3 1 {place}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("The dog barks.", ""),
        ("The 🐶 barks.", "Not in MiniLM’s vocabulary: `🐶`."),
        (" ".join(chr(0x1F600 + sign) for sign in range(7)), "`😄` and 2 more"),
        ("Der Hund", "1 of 2 words"),
    ],
)
def test_text_unlike_english_shows_a_notice(text: str, message: str) -> None:
    warnings = [warning.value for warning in open_page(text=text).warning]
    assert not warnings if not message else message in warnings[0]


def test_sentence_too_long_for_the_box_is_repeated_below_it() -> None:
    sentence = "The dog did not cross the road as it was too tired to go any further that night."
    assert open_page(text=sentence).text[0].value == sentence
    assert sentence * 8 not in [each.value for each in open_page(text=sentence * 8).text]
