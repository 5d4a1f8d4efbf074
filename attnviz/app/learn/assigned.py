"""The page of an assignment: five questions about the student's own sentence, and the check of a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.analysis.sentence import name_of
from attnviz.app import caches, markdown
from attnviz.app.learn import assignment, choosing
from attnviz.app.learn.assignment import COUNT, KINDS, Row, Task
from attnviz.app.learn.computed import MODEL, computed, later
from attnviz.app.learn.contents import LESSONS, Lesson
from attnviz.app.page import stop
from attnviz.app.state import memory
from attnviz.app.state.choices import ASSIGNMENT, HEAD, LAYER, LESSON, TEXT
from attnviz.capture.model import ModelInput
from attnviz.errors import InvalidCode, InvalidQuestion
from attnviz.models import catalogue
from attnviz.text import head_name
from attnviz.trace import Block

if TYPE_CHECKING:
    from attnviz.app.learn.cross_attention import compute as crossing
    from attnviz.app.learn.weighted_average import compute as averages
else:
    crossing = later("attnviz.app.learn.cross_attention.compute")
    averages = later("attnviz.app.learn.weighted_average.compute")

_average, _cross = computed(averages.average), computed(crossing.cross)

_READER = "A hound was too tired to walk over the street."
_HANDED_IN = "the assignment that was handed in"
_TITLES = {lesson.title: lesson for lesson in LESSONS if lesson.name in KINDS}


@dataclass(frozen=True)
class Assigned:
    """A lesson, the number of the assignment, and the student's sentence."""

    lesson: Lesson
    seed: int
    text: str

    def code(self, score: int) -> str:
        """The code of a result."""
        return assignment.code(self.lesson.name, self.seed, score, self.text)


def choose() -> Assigned:
    """Draw the choice of lesson and number, and the box for the sentence."""
    st.markdown(
        "Five questions about a sentence of your own. The same number and the same sentence give the same "
        "questions. *Copy link* gives the assignment to others."
    )
    left, right = st.columns([3, 1])
    with left:
        title = LESSON.select("Lesson", list(_TITLES))
    with right:
        seed = ASSIGNMENT.draw("Number of the assignment")
    return Assigned(_TITLES[title], seed, choosing.sentence("A sentence of your own"))


def ask(about: Assigned) -> None:
    """Draw the questions; once all are answered, what is right, why, and the code to hand in."""
    rows, told, opened = _rows(about)
    try:
        tasks = assignment.tasks(about.lesson.name, about.seed, about.text, rows)
    except InvalidQuestion as error:
        stop(error)
    st.markdown(told)
    label = f"Look it up before you answer: {about.lesson.title}"
    st.page_link(f"pages/{about.lesson.name}.py", label=label, query_params=opened)
    answered, answers = memory.get(_HANDED_IN, (None, ()))
    if answered == about:
        _result(about, tasks, answers)
        return
    keys = [f"answer {about.code(number)}" for number in range(COUNT)]
    with st.form("answers"):
        for number, (task, key) in enumerate(zip(tasks, keys, strict=True), 1):
            st.markdown(f"**{number}.** {task.question}")
            label = f"Answer {number}"  # a label's Markdown would be read out as it is typed
            st.radio(
                label,
                task.options,
                index=None,
                key=key,
                format_func=markdown.plain,
                label_visibility="collapsed",
            )
        st.form_submit_button("Hand in", on_click=_hand_in, args=(about, keys))
    if any(memory.get(key) for key in keys):
        st.warning(f"Answer all {COUNT} questions, then hand in.", icon=":material/edit:")


def check() -> None:
    """Draw the boxes in which a teacher checks a student's code."""
    with st.expander("For teachers: check a result", icon=":material/verified:"):
        st.markdown(
            "A student hands in a code and a sentence. The code holds lesson, number and score, and a check "
            "sum of these and of the sentence: a slip is found. It is no proof: who reads the code of this "
            "app can make one up, and who opens the page anew can answer again. No name is asked or kept."
        )
        code, text = st.text_input("Result code"), st.text_input("The student's sentence")
        if not code or not text:
            return
        try:
            name, seed, score = assignment.read(code, text)
        except InvalidCode as error:
            st.warning(markdown.plain(str(error)), icon=":material/edit:")
            return
        title = next(lesson.title for lesson in LESSONS if lesson.name == name)
        st.success(f"{title}, number {seed}: {score} of {COUNT} right.", icon=":material/verified:")


def _hand_in(about: Assigned, keys: Sequence[str]) -> None:
    answers = tuple(memory.get(key) for key in keys)
    if all(answers):
        memory.put(_HANDED_IN, (about, answers))


def _result(about: Assigned, tasks: Sequence[Task], answers: Sequence[str]) -> None:
    for number, (task, answer) in enumerate(zip(tasks, answers, strict=True), 1):
        verdict = "Yes" if answer == task.right else f"Not quite: {markdown.plain(task.right)}"
        st.markdown(
            f"**{number}.** {task.question}\n\nYour answer: {markdown.plain(answer)}. **{verdict}.** "
            f"{task.because}"
        )
    right = sum(answer == task.right for task, answer in zip(tasks, answers, strict=True))
    st.header(f"{right} of {COUNT}", anchor=False)
    st.markdown("Hand in this code, and your sentence:")
    st.code(f"{about.code(right)}\n{about.text}", language=None)


def _rows(about: Assigned) -> tuple[list[Row], str, list[tuple[str, str]]]:
    """What the tokens do in the lesson's attention; which that is, in Markdown; the link that shows it."""
    opened = [(TEXT.name, about.text)]
    if about.lesson.name == "weighted_average":
        found = _average(about.text, "Dot product", 1.0)
        rows = [
            Row(name_of(at, found.tokens), at, found.tokens, weights, scores, found.vectors.shape[1], 1.0)
            for at, (weights, scores) in enumerate(zip(found.weights, found.scores, strict=True))
        ]
        return rows, "All questions are about plain dot products at temperature 1.", opened
    if about.lesson.name == "cross_attention":
        block = _cross(_READER, about.text, catalogue.entry(MODEL).layers)
        return _of(block, 0, _READER, about.text), f"The reader is: *{_READER}*", opened
    entry, random = catalogue.entry(MODEL), Random(about.seed)  # noqa: S311 - a game, no secret
    layer, head = random.randrange(entry.layers), random.randrange(entry.heads)
    block = caches.trace(MODEL, ModelInput(about.text)).block("encoder", layer)
    opened += [(LAYER.name, str(layer + 1)), (HEAD.name, str(head + 1))]
    told = f"All questions are about head {head_name(layer, head)}: layer {layer + 1}, head {head + 1}."
    told = "" if about.lesson.name == "positions" else told  # it asks nothing about a head
    return _of(block, head, about.text, about.text), told, opened


def _of(block: Block, head: int, reader: str, source: str) -> list[Row]:
    queries = DisplayTokens(block.query_tokens, reader).groups
    keys = DisplayTokens(block.key_tokens, source).groups
    products = block.query[head] @ block.key[head].T
    return [
        Row(
            name_of(at, queries),
            None if block.kind == "cross" else at,
            keys,
            block.weights[head, at],
            products[at],
            block.query.shape[-1],
            block.scale,
        )
        for at, group in enumerate(queries)
        if not group.special
    ]
