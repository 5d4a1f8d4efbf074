"""The page's sections in order, for one sentence and for a text that is being read."""

from __future__ import annotations

import streamlit as st

from attnviz.app import markdown
from attnviz.app.folded import folded, section
from attnviz.app.heads.behaviour import alike, examples, rules, shapes, table, texts
from attnviz.app.heads.behaviour.choices import RuledHead
from attnviz.app.heads.behaviour.findings import Findings, JobSnapshot, of_many, of_sentence
from attnviz.app.job_view import counted, show_job
from attnviz.app.models import lookup
from attnviz.app.server.jobs import JOBS
from attnviz.app.state import link
from attnviz.app.state.choices import HEAD, LAYER, MODEL, READ_WITH, STRONGEST, TEXT
from attnviz.experiments import behaviour
from attnviz.experiments.behaviour import BehaviourFindings, measure_corpus
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.progress import Progress

_NOTHING_READ = (
    "The model could read none of these lines. Choose another model, or give it words that it knows."
)
_SHORT_FIRST = "Sentences of equal length go together: until all are read, these are no fair sample."


def on_sentence(text: str, chosen: RuledHead) -> None:
    """Draw what the heads do in one sentence."""
    _draw(of_sentence(chosen.entry.name, text), chosen, texts.bundled())


def on_many(corpus: Corpus, chosen: RuledHead) -> None:
    """Draw what the heads do in a text, as far as it has been read."""
    entry, name = chosen.entry, chosen.entry.name
    measures = behaviour.measures(corpus.lines, entry.heads * entry.layers_of(entry.kinds[0]))
    key = "behaviour", name, lookup.fingerprint(name), corpus.key
    job = JOBS.find(key, lambda: measure_corpus(corpus, name, measures))
    drawn: dict[str, object] = {}

    def draw(progress: Progress[BehaviourFindings]) -> None:
        # A head that was picked in this part of the page is told to the rest of it, too.
        now = link.along(MODEL, TEXT, LAYER, HEAD)
        if drawn.setdefault("link", now) != now:
            st.rerun()
        found = progress.found
        named = [f"line {each.line:,}: {markdown.plain(each.why)}" for each in found.named]
        texts.tell_unread(found.skipped, named)
        if sentences := int(progress.found.tally.sentences):
            if not progress.finished:
                st.markdown(f":small[{_SHORT_FIRST}]")
            _draw(of_many(name, JobSnapshot(key, sentences, progress.found)), chosen, corpus)
        elif progress.finished:
            st.info(_NOTHING_READ, icon=":material/edit:")

    unit = "line" if corpus.lines == 1 else "lines"
    show_job(job, counted("Reading the sentences", unit), draw, key="behaviour")


def _draw(findings: Findings, chosen: RuledHead, corpus: Corpus) -> None:
    rules.draw(findings, chosen)
    sections = [
        section("All rules of this head", rules.of_head, findings, chosen),
        section("Where it does most", examples.draw, chosen, corpus).with_choices(STRONGEST),
        section("All heads as a table", table.draw, findings, chosen),
        section("Shapes of attention", shapes.draw, findings, chosen).with_choices(READ_WITH),
    ]
    if findings.alike.sentences and len(findings.names) > 1:  # of a long text, only some lines are compared
        sections.append(section("Which heads look at the same words?", alike.draw, findings, chosen))
    folded(*sections, section("How this is counted", rules.counted, findings, chosen))
