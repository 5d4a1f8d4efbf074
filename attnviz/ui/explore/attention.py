"""Which of a translator's attentions is shown: English in itself, French in itself, or French in English."""

from __future__ import annotations

import streamlit as st

from attnviz.capture import catalogue
from attnviz.trace import Kind
from attnviz.translation.reading import outside
from attnviz.ui import markdown
from attnviz.ui.controls import one_of
from attnviz.ui.explore.reading import Reading
from attnviz.ui.learn.english import outside_note

_MEANING: dict[Kind, str] = {
    "encoder": "**English reads English**: every word looks at the whole sentence.",
    "decoder": "**French reads French**, backwards only: a word looks at itself and at the words before it.",
    "cross": "**French reads English**: every word looks at the whole sentence; then the next one is chosen.",
}


def choose(model: str) -> Kind:
    """Draw the choice, where the model has more than one kind of attention; return the chosen kind."""
    kinds = catalogue.entry(model).kinds
    if len(kinds) == 1:
        return kinds[0]
    chosen = one_of("Attention", kinds, kinds[0], "kind")
    return next(kind for kind in kinds if kind == chosen)


def open_kind(model: str, kind: Kind) -> None:
    """Choose a kind, from a button."""
    if len(catalogue.entry(model).kinds) > 1:
        st.session_state["kind"] = kind


def of(model: str, kind: Kind) -> str:
    """What comes before the word "head": "encoder ", or nothing where a model has one kind of attention."""
    return f"{kind} " if len(catalogue.entry(model).kinds) > 1 else ""


def draw(read: Reading) -> None:
    """Write the translation, what its attention means, and which model it is; nothing for one text."""
    if read.trace.target is None:
        return
    entry = catalogue.entry(read.model)
    model = f"**{entry.title}.** {entry.description}"
    st.markdown(f"{_translation(read)}  \n:small[{_MEANING[read.kind]} {model}]")


def warn(read: Reading) -> None:
    """Say that a sentence on show is unlike all that a translator has learned from, if it is."""
    for trace in filter(None, (read.trace, read.changed_trace)):
        if trace.target is not None:
            tokens = trace.of_kind("encoder")[0].query_tokens
            outside_note(outside([token.text for token in tokens if not token.special]))


def _translation(read: Reading) -> str:
    traces = filter(None, (read.trace, read.changed_trace))
    return "French: " + " → ".join(f"**{markdown.plain(str(trace.target))}**" for trace in traces)
