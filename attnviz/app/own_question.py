"""A question of the teacher's own: it stands in the link, and takes the place of the page's."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import streamlit as st

from attnviz.app import markdown
from attnviz.app.state.choices import ASK, OPTIONS, RIGHT
from attnviz.errors import InvalidQuestion, quoted

LONGEST_QUESTION, LONGEST_OPTION, FEWEST, MOST = 300, 80, 2, 6
_NONE = "none of them"
_BETWEEN = ";"


@dataclass(frozen=True)
class Question:
    """Plain text: the question, its options, and the right one, None where it has none."""

    text: str
    options: tuple[str, ...]
    right: str | None


def draw() -> Question | None:
    """Draw the button behind which a question is written; return the question, None where there is none."""
    with st.popover("Ask your own", icon=":material/edit:", type="tertiary"):
        text = ASK.draw("Question")
        options = OPTIONS.draw(f"{FEWEST} to {MOST} options, with semicolons between them")
        told = "Copy link takes the question along, and the right option: the address has both."
        right = RIGHT.select("The right one", [_NONE, *dict.fromkeys(split(options))], help=told)
    try:
        return read(text, options, None if right == _NONE else right)
    except InvalidQuestion as error:
        st.warning(markdown.plain(str(error)), icon=":material/edit:")
        return None


def split(options: str) -> list[str]:
    """The options, of which empty ones are none."""
    return [option for part in options.split(_BETWEEN) if (option := part.strip())]


def read(text: str, options: str, right: str | None) -> Question | None:
    """The question that was written so; None where nothing was.

    Raises:
        InvalidQuestion: something is missing, too much or doubled.
    """
    text, found = text.strip(), split(options)
    if not text and not found:
        return None
    if not text:
        raise InvalidQuestion("Here are options of your own. Write their question, too.")
    if len(text) > LONGEST_QUESTION:
        raise InvalidQuestion(
            f"A question of your own has at most {LONGEST_QUESTION} characters. This one has {len(text):,}: "
            "shorten it."
        )
    if not FEWEST <= len(found) <= MOST:
        raise InvalidQuestion(
            f"A question of your own has {FEWEST} to {MOST} options, with semicolons between them. "
            f"This one has {len(found) or 'none'}."
        )
    for option, times in Counter(found).items():
        if times > 1:
            raise InvalidQuestion(
                f"Among your options, {quoted(option)} stands {times} times: once is enough."
            )
        if len(option) > LONGEST_OPTION:
            raise InvalidQuestion(
                f"An option has at most {LONGEST_OPTION} characters. {quoted(option)} has "
                f"{len(option):,}: shorten it."
            )
    return Question(text, tuple(found), right)
