"""What the heads are watched on: the visitor's sentence, or many sentences from three sources."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from attnviz.app import markdown
from attnviz.app.heads import choosing
from attnviz.app.state import memory
from attnviz.app.state.choices import SOURCE, WATCHED_ON
from attnviz.experiments import behaviour
from attnviz.experiments.corpus import MOST_MEGABYTES, Corpus
from attnviz.models.catalogue import Entry
from attnviz.text import plural

SENTENCE, MANY = "Your sentence", "Many sentences"
BUNDLED, PASTED, UPLOADED = "Bundled", "Paste", "Upload"

MOST_LINES = 10_000
"""How many sentences this page reads of one text; the command line reads any number."""

_KEPT = "the text that the visitor uploaded"
_NOT_IN_THE_LINK = (
    ":small[The server keeps your text in memory for a while, and never on a disk. A link cannot bring it "
    "along: whoever opens yours gives a text of their own, or takes the bundled one.]"
)


def choose() -> str:
    """Draw the choice between one sentence and many; return where those come from, "" for one sentence."""
    many = WATCHED_ON.segments("What the heads are watched on", (SENTENCE, MANY)) == MANY
    return SOURCE.segments("Sentences", (BUNDLED, PASTED, UPLOADED)) if many else ""


def sentence(source: str, entry: Entry) -> str:
    """Draw the box for the one sentence; where many are read, it is not seen.

    Raises:
        AttnvizError: the model cannot read the one sentence.
    """
    if not source:
        return choosing.sentence(entry)
    choosing.unread_sentence(entry)
    return ""


def corpus(source: str, max_lines: int = MOST_LINES) -> Corpus | None:
    """Draw what the source needs; return its text, None as long as the visitor has given none.

    Args:
        source: `BUNDLED`, `PASTED` or `UPLOADED`.
        max_lines: maximum number of lines of a pasted text.

    Raises:
        AttnvizError: it is no text, or too long.
    """
    if source == PASTED:
        return _pasted(max_lines)
    if source == UPLOADED:
        return _uploaded()
    _read()
    return bundled()


def bundled() -> Corpus:
    """The sentences that come with attnviz."""
    return Corpus.from_text(behaviour.bundled(), "the bundled sentences")


def _read() -> None:
    """Draw the bundled sentences, behind a button."""
    text = behaviour.bundled()
    with st.popover(f"Read the {len(text.splitlines())} sentences", icon=":material/menu_book:"):
        st.markdown(
            "Statements, questions, lists, quotations, relative clauses, numbers: written for attnviz, one a "
            "line, and free to use as attnviz is."
        )
        st.code(text, language=None, wrap_lines=True)


def _pasted(max_lines: int) -> Corpus | None:
    text = st.text_area(
        "Sentences, one a line",
        key="pasted",
        persist_state="session",
        height=160,
        placeholder="The ferry was late again.\nWho left the gate open?",
    )
    st.markdown(_NOT_IN_THE_LINK)
    if not text.strip():
        st.info(f"Paste some sentences, one a line: up to {max_lines:,}.", icon=":material/edit:")
        return None
    return Corpus.from_text(text, "the pasted text", max_lines)


def tell_unread(lines: int, named: Sequence[str]) -> None:
    """Draw how many lines could not be read, and behind a click why: `named`, in Markdown."""
    if not lines:
        return
    with st.expander(f"{plural(lines, 'line')} could not be read", icon=":material/warning:"):
        st.markdown("\n".join(f"- {each}" for each in named))
        if lines > len(named):
            st.markdown(f"… and {lines - len(named):,} more.")


def _uploaded() -> Corpus | None:
    file = st.file_uploader(
        f"A text file in UTF-8, one sentence a line: up to {MOST_LINES:,}",
        ["txt"],
        max_upload_size=MOST_MEGABYTES,
        on_change=memory.forget,
        args=(_KEPT,),
    )
    if file and not memory.has(_KEPT):  # once for each file: it is read to its end, and hashed
        memory.put(_KEPT, Corpus.from_bytes(file.getvalue(), file.name, MOST_LINES))
    kept: Corpus | None = memory.get(_KEPT)
    if kept and not file:  # the box forgets its file when another source, or page, is looked at
        st.markdown(f"Still here: {markdown.code(kept.name)}, {plural(kept.lines, 'line')}.")
    st.markdown(_NOT_IN_THE_LINK)
    return kept
