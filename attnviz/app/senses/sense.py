"""What the pages on pictures and on sounds share: a model, an example or a file of one's own, and files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import streamlit as st
from streamlit.runtime.scriptrunner import StopException

from attnviz.app import caches, controls, markdown
from attnviz.app.page import draw_copy_link
from attnviz.app.saving import file_name_of, npz_of, save_file
from attnviz.app.state import link
from attnviz.app.state.choice import OneOf
from attnviz.app.state.choices import MODEL
from attnviz.errors import AttnvizError
from attnviz.models import allowed
from attnviz.models.catalogue import Entry
from attnviz.text import percent
from attnviz.trace import Floats, Trace

OWN = "your own"
"""What the choice between the visitor's file and ours calls it."""

_MOST = 3  # tokens named in a sentence


@dataclass(frozen=True)
class Sense:
    """What a page on pictures or sounds is about, in words and in files.

    Attributes:
        what: "picture".
        does: what its models do: "sees pictures".
        has: whether a model does.
        how: how to open one that does, as Markdown.
        example: the choice among the names of ours and `OWN`.
        names: of ours.
        sample: one of ours by name, as a file.
        kinds, endings: which of a visitor's files can be read, and their endings; the server takes no file
            above its own `maxUploadSize`.
        trace: one forward pass of a model over the example of a name, which is this file.
        icon: of what cannot be read.
        holds: what a link holds beside the model: "the head and the patch".
    """

    what: str
    does: str
    has: Callable[[Entry], bool]
    how: str
    example: OneOf
    names: Collection[str]
    sample: Callable[[str], bytes]
    kinds: str
    endings: Sequence[str]
    trace: Callable[[str, str, bytes], Trace]
    icon: str
    holds: str


@dataclass(frozen=True)
class FileSelection:
    """A model, and a picture or a sound for it.

    Attributes:
        entry: of the model.
        example: what the trace calls the picture or the sound.
        file: with it; empty while it is missing.
        called: what the visitor calls the file; "" for one of ours.
    """

    entry: Entry
    example: str
    file: bytes
    called: str

    @property
    def missing(self) -> bool:
        """Whether the visitor's own file has not been uploaded yet."""
        return self.example == OWN and not self.called


def choose(sense: Sense) -> FileSelection:
    """Draw the choice of an example and a model; stop kindly where no model can take it."""
    entries = {entry.name: entry for entry in caches.usable() if sense.has(entry)}
    if not entries:
        _stop_without_model(sense)
    examples, beside = st.columns([8, 4], gap="medium")
    with examples:
        example = sense.example.segments(sense.what.capitalize(), [*sense.names, OWN])
    with beside:
        entry = entries[controls.model(list(entries.values()), offer_own=False)]
    if example != OWN:
        return FileSelection(entry, example, sense.sample(example), "")
    with examples:
        uploaded = st.file_uploader(
            f"A {sense.what} of your own: {sense.kinds}",
            sense.endings,
            help="The server keeps it in memory for a while, and never on a disk. A link cannot bring it "
            f"along: whoever opens yours uploads a {sense.what} of their own.",
        )
    return FileSelection(entry, example, *((uploaded.getvalue(), uploaded.name) if uploaded else (b"", "")))


def _stop_without_model(sense: Sense) -> NoReturn:
    link.forget()
    st.markdown(f"**No model on this server {sense.does} yet.**")
    if allowed.may_open():
        st.markdown(sense.how)
        st.page_link(
            "pages/models.py", label="Models", icon=":material/arrow_forward:", icon_position="right"
        )
    raise StopException  # as `page.stop` does


def forward(sense: Sense, chosen: FileSelection) -> Trace | None:
    """Run the model; without a file that it can take, say what helps, and return None.

    Those whom a link has led here are told that it holds no file, but all else.
    """
    if chosen.missing:
        if link.asked(sense.example) == [OWN]:
            st.info(
                f"**The {sense.what} is not in the link.** It holds the model, {sense.holds}. Upload the "
                f"{sense.what} here, and you see what the link shows.",
                icon=":material/upload_file:",
            )
        return None
    try:
        return sense.trace(chosen.entry.name, chosen.example, chosen.file)
    except AttnvizError as error:
        about = f"**{markdown.plain(chosen.called)}:** " if chosen.called else ""
        st.error(f"{about}{markdown.plain(str(error))}", icon=sense.icon)
        return None


def strongest(row: Floats, name: Callable[[int], str], bold: str = "**") -> str:
    """At which tokens one looks most: "row 3, column 5 **4.1 %**, …"; `bold` stands around each share."""
    most = np.argsort(-row, kind="stable")[:_MOST].tolist()
    return ", ".join(f"{name(token)} {bold}{share(row[token])}{bold}" for token in most)


def share(weight: float) -> str:
    """Of hundreds of tokens each gets so little that whole percents would all read alike."""
    return percent(weight, 1)


def save(sense: Sense, chosen: FileSelection, trace: Trace) -> None:
    """Draw the buttons; a visitor's own file can be in no link."""
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_copy_link([MODEL.name])
        save_file(
            "All heads (NPZ)",
            lambda: npz_of(trace),
            f"{file_name_of(f'{caches.called(trace.model)}-{chosen.example}')}.npz",
            f"Every query, key, value and weight of this {sense.what}: for Python, attnviz.Trace.load or "
            "numpy.load.",
        )
    if chosen.example == OWN:
        st.markdown(
            f":small[The link holds the model, {sense.holds}, and not your {sense.what}: whoever opens it "
            "uploads one there.]"
        )
