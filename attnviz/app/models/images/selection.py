"""A model and an image for it, an example or the visitor's own; and what can be saved of the two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import streamlit as st
from streamlit.runtime.scriptrunner import StopException

from attnviz.app import controls, markdown
from attnviz.app.models import lookup
from attnviz.app.models.images import computed
from attnviz.app.models.images.samples import SAMPLES
from attnviz.app.page import draw_copy_link, stop
from attnviz.app.saving import file_name_of, npz_of, save_file
from attnviz.app.state import link
from attnviz.app.state.choices import MODEL, PATCH, PICTURE
from attnviz.capture import loading
from attnviz.errors import AttnvizError
from attnviz.models import allowed
from attnviz.models.catalogue import Entry
from attnviz.models.tokenizer import PICTURE_FORMATS, grid_of
from attnviz.trace import Trace

OWN = "your own"
"""What the choice between the visitor's file and ours calls it."""


@dataclass(frozen=True)
class ImageSelection:
    """A model, and an image for it.

    Attributes:
        entry: of the model.
        example: what the trace calls the image.
        file: with it; empty while it is missing.
        called: the name of the visitor's file; "" for an example.
        rows, columns: of patches.
        extras: the names of the tokens that come before the patches.
    """

    entry: Entry
    example: str
    file: bytes
    called: str
    rows: int
    columns: int
    extras: tuple[str, ...]

    @property
    def missing(self) -> bool:
        """Whether the visitor's own file has not been uploaded yet."""
        return self.example == OWN and not self.called

    def name(self, token: int) -> str:
        """How a token is called: "[CLS]", "row 3, column 5"."""
        if token < len(self.extras):
            return self.extras[token]
        row, column = divmod(token - len(self.extras), self.columns)
        return f"row {row + 1}, column {column + 1}"

    @property
    def tokens(self) -> list[str]:
        """The names of all tokens."""
        return [self.name(token) for token in range(len(self.extras) + self.rows * self.columns)]


def choose() -> ImageSelection:
    """Draw the choice of an example and a model; stop where there is no model, or its files have gone."""
    entries = [entry for entry in lookup.usable() if entry.sees]
    if not entries:
        _stop_without_model()
    examples, beside = st.columns([8, 4], gap="medium")
    with examples:
        example = PICTURE.segments("Image", [*SAMPLES, OWN])
    with beside:
        entry = controls.model(entries, offer_own=False)
    file, called = b"", ""
    if example != OWN:
        file = computed.drawn(example)
    else:
        with examples:
            uploaded = st.file_uploader(
                f"An image of your own: {', '.join(PICTURE_FORMATS[:-1])} or {PICTURE_FORMATS[-1]}",
                [kind.lower() for kind in PICTURE_FORMATS],  # Streamlit takes .jpg for .jpeg
                help="The server keeps it in memory for a while, and never on a disk. A link cannot bring it "
                "along: whoever opens yours uploads an image of their own.",
            )
        if uploaded:
            file, called = uploaded.getvalue(), uploaded.name
    try:
        tokens = loading.tokens(entry.name, "an image")
    except AttnvizError as error:
        stop(error, ":material/block:")
    rows, columns = grid_of(tokens)
    extras = tuple(token.text for token in tokens if token.special)
    return ImageSelection(entry, example, file, called, rows, columns, extras)


def choose_patch(chosen: ImageSelection) -> int:
    """Draw the choice of the query token, first the patch in the middle; return its number, from 0."""
    tokens = chosen.tokens
    middle = len(chosen.extras) + chosen.rows // 2 * chosen.columns + chosen.columns // 2
    return tokens.index(PATCH.select("Query patch", tokens, tokens[middle], width=320))


def _stop_without_model() -> NoReturn:
    link.forget()
    st.markdown("**No model on this server reads images yet.**")
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


def forward(chosen: ImageSelection) -> Trace | None:
    """Run the model; without a usable file, show what helps, and return None.

    Visitors who came by a link learn that it contains no file, but everything else.
    """
    if chosen.missing:
        if link.requested(PICTURE) == [OWN]:
            st.info(
                "**The image is not in the link.** It holds the model, the head and the patch. Upload the "
                "image here, and you see what the link shows.",
                icon=":material/upload_file:",
            )
        return None
    try:
        return computed.trace(chosen.entry, chosen.example, chosen.file)
    except AttnvizError as error:
        about = f"**{markdown.plain(chosen.called)}:** " if chosen.called else ""
        st.error(f"{about}{markdown.plain(str(error))}", icon=":material/broken_image:")
        return None


def save(chosen: ImageSelection, trace: Trace) -> None:
    """Draw the buttons; a visitor's own file can be in no link."""
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_copy_link([MODEL.name])
        save_file(
            "All heads (NPZ)",
            lambda: npz_of(trace),
            f"{file_name_of(f'{lookup.called(chosen.entry)}-{chosen.example}')}.npz",
            "Every query, key, value and weight of this picture: for Python, attnviz.Trace.load or "
            "numpy.load.",
        )
    if chosen.example == OWN:
        st.markdown(
            ":small[The link holds the model, the head and the patch, and not your image: whoever opens it "
            "uploads one there.]"
        )
