"""The question of a page: the page's own question, or a question that a teacher writes.

In the teacher's view, in a room, and with `?predict=1`, the page is hidden until the answer is revealed.
Otherwise, nothing is hidden.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from attnviz.app import markdown
from attnviz.app.lessons.contents import LESSONS
from attnviz.app.references import cited_markdown
from attnviz.app.state import link, memory
from attnviz.app.state.choices import OPTIONS, PREDICT, QUIZ, READER, RIGHT, TEACHER, TEXT
from attnviz.errors import InvalidQuestion, quoted

MAX_LENGTH, MAX_OPTION_LENGTH, MIN_OPTIONS, MAX_OPTIONS = 400, 80, 2, 6
"""Maximum characters of a question and of an option, and minimum and maximum number of options."""

_UNMARKED = "not marked"
_UNWRITTEN = ("", "", _UNMARKED)
_SEPARATOR = ";"
_COVERED = """
<style>
.stMain :is([class*="st-key-answer-"], :has(> [class*="st-key-answer-"])) { display: none; }
.stMain .st-key-lesson { display: flex; }
</style>
"""

VOTE, LED = "vote", "led"
"""Reasons to cover the answer: a vote is open, or the visitor follows a teacher."""

_KEPT_COVERED = "why answers stay covered"
_IN_ROOM = "whether the visitor is in a room"
_COVERED_NOTES = {
    VOTE: "The answer stays covered until the vote is closed.",
    LED: "Your teacher reveals the answer. To continue alone, choose *Stop following* in the bar below.",
}
_REVEALED = "the lessons with revealed answers"
_ASKED = "the last question of each lesson"
_QUESTION = "the question of the page"
_WRITTEN = "the teacher's question on each page"
_WRITTEN_ON = "the page of the form"


@dataclass(frozen=True)
class Question:
    """A question with its options.

    Attributes:
        text: Markdown.
        options: Plain text.
        right: The correct option; None if none was marked.
        explanation: Explanation of the answer, in Markdown.
        own: True if a teacher wrote the question.
        of_sentence: True if the question is about the page's sentence but does not quote it.
    """

    text: str
    options: Sequence[str]
    right: str | None
    explanation: str = ""
    own: bool = False
    of_sentence: bool = True


def sentence_of_page() -> str:
    """Return the page's sentence, or both sentences."""
    choice = next((lesson.sentence for lesson in LESSONS if lesson.name == link.page()), TEXT)
    return " / ".join(text for _, text in link.parameters(choice, READER))


def form() -> Question | None:
    """Draw the button that opens the form for a teacher's question; return the question if it is valid.

    The question belongs to its page: other pages do not show it, and it remains when the visitor returns.
    """
    name, written = link.page(), memory.get(_WRITTEN, {})
    if memory.get(_WRITTEN_ON, name) != name and not link.in_address(QUIZ):
        for choice, value in zip((QUIZ, OPTIONS, RIGHT), written.get(name, _UNWRITTEN), strict=True):
            choice.set(value)
    memory.put(_WRITTEN_ON, name)
    with st.popover("Write a quiz question", icon=":material/edit:", type="tertiary", key="write-quiz"):
        text = QUIZ.draw("Question", max_chars=MAX_LENGTH, placeholder="What does “it” refer to?")
        options = OPTIONS.draw(
            f"{MIN_OPTIONS} to {MAX_OPTIONS} options, separated by semicolons",
            placeholder="the dog; the road; both",
        )
        choices, right = _split(options), _UNMARKED
        # The form may be projected, so the correct option is in an expander, which closes after each
        # choice because its label changes.
        if choices:
            marked = link.current(RIGHT) in choices
            with st.expander("One option is marked as correct" if marked else "Mark the correct option"):
                if_copied = "The URL from *Copy link* contains the question and the correct option."
                right = RIGHT.select("Correct option", [_UNMARKED, *dict.fromkeys(choices)], help=if_copied)
        else:
            RIGHT.forget()
            st.caption("Enter options, then mark the correct one.")
        if PREDICT.is_set or name in PREDICT.pages:
            st.toggle(
                "Hide the page until the answer is revealed",
                bool(PREDICT.get(0)),
                key="hide-page",
                on_change=lambda: link.choose(PREDICT, 1 - PREDICT.get(0)),
                help="*Copy link* includes this setting.",
            )
    memory.put(_WRITTEN, {**written, name: (text, options, right)})
    memory.forget(_QUESTION)
    if not text.strip() and not choices:
        return None
    try:
        plain, choices = checked(text, choices)
    except InvalidQuestion as error:
        st.warning(markdown.plain(str(error)), icon=":material/edit:")
        return None
    return Question(markdown.plain(plain), choices, None if right == _UNMARKED else right, own=True)


def _split(options: str) -> list[str]:
    """Return the options that are not empty."""
    return [option for part in options.split(_SEPARATOR) if (option := " ".join(part.split()))]


def checked(text: str, options: Sequence[str]) -> tuple[str, list[str]]:
    """Return a question and its options as plain text, in one line each.

    Raises:
        InvalidQuestion: a text is missing, too long or repeated, or the number of options is invalid.
    """
    text, choices = " ".join(text.split()), [" ".join(option.split()) for option in options]
    if not text:
        raise InvalidQuestion("The question is missing. Write a question.")
    if len(text) > MAX_LENGTH:
        raise InvalidQuestion(
            f"This question has {len(text):,} characters; the maximum is {MAX_LENGTH}. Shorten it."
        )
    if not MIN_OPTIONS <= len(choices) <= MAX_OPTIONS:
        raise InvalidQuestion(
            f"Write {MIN_OPTIONS} to {MAX_OPTIONS} options, separated by semicolons. This question has "
            f"{len(choices) or 'none'}."
        )
    for option, times in Counter(choices).items():
        if times > 1:
            raise InvalidQuestion(
                f"The option {quoted(option)} occurs {times} times. Options must be different."
            )
        if len(option) > MAX_OPTION_LENGTH:
            raise InvalidQuestion(
                f"An option can have at most {MAX_OPTION_LENGTH} characters. {quoted(option)} has "
                f"{len(option):,}: shorten it."
            )
    return text, choices


def draw_question(question: Question) -> None:
    """Draw a question; cover the answer until the visitor reveals it, then evaluate the guess."""
    name = link.page()
    key = f"guess_{name}"
    memory.put(_QUESTION, (name, question))
    about = question.text, tuple(question.options), question.explanation
    if memory.get(_ASKED, {}).get(name, about) != about:  # the guess was about another sentence
        memory.put(key, None)
        if question.own:  # the revealed answer belonged to another question
            reveal(revealed() - {name})
    memory.put(_ASKED, {**memory.get(_ASKED, {}), name: about})
    st.markdown(question.text)
    guessed = st.pills(
        "Your guess",
        question.options,
        key=key,
        format_func=markdown.plain,
        label_visibility="collapsed",
        persist_state="session",
    )
    shown, hides = answered(), hiding()
    if shown and (guessed or hides):
        with st.container(key="answer"):
            cited_markdown(f"**{_verdict(guessed, question.right)}.** {question.explanation}")
    elif not shown:
        st.html(_COVERED)
    with st.container(horizontal=True, vertical_alignment="center", key="reveal-or-cover"):
        if not hides:
            pass
        elif shown:
            rest = revealed() - {name}
            st.button("Cover the answer", type="tertiary", on_click=reveal, args=(rest,))
        elif why_covered():
            st.caption(_COVERED_NOTES[why_covered()])
        else:
            button_type: Literal["primary", "secondary"] = "primary" if guessed else "secondary"
            st.button("Reveal", key="reveal", type=button_type, on_click=reveal, args=(revealed() | {name},))
            every = frozenset(lesson.name for lesson in LESSONS) | {name}
            st.button("Reveal on every page", type="tertiary", on_click=reveal, args=(every,))
        remove = "Remove this question"
        if question.own and st.button(remove, type="tertiary", on_click=_withdraw, args=(name,)):
            st.rerun()  # the form is outside of this fragment


def _withdraw(name: str) -> None:
    """Remove the teacher's question; the page's own question is shown again, with a covered answer."""
    for choice, value in zip((QUIZ, OPTIONS, RIGHT), _UNWRITTEN, strict=True):
        choice.set(value)
    reveal(revealed() - {name})


def draw_below(own: Question | None) -> None:
    """Draw a teacher's question, if there is one, on a page that has no question of its own."""
    if own:
        with st.container(border=True, key="question"):
            draw_question(own)


def _verdict(guessed: str | None, right: str | None) -> str:
    if right is None:
        return "No option was marked as correct"
    if guessed == right:
        return "Yes"
    return f"Not quite. Answer: {markdown.plain(right)}" if guessed else markdown.plain(right)


def on_page(name: str) -> Question | None:
    """Return the question that this page had when it was last drawn; None without a question."""
    page, question = memory.get(_QUESTION) or ("", None)
    return question if page == name else None


def revealed() -> frozenset[str]:
    """Return the lessons for which this visitor revealed the answer."""
    names: frozenset[str] = memory.get(_REVEALED, frozenset())
    return names


def read_hiding() -> None:
    """Read from the link whether the page is hidden until the answer is revealed."""
    link.number(PREDICT)


def hiding() -> bool:
    """Return whether the current page is hidden until the answer is revealed."""
    projected = link.current(TEACHER).lower() == "true"
    return bool(PREDICT.get(0) or projected or memory.get(_IN_ROOM) or why_covered())


def answered() -> bool:
    """Return whether the answer may be shown: the page is not hidden, or the answer was revealed."""
    return not hiding() or (link.page() in revealed() and why_covered() != VOTE)


def why_covered() -> str:
    """Return the reason why answers stay covered, `VOTE` or `LED`; "" for none."""
    return str(memory.get(_KEPT_COVERED, ""))


def keep_covered(why: str, *, in_room: bool) -> None:
    """Record why answers stay covered, and whether to hide pages `in_room`; a new vote covers the answer."""
    memory.put(_IN_ROOM, in_room)
    if why == VOTE != why_covered():
        reveal(revealed() - {link.page()})
    memory.put(_KEPT_COVERED, why if why in _COVERED_NOTES else "")


def reveal(names: frozenset[str]) -> None:
    """Show the answers of these lessons, and cover the answers of all other lessons."""
    memory.put(_REVEALED, names)
