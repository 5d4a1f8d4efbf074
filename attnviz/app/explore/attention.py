"""Kinds of attention in an encoder–decoder: encoder and decoder self-attention, and cross-attention."""

from __future__ import annotations

import streamlit as st

from attnviz.app import markdown
from attnviz.app.explore.reading import ExploreSelection
from attnviz.app.lessons.english import outside_note
from attnviz.app.lessons.measured import variant_of
from attnviz.app.state.choices import KIND
from attnviz.capture import loading
from attnviz.models.catalogue import Entry
from attnviz.trace import Kind
from attnviz.trained.translator.reading import is_outside_grammar
from attnviz.trained.translator.variants import VARIANTS

_OWN_TRANSLATOR: dict[Kind, str] = {
    "encoder": "**Within the English sentence**: every word attends to the whole sentence.",
    "decoder": "**Within the French sentence**: a word attends to itself and to the words before it.",
    "cross": "**From French to English**: every French word attends to the whole English sentence.",
}
_ENCODER_DECODER: dict[Kind, str] = {
    "encoder": "**Within the encoder’s text**: every token attends to the whole text.",
    "decoder": "**Within the decoder’s text**: a token attends to itself and to earlier tokens.",
    "cross": "**From the decoder to the encoder**: every token attends to the whole text of the encoder.",
}


def choose(model: Entry) -> Kind:
    """Draw the kinds of attention if the model has several; return the selected kind."""
    kinds = model.kinds
    if len(kinds) == 1:
        return kinds[0]
    return KIND.segments("Attention", kinds)


def open_kind(model: Entry, kind: Kind) -> None:
    """Select a kind of attention (callback of a button)."""
    if len(model.kinds) > 1:
        KIND.set(kind)


def head_prefix(model: Entry, kind: Kind) -> str:
    """Return the kind as a prefix for "head": "encoder "; "" if the model has only one kind."""
    return f"{kind} " if len(model.kinds) > 1 else ""


def draw(read: ExploreSelection) -> None:
    """In an encoder–decoder, explain the attention and say who wrote the decoder's text."""
    if read.trace.target is not None and read.model.engine == "translator":
        trained = markdown.plain(VARIANTS[variant_of(read.model.name)].description)
        st.markdown(f"French: {_targets(read)}  \n:small[{_OWN_TRANSLATOR[read.kind]} {trained}]")
    elif read.trace.target is not None:
        note = "You typed the decoder’s text." if read.given.target else "The model wrote the decoder’s text."
        empty = "" if read.trace.target else " It is empty."
        first = read.trace.of_kind("decoder")[0].query_tokens[0]
        start = f" {markdown.code(first.text)} only marks its start." if first.special else ""
        st.markdown(f"{_ENCODER_DECODER[read.kind]}  \n:small[{note}{empty}{start}]")


def warn(read: ExploreSelection) -> None:
    """Warn if the model returns only weights, or if the sentence is unlike the translator's training set."""
    if read.trace.blocks[0].weights_alone:
        st.info(f"**Weights only.** {markdown.plain(str(loading.opened(read.model).weights_alone))}")
    if read.model.engine != "translator":
        return
    for trace in filter(None, (read.trace, read.changed_trace)):
        if trace.target is not None:
            tokens = trace.of_kind("encoder")[0].query_tokens
            outside_note(is_outside_grammar([token.text for token in tokens if not token.special]))


def _targets(read: ExploreSelection) -> str:
    traces = filter(None, (read.trace, read.changed_trace))
    return " → ".join(f"**{markdown.plain(str(trace.target))}**" for trace in traces)
