"""What the page on pictures is about: a model, a picture, a head, and the patch that looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from attnviz.app import caches, links, markdown
from attnviz.app.controls import one_of
from attnviz.app.pictures import seeing
from attnviz.app.pictures.samples import SAMPLES
from attnviz.capture import loading
from attnviz.capture.patches import FORMATS, grid
from attnviz.errors import AttnvizError
from attnviz.models import allowed
from attnviz.models.catalogue import Entry
from attnviz.trace import Floats, Token, Trace

PARAMETERS = ("model", "picture", "layer", "head", "patch")

OWN = "your own"
_MOST_MEGABYTES = 10
_KINDS = f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
_ENDINGS = [kind.lower() for kind in FORMATS]  # Streamlit takes .jpg for .jpeg


@dataclass(frozen=True)
class Chosen:
    """A model and a picture for it.

    Attributes:
        entry: of the model.
        picture: what the trace calls the picture.
        file: the picture, as a file; None while the visitor's own is missing.
        called: what the visitor calls the file; "" for a picture of ours.
        rows, columns: of patches.
        extras: the names of the tokens that come before the patches.
    """

    entry: Entry
    picture: str
    file: bytes | None
    called: str
    rows: int
    columns: int
    extras: tuple[str, ...]

    @property
    def own(self) -> bool:
        """Whether the picture is the visitor's, and so in no link."""
        return self.picture == OWN

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
class Seen:
    """A picture as a model saw it.

    Attributes:
        chosen: the model and the picture.
        file: the picture, as a file.
        trace: the forward pass.
    """

    chosen: Chosen
    file: bytes
    trace: Trace

    @property
    def weights(self) -> Floats:
        """[layer, head, query, key]."""
        return seeing.weights(self.chosen.entry.name, self.trace.text, self.file)


def choose() -> Chosen:
    """Draw the choice of model and picture; stop kindly where no model can see."""
    names = seeing.names()
    if not names:
        links.forget()
        _nobody_sees()
    controls, beside = st.columns([8, 4], gap="medium")
    with controls:
        picture = one_of("Picture", [*SAMPLES, OWN], next(iter(SAMPLES)), "picture")
    with beside:
        name = _choose_model(names)
    entry, tokens = caches.entry(name), _tokens(name)
    file, called = (seeing.drawn(picture), "") if picture in SAMPLES else (None, "")
    if picture == OWN:
        with controls:
            file, called = _uploaded()
    rows, columns = grid(tokens)
    extras = tuple(token.text for token in tokens if token.special)
    return Chosen(entry, picture, file, called, rows, columns, extras)


def choose_head(chosen: Chosen) -> tuple[int, int]:
    """Draw the choice of layer and head; return both, from 1."""
    for key, most in (("layer", chosen.entry.layers), ("head", chosen.entry.heads)):
        if st.session_state.get(key, 1) > most:
            st.session_state[key] = 1  # of a model that has more
    with st.container(horizontal=True):
        layer = st.number_input("Layer", 1, chosen.entry.layers, key="layer", bind="query-params", width=150)
        head = st.number_input("Head", 1, chosen.entry.heads, key="head", bind="query-params", width=150)
    return layer, head


def choose_patch(chosen: Chosen) -> int:
    """Draw the choice of the token that looks, first the patch in the middle; return its number, from 0."""
    tokens = chosen.tokens
    middle = len(chosen.extras) + chosen.rows // 2 * chosen.columns + chosen.columns // 2
    if st.session_state.get("patch") not in (*tokens, None):
        st.session_state["patch"] = tokens[middle]  # of a picture with more patches
    asked = st.selectbox("Patch that looks", tokens, middle, key="patch", bind="query-params", width=320)
    return tokens.index(asked)


def see(chosen: Chosen) -> Seen | None:
    """Let the model look; without a picture that it can see, say what helps, and return None."""
    if chosen.file is None:
        if links.asked("picture") == [OWN]:
            st.info(
                "**The picture is not in the link.** It holds the model, the head and the patch. Upload "
                "the picture here, and you see what the link shows.",
                icon=":material/upload_file:",
            )
        return None
    try:
        trace = seeing.trace(chosen.entry.name, chosen.picture, chosen.file)
    except AttnvizError as error:
        about = f"**{markdown.plain(chosen.called)}:** " if chosen.called else ""
        st.error(f"{about}{markdown.plain(str(error))}", icon=":material/broken_image:")
        return None
    return Seen(chosen, chosen.file, trace)


def _choose_model(names: Sequence[str]) -> str:
    """Draw the choice of one of these models."""
    if st.session_state.get("model") not in (*names, None):
        st.session_state["model"] = names[0]  # one that reads texts, from another page
    return st.selectbox("Model", names, key="model", bind="query-params")


def _tokens(model: str) -> tuple[Token, ...]:
    """What a model sees of any picture; stop kindly where its files have gone since."""
    try:
        return loading.tokens(model, "a picture")
    except AttnvizError as error:
        links.forget()
        st.error(markdown.plain(str(error)), icon=":material/block:")
        st.stop()


def _uploaded() -> tuple[bytes | None, str]:
    """Draw the box for a picture of the visitor's own; return the file and its name."""
    upload = st.file_uploader(
        f"A picture of your own: {_KINDS}",
        _ENDINGS,
        max_upload_size=_MOST_MEGABYTES,
        help="The server keeps it in memory for a while, and never on a disk. A link cannot bring it "
        "along: whoever opens yours uploads a picture of their own.",
    )
    return (upload.getvalue(), upload.name) if upload else (None, "")


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
