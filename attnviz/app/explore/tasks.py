"""A question to answer before looking; then the model's own numbers show the answer."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from attnviz.app import question, traces
from attnviz.app.examples import Example, example_named, introduction
from attnviz.app.explore import attention, sentences, views
from attnviz.app.explore.choices import open_heads
from attnviz.app.explore.reading import CHANGE
from attnviz.app.explore.views import View
from attnviz.app.state import memory
from attnviz.app.state.choices import OTHER, SHOW, STAGE, TEXT
from attnviz.capture.model import ModelInput
from attnviz.models.catalogue import Entry
from attnviz.text import percent
from attnviz.trace import Kind

_KIND: Kind = "encoder"
_QUERY = "it"


@dataclass(frozen=True)
class Task:
    """A question about the second sentence of an example, in the head that follows "it".

    `name` is the example's; `word` makes the sentence the second one.
    """

    name: str
    word: str
    answers: tuple[str, str]

    def example(self, model: Entry) -> Example:
        """The example of the question; every model has one of this name."""
        return example_named(model, self.name)

    def question(self, model: Entry) -> str:
        """What the visitor is asked."""
        layer, head = _follows(model)
        where = f"{attention.of(model, _KIND)}head {layer}-{head}"
        return f"“{self.example(model).other}” Which word will *{_QUERY}* attend to more in {where}?"


TASKS = (
    Task("dog / road", "narrow", ("dog", "road")),
    Task("trophy / suitcase", "small", ("trophy", "suitcase")),
)


def draw(view: View, example: Example | None) -> None:
    """Draw the question about the sentence that the open example leads to; a guess opens its picture.

    Nothing where the visitor has a sentence of their own, or has the answer before them.
    """
    task = next((each for each in TASKS if example and each.name == example.name), None)
    if task and (introduction(view.model).head is None or _answered(task)):
        task = None
    question.offer(_for_room(task, view.model) if task else None)
    if task is None:
        return
    with st.container(border=True, key="task"):
        asked, answers = st.columns([3, 1], vertical_alignment="center")
        asked.markdown(f"**Guess first, then look.** {task.question(view.model)}")
        guess = answers.pills(
            "Your guess",
            task.answers,
            key=_key(task),
            on_change=_open,
            args=(task, view.model),
            label_visibility="collapsed",
        )
        if guess:
            st.markdown(_outcome(task, guess, view.model))


def _key(task: Task) -> str:
    return f"guess {task.word}"


def _answered(task: Task) -> bool:
    """Whether the visitor came to the answer without a guess."""
    return not memory.get(_key(task)) and SHOW.get("") in (task.word, CHANGE)


def _for_room(task: Task, model: Entry) -> question.Question:
    weights = _weights(task, model)
    right = max(weights, key=weights.__getitem__)
    return question.Question(task.question(model), task.answers, right, of_sentence=False)


def _follows(model: Entry) -> tuple[int, int]:
    """The layer and the head, from 1, that follow "it"; head 1-1 if none is known."""
    return introduction(model).head or (1, 1)


def _open(task: Task, model: Entry) -> None:
    if memory.get(_key(task)):
        example, (layer, head) = task.example(model), _follows(model)
        sentences.compare()
        TEXT.set(example.text)
        OTHER.set(example.other)
        SHOW.set(task.word)
        STAGE.set(views.WEIGHTS)
        attention.open_kind(model, _KIND)
        open_heads(layer, [head])
        st.rerun()  # what is above this part of the page has changed, too


def _outcome(task: Task, guess: str, model: Entry) -> str:
    """Who was right, with the weights of this very sentence."""
    weights = _weights(task, model)
    more, less = sorted(weights, key=weights.__getitem__, reverse=True)
    verdict = "Yes" if guess == more else "No"
    return f"**{verdict}:** {more} {percent(weights[more])}, {less} {percent(weights[less])}."


def _weights(task: Task, model: Entry) -> dict[str, float]:
    """How much "it" attends to each answer."""
    given, (layer, head) = ModelInput(task.example(model).other), _follows(model)
    labels = traces.shown(model, given, _KIND, False, False)[0].labels
    numbers = traces.weights(model, given, _KIND, False, False)[layer - 1, head - 1]
    row = numbers[labels.index(_QUERY)]
    return {answer: float(row[labels.index(answer)]) for answer in task.answers}
