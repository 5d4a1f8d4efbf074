"""Examples for testing heads: bundled, or pasted by the visitor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from attnviz.experiments.by_rule import SENTENCES
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.scoring import Source
from attnviz.text import plural

BUNDLED, PASTED = SOURCES = ("Bundled", "Paste")

MAX_LINES = 10_000
"""Default maximum number of lines of a pasted text; the command line has no maximum."""

_PRIVACY_NOTE = (
    ":small[The server keeps your text in memory for a while, never on disk. Links do not contain it.]"
)


def corpus(
    source: str, examples: Source[Any] = SENTENCES, initial: str = "", max_lines: int = MAX_LINES
) -> Corpus | None:
    """Draw the controls for a source of examples; return the examples, or None if no text has been entered.

    Args:
        source: One of `SOURCES`.
        examples: Kind of examples.
        initial: Initial text in the box.
        max_lines: Maximum number of lines of a pasted text.

    Raises:
        AttnvizError: the text has too many lines.
    """
    if source == PASTED:
        return _pasted(examples, initial, max_lines)
    text = examples.bundled()
    with st.popover(f"Read the bundled {examples.unit}s", icon=":material/menu_book:"):
        st.code(text, language=None, wrap_lines=True)
    return Corpus.from_text(text, f"bundled {examples.unit}s")


def _pasted(examples: Source[Any], initial: str, max_lines: int) -> Corpus | None:
    text = st.text_area(
        f"{examples.unit.capitalize()}s, one per line",
        initial,
        key="pasted" if examples is SENTENCES else f"pasted {examples.name}",
        persist_state="session",
        height=160,
        placeholder=examples.example,
    )
    st.markdown(_PRIVACY_NOTE)
    if not text.strip():
        st.info(f"Paste up to {max_lines:,} {examples.unit}s, one per line.", icon=":material/edit:")
        st.code(examples.example, language=None, wrap_lines=True)
        return None
    return Corpus.from_text(text, "pasted text", max_lines)


def show_skipped(lines: int, reasons: Sequence[str]) -> None:
    """Draw the number of skipped lines and a folded list of `reasons`, in Markdown."""
    if not lines:
        return
    with st.expander(f"Skipped: {plural(lines, 'line')}", icon=":material/warning:"):
        st.markdown("\n".join(f"- {each}" for each in reasons))
        if lines > len(reasons):
            st.markdown(f"… and {lines - len(reasons):,} more.")
