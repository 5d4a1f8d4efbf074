"""Where a patch of a picture looks: in every head at a glance, and in one head over the picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from attnviz.app import controls, markdown
from attnviz.app.components.atlas import atlas
from attnviz.app.components.store import publish
from attnviz.app.page import stop
from attnviz.app.references import cited_markdown
from attnviz.app.senses import seeing
from attnviz.app.senses.patches import patches
from attnviz.app.senses.sense import FileSelection, choose, share, strongest
from attnviz.app.state.choices import PATCH
from attnviz.capture import loading
from attnviz.errors import AttnvizError
from attnviz.models.tokenizer import grid_of
from attnviz.text import head_name, percent, plural
from attnviz.trace import Trace

_STRETCHED = 0.02  # in the logarithm of width : height; less, nobody sees
_CUT = 0.005  # of a side; whole percents tell no less


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


def choose_picture() -> PictureSelection:
    """Draw the choice of model and picture; stop kindly where no model can see, or its files have gone."""
    chosen = choose()
    try:
        tokens = loading.tokens(chosen.entry.name, "a picture")
    except AttnvizError as error:
        stop(error, ":material/block:")
    rows, columns = grid_of(tokens)
    extras = tuple(token.text for token in tokens if token.special)
    return PictureSelection(**vars(chosen), rows=rows, columns=columns, extras=extras)


def choose_patch(chosen: PictureSelection) -> int:
    """Draw the choice of the token that looks, first the patch in the middle; return its number, from 0."""
    tokens = chosen.tokens
    middle = len(chosen.extras) + chosen.rows // 2 * chosen.columns + chosen.columns // 2
    return tokens.index(PATCH.select("Patch that looks", tokens, tokens[middle], width=320))


def tell_of_the_model(chosen: PictureSelection) -> None:
    """Say what the model is, and which tokens it has beside the patches."""
    controls.describe(chosen.entry.name)
    told, registers = "Beside the patches there is no token.", len(chosen.extras) - 1
    if chosen.extras:
        told = "Beside the patches there is **[CLS]**, whose last vector stands for the whole picture."
    if registers > 0:
        told += (
            f" Its **{plural(registers, 'register')}** are tokens that stand for nothing: without any, large "
            "models store what concerns the whole picture at patches of its background (Darcet et al. 2024)."
        )
    cited_markdown(f":small[{told}]")


def all_heads(chosen: PictureSelection, layer: int, head: int, query: int) -> str:
    """Draw every head's look at the picture; return the name under which the browser knows the numbers.

    Args:
        chosen: a picture that the model can see.
        layer, head: which head is open, from 0.
        query: the token that looks, from 0.
    """
    weights = seeing.weights(chosen.entry.name, chosen.example, chosen.file)
    layers, heads, _, tokens = weights.shape
    rows = weights[:, :, query].reshape(layers * heads, tokens)
    small = seeing.looks(weights, query, len(chosen.extras), chosen.rows).levels
    pixels = publish(
        "looks of a patch",
        {"rows": rows, "thumbnails": small.reshape(layers * heads, *small.shape[2:])},
        query=query,
    )
    atlas(
        "heads that see",
        pixels=pixels,
        layers=layers,
        heads=heads,
        selected={"layer": layer + 1, "heads": [head + 1]},
        facts=[f"looks most at {chosen.name(int(row.argmax()))} ({share(row.max())})" for row in rows],
        on_pick=lambda layer, head: controls.open_head(layer - 1, head - 1),
    )
    return pixels


def one_head(chosen: PictureSelection, trace: Trace, pixels: str, layer: int, head: int, query: int) -> None:
    """Draw one head's look over the picture, and write it out; arguments as in `all_heads`."""
    tokens = chosen.tokens
    shown = seeing.looked(chosen.entry.name, chosen.example, chosen.file).shown

    def pick(token: int) -> None:
        PATCH.set(tokens[token])

    patches(
        "patches",
        picture=shown.seen,
        whole=shown.whole,
        pixels=pixels,
        rows=chosen.rows,
        columns=chosen.columns,
        names=chosen.extras,
        layer=layer + 1,
        head=head + 1,
        heads=chosen.entry.heads,
        query=query,
        on_pick=pick,
    )
    how = _seen_how(shown)
    if how:
        width, height = shown.size
        st.markdown(
            f":small[The model saw this picture of {width:,} × {height:,} pixels {how}. So the large picture "
            "shows it; the little one is as it was.]"
        )
    row = trace.block("encoder", layer).weights[head, query]
    found = strongest(row, lambda token: f"*{markdown.plain(tokens[token])}*")
    st.markdown(
        f"In head {head_name(layer, head)}, *{markdown.plain(tokens[query])}* looks most at {found}. If it "
        f"looked at all {len(row)} tokens alike, each would get {share(1 / len(row))}."
    )


def _seen_how(shown: seeing.Shown) -> str:
    """What was done to a picture before a model saw it; "" where nobody sees it."""
    width, height = (percent(part) for part in shown.share)
    told = (
        (abs(np.log(shown.stretch)) > _STRETCHED, "stretched to the shape that all its pictures get"),
        (
            min(shown.share) < 1 - _CUT,
            f"without its edges: {width} of its width and {height} of its height are left",
        ),
    )
    return " and ".join(words for true, words in told if true)
