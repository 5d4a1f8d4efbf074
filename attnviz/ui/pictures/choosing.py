"""What the page on pictures is about: a model, a picture, a head, and the patch that looks."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from attnviz.capture import allowed
from attnviz.capture.patches import grid
from attnviz.errors import AttnvizError
from attnviz.trace import Floats, Trace
from attnviz.ui import links, markdown
from attnviz.ui.controls import one_of
from attnviz.ui.pictures import seeing
from attnviz.ui.pictures.samples import SAMPLES

PARAMETERS = ("model", "picture", "layer", "head", "patch")

OWN = "your own"
_MOST_MEGABYTES = 10
_KINDS = ("png", "jpg", "jpeg")


@dataclass(frozen=True)
class Seen:
    """A picture as a model saw it.

    Attributes:
        model: its name.
        file: the picture, as a file.
        trace: the forward pass.
        rows, columns: of patches.
        extras: the names of the tokens that come before the patches.
    """

    model: str
    file: bytes
    trace: Trace
    rows: int
    columns: int
    extras: tuple[str, ...]

    @property
    def weights(self) -> Floats:
        """[layer, head, query, key]."""
        return seeing.weights(self.model, self.trace.text, self.file)

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


def choose() -> Seen:
    """Draw the choice of model and picture; stop kindly while there is none."""
    names = seeing.names()
    if not names:
        links.forget()
        _nobody_sees()
    controls, beside = st.columns([8, 4], gap="medium")
    with controls:
        picture = one_of("Picture", [*SAMPLES, OWN], next(iter(SAMPLES)), "picture")
    with beside:
        if st.session_state.get("model") not in (*names, None):
            st.session_state["model"] = names[0]  # one that reads texts, from another page
        model = st.selectbox("Model", names, key="model", bind="query-params")
    file = seeing.drawn(picture) if picture in SAMPLES else _uploaded(controls)
    try:
        trace = seeing.trace(model, picture, file)
    except AttnvizError as error:
        links.forget()
        st.error(markdown.plain(str(error)), icon=":material/broken_image:")
        st.stop()
    tokens = trace.of_kind("encoder")[0].query_tokens
    rows, columns = grid(tokens)
    extras = tuple(token.text for token in tokens if token.special)
    return Seen(model, file, trace, rows, columns, extras)


def choose_head(seen: Seen) -> tuple[int, int]:
    """Draw the choice of layer and head; return both, from 1."""
    layers, heads = seen.weights.shape[:2]
    for key, most in (("layer", layers), ("head", heads)):
        if st.session_state.get(key, 1) > most:
            st.session_state[key] = 1  # of a model that has more
    with st.container(horizontal=True):
        layer = st.number_input("Layer", 1, layers, key="layer", bind="query-params", width=150)
        head = st.number_input("Head", 1, heads, key="head", bind="query-params", width=150)
    return layer, head


def choose_patch(seen: Seen) -> int:
    """Draw the choice of the token that looks, first the patch in the middle; return its number, from 0."""
    tokens = seen.tokens
    middle = len(seen.extras) + seen.rows // 2 * seen.columns + seen.columns // 2
    if st.session_state.get("patch") not in (*tokens, None):
        st.session_state["patch"] = tokens[middle]  # of a picture with more patches
    chosen = st.selectbox("Patch that looks", tokens, middle, key="patch", bind="query-params", width=320)
    return tokens.index(chosen)


def _uploaded(place: st.delta_generator.DeltaGenerator) -> bytes:
    with place:
        upload = st.file_uploader(
            "A picture of your own: PNG or JPEG",
            _KINDS,
            max_upload_size=_MOST_MEGABYTES,
            help="The server keeps it in memory for a while, and never on a disk. A link cannot bring it "
            "along: whoever opens yours chooses a picture of their own.",
        )
        if upload is None:
            st.stop()
    return upload.getvalue()


def _nobody_sees() -> None:
    st.markdown("**No model on this server sees pictures yet.**")
    if allowed.may_open():
        st.markdown(
            "Open one of the family `vit` on the page on models: a folder of this machine, or an id on "
            "Hugging Face such as `google/vit-base-patch16-224`."
        )
        st.page_link(
            "pages/models.py", label="Models", icon=":material/arrow_forward:", icon_position="right"
        )
    st.stop()
