"""The forward passes behind the page: one for what is read, one for what that is compared with."""

from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.app import caches, markdown
from attnviz.app.explore.sentences import Sentences
from attnviz.app.page import stop
from attnviz.app.state.choices import SHOW
from attnviz.capture.model import ModelInput
from attnviz.errors import AttnvizError
from attnviz.trace import Kind, Trace

CHANGE = "change"


@dataclass(frozen=True)
class ExploreSelection:
    """What the page shows.

    Attributes:
        model: its name.
        kind: which of its attentions.
        given: what is read; in a change, first.
        changed: what the change leads to; None when one reading is on show.
        trace: the forward pass over `given`.
        changed_trace: the forward pass over `changed`.
        pair: both readings when there are two to compare, whichever is on show.
    """

    model: str
    kind: Kind
    given: ModelInput
    trace: Trace
    changed: ModelInput | None = None
    changed_trace: Trace | None = None
    pair: tuple[ModelInput, ModelInput] | None = None


def read(sentences: Sentences, kind: Kind, switch: DeltaGenerator) -> ExploreSelection:
    """Run the model and let the visitor choose which reading to see; stop kindly if there is none.

    The choice between two readings is drawn in `switch`.
    """
    model, given, other = sentences.model, sentences.given, sentences.other
    try:
        first = caches.trace(model, given)
    except AttnvizError as error:
        stop(error)
    second = _second(model, other)
    if other is None or second is None:
        return ExploreSelection(model, kind, given, first)
    labels = words_that_differ(given.text, other.text)
    with switch:
        shown = SHOW.segments("Show", [*labels, CHANGE])
    pair = (given, other)
    if shown == labels[1]:
        return ExploreSelection(model, kind, other, second, pair=pair)
    if shown == CHANGE:
        return ExploreSelection(model, kind, given, first, other, second, pair)
    return ExploreSelection(model, kind, given, first, pair=pair)


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


def _second(model: str, other: ModelInput | None) -> Trace | None:
    if other is None:
        return None
    try:
        return caches.trace(model, other)
    except AttnvizError as error:
        asked = markdown.code(other.text[:60])
        st.warning(f"The sentence to compare with, {asked}: {markdown.plain(str(error))}")
        return None
