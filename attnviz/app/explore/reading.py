"""Forward passes for the text of Explore and, in a comparison, for the second text."""

from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.app import markdown, traces
from attnviz.app.explore.sentences import Sentences
from attnviz.app.page import stop
from attnviz.app.state.choices import SHOW
from attnviz.capture.model import ModelInput
from attnviz.errors import AttnvizError
from attnviz.models.catalogue import Entry
from attnviz.trace import Kind, Trace

CHANGE = "difference"


@dataclass(frozen=True)
class ExploreSelection:
    """Model and inputs of the page.

    Attributes:
        model: The model.
        kind: Kind of attention.
        given: The shown input; the first input if the change is shown.
        changed: The second input if the change is shown, else None.
        pair: Both inputs of a comparison, even if only one is shown; None without a comparison.
        long: True if there are too many weights to store; see `traces.long_trace`.
    """

    model: Entry
    kind: Kind
    given: ModelInput
    changed: ModelInput | None = None
    pair: tuple[ModelInput, ModelInput] | None = None
    long: bool = False

    @property
    def trace(self) -> Trace:
        """Trace of `given`, from the cache."""
        return (traces.long_trace if self.long else traces.trace)(self.model, self.given)

    @property
    def changed_trace(self) -> Trace | None:
        """Trace of `changed`; None if the change is not shown."""
        return traces.trace(self.model, self.changed) if self.changed else None


def read(sentences: Sentences, kind: Kind, switch: DeltaGenerator) -> ExploreSelection:
    """Run the model and let the visitor select the input to show; stop the page if the model fails.

    The widget that switches between two inputs is drawn in `switch`.
    """
    model, given, other = sentences.model, sentences.given, sentences.other
    try:
        if traces.is_long(model, given):
            traces.long_trace(model, given)
            return ExploreSelection(model, kind, given, long=True)
        traces.trace(model, given)
    except AttnvizError as error:
        stop(error)
    if other is None or not _readable(model, other):
        SHOW.forget()  # otherwise a copied link would have a parameter without a widget
        return ExploreSelection(model, kind, given)
    labels = sentence_labels(given.text, other.text)
    with switch:
        shown = SHOW.segments("Show", [*labels, CHANGE])
    pair = (given, other)
    if shown == labels[1]:
        return ExploreSelection(model, kind, other, pair=pair)
    if shown == CHANGE:
        return ExploreSelection(model, kind, given, other, pair)
    return ExploreSelection(model, kind, given, pair=pair)


def sentence_labels(text: str, other: str) -> tuple[str, str]:
    """Return labels of two sentences: the words that differ, if only one does; else "first" and "second"."""
    words, other_words = ([word.strip(".,;:!?") for word in part.split()] for part in (text, other))
    pairs = [(a, b) for a, b in zip(words, other_words, strict=False) if a != b]
    if len(words) == len(other_words) and len(pairs) == 1:
        first, second = pairs[0]
        # A label is shown as Markdown and written to the link, so only plain words are used.
        if first.isalnum() and second.isalnum() and CHANGE not in (first, second):
            return first, second
    return "first", "second"


def _readable(model: Entry, other: ModelInput) -> bool:
    """Return whether the model can read the sentence to compare with; if not, show a warning."""
    try:
        traces.trace(model, other)
    except AttnvizError as error:
        quoted = markdown.code(other.text[:60])
        st.warning(f"Cannot compare with {quoted}: {markdown.plain(str(error))}")
        return False
    return True
