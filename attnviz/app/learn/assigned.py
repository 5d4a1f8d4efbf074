"""An assignment: five questions about the student's own sentence, and a teacher's check of the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import streamlit as st

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.analysis.sentence import name_of
from attnviz.analysis.table import csv_text
from attnviz.app import caches, markdown
from attnviz.app.learn import assignment, choosing, english, story
from attnviz.app.learn.assignment import COUNT, Result, Row, Task
from attnviz.app.learn.computed import MODEL, computed, storytold, translated
from attnviz.app.learn.computed import block as blocks
from attnviz.app.learn.computed import cause as causes
from attnviz.app.learn.computed import cross_attention as crossing
from attnviz.app.learn.computed import translate as translations
from attnviz.app.learn.computed import weighted_average as averages
from attnviz.app.learn.computed import who_gets_the_book as books
from attnviz.app.learn.contents import LESSONS, TITLES, Lesson
from attnviz.app.learn.measured import variant_of
from attnviz.app.page import stop
from attnviz.app.saving import save_file
from attnviz.app.state import link, memory
from attnviz.app.state.choices import (
    ASSIGNMENT,
    ENGLISH,
    HEAD,
    LAYER,
    LESSON,
    OWN_SENTENCE,
    PROMPT,
    TEXT,
    UNFINISHED,
)
from attnviz.capture.model import ModelInput
from attnviz.errors import AttnvizError
from attnviz.interventions.edit import Edit
from attnviz.models import catalogue
from attnviz.text import head_name, plural
from attnviz.trace import Block
from attnviz.trained.translator import learning

_average, _cross, _walk = computed(averages.average), computed(crossing.cross), computed(blocks.walk)
_translate, _effects = translated(translations.translate), translated(causes.effects)
_read, _experiment = storytold(books.read), storytold(books.experiment)

_READER = "A hound was too tired to walk over the street."
_MOST_HANDED_IN = 50_000  # characters
_RESULTS = ("Name, or what was not accepted", "Lesson", "Number", f"Right, of {COUNT}", "Why not")
_CHECKED = "the answers that were checked"
_READERS = {
    "translator": (catalogue.TRANSLATOR, english.known_words),
    "storyteller": (catalogue.STORYTELLER, story.known_words),
}
"""Who reads the sentence in the lessons of a group, and what draws the words that it knows."""
_LESSONS = {TITLES[lesson.name]: lesson for lesson in LESSONS}


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
        "Five questions about a sentence of your own; of each, the answer that you check first counts. "
        "The same number and the same sentence give the same questions. *Copy link* gives the assignment to "
        "others."
    )
    left, right = st.columns([3, 1])
    with left:
        for title, lesson in _LESSONS.items():
            if link.said(LESSON) == lesson.title:  # as links made earlier call it
                LESSON.set(title)
        lesson = _LESSONS[LESSON.select("Lesson", list(_LESSONS))]
    with right:
        seed = ASSIGNMENT.draw("Number of the assignment")
    return Assigned(lesson, seed, _sentence(lesson))


def _sentence(lesson: Lesson) -> str:
    """Draw the box for it; return what stands there, which can be read: "" at first."""
    model, known_words = _READERS.get(lesson.group, (MODEL, None))
    label = "A sentence of your own" + (" that breaks off" if lesson.sentence == UNFINISHED else "")
    if not link.said(OWN_SENTENCE).strip():
        OWN_SENTENCE.draw(label)
        st.info("Write a sentence, and press Enter: the questions are about it.", icon=":material/edit:")
        if known_words:
            known_words()
        return ""
    return choosing.sentence(label, OWN_SENTENCE, "", model, known_words)


def ask(about: Assigned) -> None:
    """Draw the questions, of each that is checked what is right and why; at the end, the code to hand in."""
    if not about.text:
        return
    try:
        rows, told, opened = _rows(about)
        words = [row for row in rows if any(map(str.isalnum, row.looker))]
        tasks = assignment.tasks(about.lesson.name, about.seed, about.text, words or rows)
    except AttnvizError as error:
        stop(error)
    st.markdown(told)
    label = f"Look it up before you answer: {about.lesson.title}"
    st.page_link(f"pages/{about.lesson.name}.py", label=label, query_params=opened)
    right = [_ask(number, task, f"answer {about.code(number)}") for number, task in enumerate(tasks, 1)]
    if None not in right:
        st.header(f"{sum(map(bool, right))} of {COUNT}", anchor=False)
        st.markdown("Hand in this code, and your sentence:")
        st.code(f"{about.code(sum(map(bool, right)))}\n{about.text}", language=None, wrap_lines=True)


def _ask(number: int, task: Task, key: str) -> bool | None:
    """Draw a question; return whether it was answered rightly, None while no answer is checked."""
    st.markdown(f"**{number}.** {task.question}")
    answers: dict[str, str] = memory.get(_CHECKED, {})
    if answer := answers.get(key):
        right = answer == task.right
        told = f"Your answer: {markdown.plain(answer)}. "
        if right:
            st.success(f"{told}**Yes.** {task.because}", icon=":material/check:")
        else:
            told += f"**Not quite: {markdown.plain(task.right)}.** {task.because}"
            st.warning(told, icon=":material/close:")
        return right
    with st.form(f"form of {key}", border=False):
        chosen = st.radio(
            f"Answer {number}",  # a label's Markdown would be read out as it is typed
            task.options,
            index=None,
            key=key,
            format_func=markdown.plain,
            label_visibility="collapsed",
            persist_state="session",
        )
        if st.form_submit_button("Check", key=f"check {key}", on_click=_check, args=(key,)) and not chosen:
            st.warning("Choose an answer, then check it.", icon=":material/edit:")
    return None


def _check(key: str) -> None:
    if answer := memory.get(key):
        memory.put(_CHECKED, {**memory.get(_CHECKED, {}), key: answer})


def check() -> None:
    """Draw the box in which a teacher checks students' codes: one, or those of a whole class."""
    st.markdown(
        "A student hands in a code and a sentence: paste both, of as many students as you like, each code in "
        "a new line. A name before a code, or in the line above, comes into the table. The check sum in a "
        "code shows a slip in it, or in the sentence. It is no proof: who reads this app's code can make "
        "one up, and who opens the page anew can answer again."
    )
    label = "Result codes, each with the student's sentence behind it"
    handed_in = st.text_area(label, height=120, max_chars=_MOST_HANDED_IN).strip()
    if not handed_in:
        return
    first, *others = results = assignment.results(handed_in)
    if others:
        _table(results)
    elif first.trouble:
        st.warning(first.trouble, icon=":material/edit:")
    else:
        told = f"{TITLES[first.lesson]}, number {first.seed}: {first.score} of {COUNT} right."
        st.success(told, icon=":material/verified:")


def _table(results: Sequence[Result]) -> None:
    rows = [
        (each.before, "", None, None, each.trouble)
        if each.trouble
        else (each.before, TITLES[each.lesson], each.seed, each.score, "")
        for each in results
    ]
    accepted = sum(not each.trouble for each in results)
    st.markdown(f"{accepted} of {plural(len(results), 'code')} accepted.")
    shown = ([markdown.plain("" if cell is None else str(cell)) for cell in row] for row in rows)
    # A table of text: its lines break, and nothing in it is cut.
    st.table(dict(zip(_RESULTS, zip(*shown, strict=True), strict=True)), hide_index=True, border="horizontal")
    csv = "\ufeff" + csv_text(_RESULTS, rows)
    save_file("Results as CSV", lambda: csv, "attnviz-results.csv", icon=":material/download:")


def _rows(about: Assigned) -> tuple[list[Row], str, list[tuple[str, str]]]:
    """What the tokens do in the lesson's attention; which that is, in Markdown; the link that shows it."""
    if about.lesson.group == "translator":
        return *_rows_of_translator(about), [
            (ENGLISH.name, about.text)
        ] if about.lesson.sentence == ENGLISH else []
    if about.lesson.group == "storyteller":
        shown = about.lesson.sentence if about.lesson.sentence in (PROMPT, UNFINISHED) else None
        return *_rows_of_storyteller(about), [(shown.name, about.text)] if shown else []
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
    if about.lesson.name == "block":
        walks = [_walk(about.text, layer, token) for token in range(len(block.query_tokens))]
        facts = [{"came in": walk.came_in.values, "update": walk.attention.values} for walk in walks]
        return (
            _of(block, head, about.text, about.text, facts),
            f"All questions are about layer {layer + 1}.",
            opened,
        )
    return _of(block, head, about.text, about.text), told, opened


def _rows_of_translator(about: Assigned) -> tuple[list[Row], str]:
    """The same, of the translator: its decoder's rows, or those of all heads of its encoder."""
    found = _translate(catalogue.TRANSLATOR, about.text)
    wrote = f"The translator wrote: *{markdown.plain(found.text)}*"
    if about.lesson.name in ("translate", "watch_it_learn"):
        head = Random(about.seed).randrange(found.trace.block("cross", 0).weights.shape[0])  # noqa: S311
        batch = int(learning.shipped(variant_of(catalogue.TRANSLATOR)).about["batch"])
        facts = [{"choices": choices, "batch": batch} for choices in found.choices]
        rows = _of(found.trace.block("cross", 0), head, str(found.trace.target), about.text, facts)
        named = f" Questions about looking are about head {head + 1} of cross-attention."
        return rows, wrote + (named if about.lesson.name == "translate" else "")
    effects = _effects(catalogue.TRANSLATOR, about.text) if about.lesson.name == "cause" else None
    rows = []
    for block in found.trace.of_kind("encoder"):
        for head in range(len(block.weights)):
            facts = [
                {"head": head_name(block.layer, head)} | _effect(effects, at)
                for at in range(len(found.source))
            ]
            rows += _of(block, head, about.text, about.text, facts)
    return rows, f"{wrote} All heads are the encoder's." if about.lesson.name == "cause" else ""


def _rows_of_storyteller(about: Assigned) -> tuple[list[Row], str]:
    """The same, of the storyteller, which reads the text twice where a lesson is about what is said again."""
    from attnviz.trained.storyteller.training import BATCH

    name, model = about.lesson.name, catalogue.STORYTELLER
    twice = name in ("induction", "watch_a_circuit_form")
    given = ModelInput(f"{about.text} {about.text}" if twice else about.text)
    trace = caches.trace(model, given)
    if name == "who_gets_the_book":
        rows = _rows_of_exchanges(given.text, trace.of_kind("decoder"))
        return rows, "All questions are about the last word, in several heads."
    entry, random = catalogue.entry(model), Random(about.seed)  # noqa: S311 - a game, no secret
    layer, head = random.randrange(entry.layers_of("decoder")), random.randrange(entry.heads)
    facts = [
        {"choices": [(each.text, each.probability) for each in expected.candidates], "batch": BATCH}
        for expected in caches.predictions(model, given)
    ]
    told = "It reads your text twice." if twice else ""
    if name != "watch_a_circuit_form":  # it asks nothing about a head of the model's
        told += f" Questions about weights are about head {head_name(layer, head)}."
    return _of(trace.block("decoder", layer), head, given.text, given.text, facts), told


def _rows_of_exchanges(text: str, blocks: Sequence[Block]) -> list[Row]:
    """The row of the last word in each head, and what becomes of the likelier word if it is silenced."""
    read = _read(text)
    last = len(read.words) - 1
    heads = [(layer, head) for layer, block in enumerate(blocks) for head in range(len(block.weights))]
    found = {at: _experiment(text, *at, (str(Edit("decoder", *at, last)),)) for at in heads}
    facts = {
        "pronoun": read.choices[0],
        "unchanged": float(found[heads[0]].before[0]),
        "silenced": {head_name(*at): float(each.now[0]) for at, each in found.items()},
    }
    return [
        _of(blocks[layer], head, text, text, [facts | {"head": head_name(layer, head)}] * (last + 1))[-1]
        for layer, head in heads
    ]


def _effect(found: causes.Effects | None, query: int) -> dict[str, Any]:
    """What becomes of the pronoun if the row of a token is silenced, by head."""
    if found is None:
        return {}
    now = {
        head_name(*at): float(found.probability + found.rows[*at, query])
        for at in np.ndindex(found.rows.shape[:2])
    }
    return {"pronoun": found.written, "unchanged": found.probability, "silenced": now}


def _of(
    block: Block, head: int, reader: str, source: str, facts: Sequence[Mapping[str, Any]] | None = None
) -> list[Row]:
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
            facts[at] if facts else {},
        )
        for at, group in enumerate(queries)
        if not group.special
    ]
