"""The sentence box of the Learn pages: what it says of bad input, and what it keeps."""

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


def opened(**parameters: str) -> AppTest:
    app = AppTest.from_function(page, default_timeout=60)
    for name, value in parameters.items():
        app.query_params[name] = value
    return app.run()


def chosen(app: AppTest) -> str:
    assert not app.exception
    return str(app.text[0].value)


def test_the_page_opens_with_it_in_head_4_2() -> None:
    app = opened()
    assert app.text_input(key="text").value == OPENING.text
    assert chosen(app) == "3 1 9"


def test_a_link_chooses_sentence_head_and_word() -> None:
    assert chosen(opened(text="One two three.", layer="6", head="12", query="3 two")) == "5 11 2"


@pytest.mark.parametrize(
    "choices",
    [{"layer": "99"}, {"head": "0"}, {"query": "77 cat"}, {"layer": "x"}, {"text": ""}],
)
def test_what_does_not_exist_falls_back(choices: dict[str, str]) -> None:
    assert chosen(opened(**choices)) == "3 1 9"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("The lawyer told the witness that she was late.", 7),
        ("A snollygoster dog", 7),
        ("The cat of the old king and the queen slept.", 6),  # and not "and", nearer to the middle
        ("To be or not to be", 4),
        ("One, two", 3),
    ],
)
def test_a_pronoun_is_chosen_at_first_or_a_whole_word_that_names_something(text: str, place: int) -> None:
    assert chosen(opened(text=text)) == f"3 1 {place}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("The dog barks.", ""),
        ("The 🐶 barks.", "`[UNK] 🐶`"),
        (" ".join(chr(0x1F600 + sign) for sign in range(7)), "`[UNK] 😄` and 2 more"),
        ("Der Hund", "1 of 2 words"),
    ],
)
def test_what_is_unlike_english_is_said_below_the_box(text: str, says: str) -> None:
    told = [warning.value for warning in opened(text=text).warning]
    assert not told if not says else says in told[0]


def test_a_sentence_too_long_for_its_box_stands_below_it_unless_it_is_a_whole_text() -> None:
    sentence = "The dog did not cross the road as it was too tired to go any further that night."
    assert opened(text=sentence).text[0].value == sentence
    assert sentence * 8 not in [each.value for each in opened(text=sentence * 8).text]
