"""The forward passes behind the page: one for the sentence, one for the sentence it is compared with."""

from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.errors import AttnvizError
from attnviz.trace import Kind, Trace
from attnviz.ui import caches, links, markdown
from attnviz.ui.controls import one_of
from attnviz.ui.explore.sentences import Sentences

CHANGE = "change"


@dataclass(frozen=True)
class Reading:
    """What the page shows.

    Attributes:
        model: a name in the catalogue.
        kind: which of its attentions.
        text: the sentence on show; in a change, the first one.
        changed: the sentence that the change leads to; None when one sentence is on show.
        trace: the forward pass over `text`.
        changed_trace: the forward pass over `changed`.
        pair: both sentences' traces when there are two to compare, whichever is on show.
    """

    model: str
    kind: Kind
    text: str
    trace: Trace
    changed: str | None = None
    changed_trace: Trace | None = None
    pair: tuple[Trace, Trace] | None = None


def read(sentences: Sentences, kind: Kind, switch: DeltaGenerator) -> Reading:
    """Run the model and let the visitor choose which sentence to see; stop kindly if there is none.

    Args:
        sentences: what to read.
        kind: which attention to show.
        switch: where the choice between two sentences is drawn.
    """
    try:
        first = caches.trace(sentences.model, sentences.text)
    except AttnvizError as error:
        links.forget()
        st.error(markdown.plain(str(error)), icon=":material/edit:")
        st.stop()
    second = _second(sentences)
    if second is None:
        return Reading(sentences.model, kind, sentences.text, first)
    labels = words_that_differ(sentences.text, sentences.other)
    options = [*labels, CHANGE]
    if st.session_state.get("show", CHANGE) not in options:
        # The words of other sentences: the link must not keep them.
        st.session_state["show"] = labels[0]
    shown = one_of("Show", options, labels[0], "show", switch)
    pair = (first, second)
    if shown == labels[1]:
        return Reading(sentences.model, kind, sentences.other, second, pair=pair)
    if shown == CHANGE:
        return Reading(sentences.model, kind, sentences.text, first, sentences.other, second, pair)
    return Reading(sentences.model, kind, sentences.text, first, pair=pair)


def words_that_differ(text: str, other: str) -> tuple[str, str]:
    """Names for the two sentences: the one word in which they differ, else "first" and "second"."""
    words, other_words = ([word.strip(".,;:!?") for word in part.split()] for part in (text, other))
    pairs = [(a, b) for a, b in zip(words, other_words, strict=False) if a != b]
    if len(words) == len(other_words) and len(pairs) == 1:
        first, second = pairs[0]
        # A label is Markdown and part of the link: only plain words may stand there.
        if first.isalnum() and second.isalnum() and CHANGE not in (first, second):
            return first, second
    return "first", "second"


def _second(sentences: Sentences) -> Trace | None:
    if not sentences.other.strip() or sentences.other == sentences.text:
        return None
    try:
        return caches.trace(sentences.model, sentences.other)
    except AttnvizError as error:
        asked = markdown.code(sentences.other[:60])
        st.warning(f"The sentence to compare with, {asked}: {markdown.plain(str(error))}")
        return None
