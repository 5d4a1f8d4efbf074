"""The grammar: the best head of each relation, all heads for one, and on which words the open one fails."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.words import Span
from attnviz.app import markdown
from attnviz.app.folded import folded, section
from attnviz.app.heads import choosing
from attnviz.app.heads.choosing import HeadSelection
from attnviz.app.heads.pronouns import choices, computing, grammar, listing, onward
from attnviz.app.heads.pronouns.figures import fine, marked
from attnviz.app.job_view import counted, show_job
from attnviz.app.state.choices import CASES
from attnviz.experiments.progress import Progress
from attnviz.experiments.syntax import LOOKS, SORTS, Answers, Grammar, Looks


def draw(chosen: HeadSelection, beside: DeltaGenerator) -> None:
    """Draw the page; while the sentences are read, the map streams. `beside`: the place beside the model."""
    with beside:
        looks = choices.which_way()
    sort = grammar.choose()

    def stream(latest: Progress[Grammar]) -> None:
        grammar.draw(chosen, latest, looks, sort, still=False)

    job, words = computing.grammar(chosen), counted("Reading the sentences", "sentences")
    latest = show_job(job, words, stream, key="grammar", only_running=True)
    if latest is not None:
        grammar.draw(chosen, latest, looks, sort, still=True)

    def cases() -> None:
        which = listing.choose()
        if latest is None or not latest.found.totals[sort]:
            waits = "This comes when all sentences are read."
            st.markdown(waits if job.running else "There is nothing to list.")
        else:
            _cases(chosen, latest.found, looks, sort, which)

    def every() -> None:
        if latest is not None and latest.found.sentences:
            grammar.every(chosen, latest.found, looks)

    folded(section("All relations", every), section(listing.HEADING, cases).with_choices(CASES))
    choosing.unread_sentence(chosen.entry)


_TOLD = {
    "dependent": "In italics the word that looks, in bold letters the word that it should look at most.",
    "head word": "In italics the word that is looked at, in bold letters the one that should do so most.",
}
_WEIGHTS = "The percentages are the model’s own weights, between whole words."


@dataclass(frozen=True, slots=True)
class _Case:
    """One word: the answers about its sentence, and which of the sentence's relations it is."""

    answers: Answers
    number: int


def _cases(chosen: HeadSelection, found: Grammar, looks: Looks, sort: int, which: str) -> None:
    """List the words of a relation, the head's failures first."""
    cases = [
        _Case(answers, number)
        for answers in found.answers
        for number, relation in enumerate(answers.sentence.relations)
        if relation.sort == SORTS[sort]
    ]
    way = LOOKS.index(looks)
    right = np.array(
        [case.answers.hits[way, case.number, chosen.layer, chosen.head] for case in cases], dtype=bool
    )
    st.markdown(
        f"Head {chosen.name} finds {right.sum()} and misses {(~right).sum()}. {_TOLD[looks]} {_WEIGHTS}"
    )

    def draw_one(place: int) -> None:
        _draw_case(chosen, cases[place], looks, bool(right[place]))

    listing.draw("words", listing.places(right, which), draw_one)


def _draw_case(chosen: HeadSelection, case: _Case, looks: Looks, is_right: bool) -> None:
    answers = case.answers
    text, relation = answers.sentence.text, answers.sentence.relations[case.number]
    here = LOOKS.index(looks), case.number, chosen.layer, chosen.head
    given, deserved = (fine(float(weight)) for weight in answers.weights[here])
    asked, wanted = _word(text, relation.dependent), _word(text, relation.head)
    other = f"“{_word(text, answers.words[answers.places[here]])}”"
    verb, sign = ("looks most at", "at") if looks == "dependent" else ("gets most from", "from")
    if is_right:
        told = f"*{asked}* {verb} **{wanted}** {given}"
    elif answers.weights[here][0] > 0:
        told = f"*{asked}* {verb} {other} {given}, {sign} **{wanted}** {deserved}"
    else:
        told = f"*{asked}* {verb} no other word"
    written = marked(text, [(relation.dependent, "*"), (relation.head, "**")])
    st.markdown(f"{'✓' if is_right else '✗'} {written} → {told}")
    looking = relation.dependent if looks == "dependent" else relation.head
    with st.container(horizontal=True):
        onward.explore(chosen, text, looking, "Open on Explore")
        onward.silence(chosen, text, looking, f"Silence head {chosen.name} here")


def _word(text: str, span: Span) -> str:
    return markdown.plain(text[span.start : span.end].strip())
