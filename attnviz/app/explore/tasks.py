"""Questions to answer before looking; the model's own numbers then say who was right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from attnviz.app import caches
from attnviz.app.caches import View
from attnviz.app.examples import Example, example_named, introduction
from attnviz.app.explore import attention, sentences
from attnviz.app.explore.choices import open_heads
from attnviz.app.state import memory
from attnviz.app.state.choices import FIND, OTHER, SHOW, STAGE, TEXT
from attnviz.capture.model import ModelInput
from attnviz.text import percent
from attnviz.trace import Kind

_KIND: Kind = "encoder"
_QUERY = "it"
_BACK = "previous"


@dataclass(frozen=True)
class Task:
    """A question about the second sentence of an example, in the head that follows "it".

    `name` is the example's; `word` makes the sentence the second one.
    """

    name: str
    word: str
    answers: tuple[str, str]

    def example(self, model: str) -> Example:
        """Whose second sentence it is about; every model has one of this name."""
        return example_named(model, self.name)

    def question(self, model: str) -> str:
        """What the visitor is asked."""
        layer, head = _follows(model)
        where = f"{attention.of(model, _KIND)}head {layer}-{head}"
        return f"“{self.example(model).other}” Which word will *{_QUERY}* look at more in {where}?"


TASKS = (
    Task("dog / road", "narrow", ("dog", "road")),
    Task("trophy / suitcase", "small", ("trophy", "suitcase")),
)


def fit(view: View) -> bool:
    """Whether there is anything to guess: a head is known to follow "it" in single sentences."""
    return introduction(view.model).head is not None and view.given.second is None


def draw(view: View) -> None:
    """Draw the questions; a guess opens the picture that answers it."""
    model = view.model
    st.subheader("Guess first, then look", anchor=False)
    for task in TASKS:
        key = f"guess {task.word}"
        st.markdown(task.question(model))
        guess = st.pills(
            "Your guess",
            task.answers,
            key=key,
            on_change=_open,
            args=(task, model),
            label_visibility="collapsed",
        )
        if guess:
            st.markdown(_outcome(task, guess, model))
    for back in caches.found(model, view.given, _KIND, view.merge):
        if back.name == _BACK and back.found.any():
            layer, head = np.unravel_index(back.score.argmax(), back.score.shape)
            place = int(layer) + 1, int(head) + 1
            st.button("Show me a head that looks one word back", on_click=_look_back, args=(model, *place))


def _follows(model: str) -> tuple[int, int]:
    """The layer and the head, from 1, that follow "it"; head 1-1 where nobody knows one."""
    return introduction(model).head or (1, 1)


def _look_back(model: str, layer: int, head: int) -> None:
    FIND.set(_BACK)
    attention.open_kind(model, _KIND)
    open_heads(layer, [head])


def _open(task: Task, model: str) -> None:
    if memory.get(f"guess {task.word}"):
        example, (layer, head) = task.example(model), _follows(model)
        sentences.compare()
        TEXT.set(example.text)
        OTHER.set(example.other)
        SHOW.set(task.word)
        STAGE.set(caches.WEIGHTS)
        attention.open_kind(model, _KIND)
        open_heads(layer, [head])


def _outcome(task: Task, guess: str, model: str) -> str:
    """Who was right, with the weights of this very sentence."""
    given, (layer, head) = ModelInput(task.example(model).other), _follows(model)
    labels = caches.shown(model, given, _KIND, False, False)[0].labels
    numbers = caches.weights(model, given, _KIND, False, False)[layer - 1, head - 1]
    row = numbers[labels.index(_QUERY)]
    weight = {answer: float(row[labels.index(answer)]) for answer in task.answers}
    more, less = sorted(task.answers, key=weight.__getitem__, reverse=True)
    verdict = "Yes" if guess == more else "No"
    return f"**{verdict}:** {more} {percent(weight[more])}, {less} {percent(weight[less])}."
