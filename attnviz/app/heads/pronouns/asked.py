"""Which pairs the heads are asked: those that come with attnviz, or the visitor's own."""

from __future__ import annotations

import streamlit as st

from attnviz.app import markdown
from attnviz.app.state.choices import PAIRS
from attnviz.errors import AttnvizError
from attnviz.experiments import pairs
from attnviz.experiments.pairs import Pair

OURS, PASTED, UPLOADED = "Our pairs", "Paste pairs", "Upload pairs"

_MOST_MEGABYTES = 1


def choose_source() -> str:
    """Draw the choice where the pairs come from."""
    return PAIRS.segments("Pairs", (OURS, PASTED, UPLOADED))


def pairs_of(source: str) -> tuple[Pair, ...]:
    """The pairs, with a box for the visitor's own; none where they cannot be read, which is told."""
    if source == OURS:
        return pairs.bundled()
    example = "\n".join(pairs.FILE.read_text("utf-8").split("\n\n")[-1].splitlines()[1:3])
    st.markdown(
        "One pair a line: both nouns in `[ ]`, the pronoun in `* *`, and in `{ }` what differs, each with "
        "what the pronoun means then. Of two equal nouns the first is `dog#1`. A link does not bring them "
        "along."
    )
    if source == PASTED:
        text = st.text_area(
            "Pairs", example, key="pasted pairs", persist_state="session", height=130, placeholder=example
        )
    else:
        file = st.file_uploader(
            f"A text file in UTF-8, up to {pairs.MOST_PAIRS:,} pairs",
            ["txt"],
            max_upload_size=_MOST_MEGABYTES,
        )
        if file is None:
            return ()
        try:
            text = pairs.decoded(file.getvalue(), file.name)
        except AttnvizError as error:
            return _told(error)
    try:
        return pairs.parse(text)
    except AttnvizError as error:
        return _told(error)


def _told(error: AttnvizError) -> tuple[Pair, ...]:
    st.error(markdown.plain(str(error)), icon=":material/edit:")
    return ()
