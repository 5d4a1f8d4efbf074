"""What the page on pictures is about: a model, a picture, a head, and the patch that looks."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from attnviz.app import caches, controls, own_file
from attnviz.app.own_file import OWN, FileSelection
from attnviz.app.page import stop
from attnviz.app.pictures import seeing
from attnviz.app.pictures.samples import SAMPLES
from attnviz.app.state.choices import PATCH, PICTURE
from attnviz.capture import loading
from attnviz.errors import AttnvizError
from attnviz.models.tokenizer import PICTURE_FORMATS, grid_of
from attnviz.trace import Floats, Token, Trace

_MOST_MEGABYTES = 10
_KINDS = f"{', '.join(PICTURE_FORMATS[:-1])} or {PICTURE_FORMATS[-1]}"
_ENDINGS = [kind.lower() for kind in PICTURE_FORMATS]  # Streamlit takes .jpg for .jpeg


@dataclass(frozen=True)
class PictureSelection(FileSelection):
    """A model and a picture for it.

    Attributes:
        rows, columns: of patches.
        extras: the names of the tokens that come before the patches.
    """

    rows: int
    columns: int
    extras: tuple[str, ...]

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


@dataclass(frozen=True)
class PictureForward:
    """A model and a picture for it, the picture as a file, and the forward pass."""

    chosen: PictureSelection
    file: bytes
    trace: Trace

    @property
    def weights(self) -> Floats:
        """[layer, head, query, key]."""
        return seeing.weights(self.chosen.entry.name, self.trace.text, self.file)


def choose() -> PictureSelection:
    """Draw the choice of model and picture; stop kindly where no model can see."""
    names = seeing.names()
    if not names:
        own_file.no_model(
            "sees pictures",
            "Open a ViT, DINOv2, CLIP or SigLIP on the page on models: a folder of this machine, or an id on "
            "Hugging Face such as `google/vit-base-patch16-224` or `facebook/dinov2-with-registers-small`.",
        )
    pictures, beside = st.columns([8, 4], gap="medium")
    with pictures:
        picture = PICTURE.segments("Picture", [*SAMPLES, OWN])
    with beside:
        entries = [entry for entry in caches.usable() if entry.name in names]
        name = controls.model(entries, offer_own=False)
    entry = next(entry for entry in entries if entry.name == name)
    tokens = _tokens(name)
    file, called = (seeing.drawn(picture), "") if picture in SAMPLES else (None, "")
    if picture == OWN:
        with pictures:
            file, called = own_file.upload("picture", _KINDS, _ENDINGS, _MOST_MEGABYTES)
    rows, columns = grid_of(tokens)
    extras = tuple(token.text for token in tokens if token.special)
    return PictureSelection(entry, picture, file, called, rows, columns, extras)


def choose_head(chosen: PictureSelection) -> tuple[int, int]:
    """Draw the choice of layer and head; return both, from 1."""
    layer, head = controls.head(chosen.entry.layers, chosen.entry.heads, (1, 1))
    return layer + 1, head + 1


def choose_patch(chosen: PictureSelection) -> int:
    """Draw the choice of the token that looks, first the patch in the middle; return its number, from 0."""
    tokens = chosen.tokens
    middle = len(chosen.extras) + chosen.rows // 2 * chosen.columns + chosen.columns // 2
    return tokens.index(PATCH.select("Patch that looks", tokens, tokens[middle], width=320))


def see(chosen: PictureSelection) -> PictureForward | None:
    """Let the model look; without a picture that it can see, say what helps, and return None."""
    if chosen.file is None:
        own_file.missing(PICTURE, "picture", "the head and the patch")
        return None
    try:
        trace = seeing.trace(chosen.entry.name, chosen.example, chosen.file)
    except AttnvizError as error:
        chosen.tell(error, ":material/broken_image:")
        return None
    return PictureForward(chosen, chosen.file, trace)


def _tokens(model: str) -> tuple[Token, ...]:
    """What a model sees of any picture; stop kindly where its files have gone since."""
    try:
        return loading.tokens(model, "a picture")
    except AttnvizError as error:
        stop(error, ":material/block:")
