"""The input for testing heads: the visitor's sentence, or many sentences."""

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
"""Maximum number of sentences of a text on this page; the command line has no maximum."""

_NOT_IN_THE_LINK = (
    ":small[The server keeps your text in memory for a while, never on a disk. Links do not contain it: "
    "others who open your link use the bundled text or another one.]"
)


def corpus(
    source: str, of: Source[Any] = SENTENCES, first: str = "", max_lines: int = MAX_LINES
) -> Corpus | None:
    """Draw the controls of the source; return its text, or None if the visitor has not entered one.

    Args:
        source: One of `SOURCES`.
        of: Kind of examples.
        first: Initial text in the box.
        max_lines: Maximum number of lines of a pasted text.

    Raises:
        AttnvizError: the file is not a text, or is too long.
    """
    if source == PASTED:
        return _pasted(of, first, max_lines)
    text = of.bundled()
    with st.popover(f"Read the bundled {of.unit}s", icon=":material/menu_book:"):
        st.code(text, language=None, wrap_lines=True)
    return Corpus.from_text(text, f"the bundled {of.unit}s")


def _pasted(of: Source[Any], first: str, max_lines: int) -> Corpus | None:
    text = st.text_area(
        f"{of.unit.capitalize()}s, one per line",
        first,
        key="pasted" if of is SENTENCES else f"pasted {of.name}",
        persist_state="session",
        height=160,
        placeholder=of.example,
    )
    st.markdown(_NOT_IN_THE_LINK)
    if not text.strip():
        st.info(f"Paste up to {max_lines:,} {of.unit}s, one per line.", icon=":material/edit:")
        st.code(of.example, language=None, wrap_lines=True)
        return None
    return Corpus.from_text(text, "the pasted text", max_lines)


def show_skipped(lines: int, named: Sequence[str]) -> None:
    """Draw how many lines could not be read, and a folded list of reasons: `named`, in Markdown."""
    if not lines:
        return
    with st.expander(f"{plural(lines, 'line')} could not be read", icon=":material/warning:"):
        st.markdown("\n".join(f"- {each}" for each in named))
        if lines > len(named):
            st.markdown(f"… and {lines - len(named):,} more.")
