"""A model and a picture for it, one of ours or the visitor's own; and what can be saved of the two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import streamlit as st
from streamlit.runtime.scriptrunner import StopException

from attnviz.app import controls, markdown
from attnviz.app.models import lookup
from attnviz.app.page import draw_copy_link
from attnviz.app.saving import file_name_of, npz_of, save_file
from attnviz.app.senses import seeing
from attnviz.app.senses.picture_samples import SAMPLES
from attnviz.app.state import link
from attnviz.app.state.choices import MODEL, PICTURE
from attnviz.errors import AttnvizError
from attnviz.models import allowed
from attnviz.models.catalogue import Entry
from attnviz.models.tokenizer import PICTURE_FORMATS
from attnviz.text import percent
from attnviz.trace import Floats, Trace

OWN = "your own"
"""What the choice between the visitor's file and ours calls it."""

_MOST = 3  # tokens named in a sentence


@dataclass(frozen=True)
class FileSelection:
    """A model, and a picture for it.

    Attributes:
        entry: of the model.
        example: what the trace calls the picture.
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


def choose() -> FileSelection:
    """Draw the choice of an example and a model; stop kindly where no model can take it."""
    entries = {entry.name: entry for entry in lookup.usable() if entry.sees}
    if not entries:
        _stop_without_model()
    examples, beside = st.columns([8, 4], gap="medium")
    with examples:
        example = PICTURE.segments("Picture", [*SAMPLES, OWN])
    with beside:
        entry = entries[controls.model(list(entries.values()), offer_own=False)]
    if example != OWN:
        return FileSelection(entry, example, seeing.drawn(example), "")
    with examples:
        uploaded = st.file_uploader(
            f"A picture of your own: {', '.join(PICTURE_FORMATS[:-1])} or {PICTURE_FORMATS[-1]}",
            [kind.lower() for kind in PICTURE_FORMATS],  # Streamlit takes .jpg for .jpeg
            help="The server keeps it in memory for a while, and never on a disk. A link cannot bring it "
            "along: whoever opens yours uploads a picture of their own.",
        )
    return FileSelection(entry, example, *((uploaded.getvalue(), uploaded.name) if uploaded else (b"", "")))


def _stop_without_model() -> NoReturn:
    link.forget()
    st.markdown("**No model on this server sees pictures yet.**")
    if allowed.may_open():
        st.markdown(
            "Open a ViT, DINOv2, CLIP or SigLIP on the page on models: a folder of this machine, or an id on "
            "Hugging Face such as `google/vit-base-patch16-224` or "
            "`facebook/dinov2-with-registers-small`."
        )
        st.page_link(
            "pages/models.py", label="Models", icon=":material/arrow_forward:", icon_position="right"
        )
    raise StopException  # as `page.stop` does


def forward(chosen: FileSelection) -> Trace | None:
    """Run the model; without a file that it can take, say what helps, and return None.

    Those whom a link has led here are told that it holds no file, but all else.
    """
    if chosen.missing:
        if link.asked(PICTURE) == [OWN]:
            st.info(
                "**The picture is not in the link.** It holds the model, the head and the patch. Upload the "
                "picture here, and you see what the link shows.",
                icon=":material/upload_file:",
            )
        return None
    try:
        return seeing.trace(chosen.entry.name, chosen.example, chosen.file)
    except AttnvizError as error:
        about = f"**{markdown.plain(chosen.called)}:** " if chosen.called else ""
        st.error(f"{about}{markdown.plain(str(error))}", icon=":material/broken_image:")
        return None


def strongest(row: Floats, name: Callable[[int], str], bold: str = "**") -> str:
    """At which tokens one looks most: "row 3, column 5 **4.1 %**, …"; `bold` stands around each share."""
    most = np.argsort(-row, kind="stable")[:_MOST].tolist()
    return ", ".join(f"{name(token)} {bold}{share(row[token])}{bold}" for token in most)


def share(weight: float) -> str:
    """Of hundreds of tokens each gets so little that whole percents would all read alike."""
    return percent(weight, 1)


def save(chosen: FileSelection, trace: Trace) -> None:
    """Draw the buttons; a visitor's own file can be in no link."""
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_copy_link([MODEL.name])
        save_file(
            "All heads (NPZ)",
            lambda: npz_of(trace),
            f"{file_name_of(f'{lookup.called(trace.model)}-{chosen.example}')}.npz",
            "Every query, key, value and weight of this picture: for Python, attnviz.Trace.load or "
            "numpy.load.",
        )
    if chosen.example == OWN:
        st.markdown(
            ":small[The link holds the model, the head and the patch, and not your picture: whoever opens it "
            "uploads one there.]"
        )
