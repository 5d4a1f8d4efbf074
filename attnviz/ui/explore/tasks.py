"""Questions to answer before looking; the model's own numbers then say who was right."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from attnviz.analysis.sentence import percent
from attnviz.ui import caches
from attnviz.ui.examples import Example, example_named
from attnviz.ui.explore.choices import open_heads

_LAYER, _HEAD, _QUERY = 4, 2, "it"


@dataclass(frozen=True)
class Task:
    """A question about the second sentence of an example, in head 4-2.

    Attributes:
        example: whose second sentence it is about.
        word: the word that makes the sentence the second one.
        answers: the tokens to choose from.
    """

    example: Example
    word: str
    answers: tuple[str, str]

    @property
    def question(self) -> str:
        """What the visitor is asked."""
        return f"“{self.example.other}” Which word will *{_QUERY}* look at more in head {_LAYER}-{_HEAD}?"


TASKS = (
    Task(example_named("dog / road"), "narrow", ("dog", "road")),
    Task(example_named("trophy / suitcase"), "small", ("trophy", "suitcase")),
)


def draw(model: str) -> None:
    """Draw the questions; a guess opens the picture that answers it."""
    st.subheader("Guess first, then look", anchor=False)
    for task in TASKS:
        key = f"guess {task.word}"
        guess = st.pills(task.question, task.answers, key=key, on_change=_open, args=(task, key))
        if guess:
            st.markdown(_outcome(task, guess, model))
    st.button("Show me a head that looks one word back", on_click=_previous)


def _previous() -> None:
    st.session_state["find"] = "previous"
    open_heads(1, [3])


def _open(task: Task, key: str) -> None:
    if st.session_state[key]:
        chosen = {"text": task.example.text, "other": task.example.other, "show": task.word}
        st.session_state.update(chosen | {"stage": caches.WEIGHTS})
        open_heads(_LAYER, [_HEAD])


def _outcome(task: Task, guess: str, model: str) -> str:
    """Who was right, with the weights of this very sentence."""
    labels = caches.shown(model, task.example.other, False, False).labels
    row = caches.weights(model, task.example.other, False, False)[_LAYER - 1, _HEAD - 1, labels.index(_QUERY)]
    weight = {answer: float(row[labels.index(answer)]) for answer in task.answers}
    more, less = sorted(task.answers, key=weight.__getitem__, reverse=True)
    verdict = "Yes" if guess == more else "No"
    return f"**{verdict}:** {more} {percent(weight[more])}, {less} {percent(weight[less])}."
