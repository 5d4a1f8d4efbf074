"""Where a patch looks: in every head at a glance, and in one head over the picture."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.app import caches, controls, markdown
from attnviz.app.components.atlas import atlas
from attnviz.app.components.store import publish
from attnviz.app.page import draw_copy_link
from attnviz.app.pictures import seeing
from attnviz.app.pictures.choosing import PictureForward, PictureSelection
from attnviz.app.pictures.patches import patches
from attnviz.app.saving import file_name_of, npz_of, save_file
from attnviz.app.state.choices import MODEL, PATCH
from attnviz.text import percent, plural
from attnviz.trace import Trace

_MOST = 3  # tokens named in the sentence
_STRETCHED = 0.02  # in the logarithm of width : height; less, nobody sees
_CUT = 0.005  # of a side; whole percents tell no less


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
    st.markdown(f":small[{told}]")


def all_heads(seen: PictureForward, layer: int, head: int, query: int) -> str:
    """Draw every head's look at the picture; return the name under which the browser knows the numbers."""
    layers, heads, _, tokens = seen.weights.shape
    rows = seen.weights[:, :, query].reshape(layers * heads, tokens)
    chosen = seen.chosen
    small = seeing.looks(seen.weights, query, len(chosen.extras), chosen.rows).levels
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
        selected={"layer": layer, "heads": [head]},
        facts=[f"looks most at {chosen.name(int(row.argmax()))} ({_percent(row.max())})" for row in rows],
        on_pick=_open_head,
    )
    return pixels


def one_head(seen: PictureForward, pixels: str, layer: int, head: int, query: int) -> None:
    """Draw one head's look over the picture, and write it out."""
    chosen, tokens = seen.chosen, seen.chosen.tokens
    shown = seeing.shown(chosen.entry.name, seen.file)

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
        layer=layer,
        head=head,
        heads=seen.weights.shape[1],
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
    st.markdown(in_words(seen, layer, head, query))


def _seen_how(shown: seeing.Shown) -> str:
    """What was done to a picture before a model saw it; "" where nobody sees it."""
    width, height = (percent(share) for share in shown.share)
    told = (
        (abs(np.log(shown.stretch)) > _STRETCHED, "stretched to the shape that all its pictures get"),
        (
            min(shown.share) < 1 - _CUT,
            f"without its edges: {width} of its width and {height} of its height are left",
        ),
    )
    return " and ".join(words for true, words in told if true)


def in_words(seen: PictureForward, layer: int, head: int, query: int) -> str:
    """The picture's sentence, as Markdown: who looks at whom most, in percent."""
    row = seen.weights[layer - 1, head - 1, query]
    strongest = np.argsort(-row, kind="stable")[:_MOST]
    found = ", ".join(
        f"*{markdown.plain(seen.chosen.name(int(token)))}* **{_percent(row[token])}**" for token in strongest
    )
    looks = f"In head {layer}-{head}, *{markdown.plain(seen.chosen.name(query))}* looks most at {found}."
    return f"{looks} If it looked at all {len(row)} tokens alike, each would get {_percent(1 / len(row))}."


def _open_head(layer: int, head: int) -> None:
    controls.open_head(layer - 1, head - 1)


def _percent(weight: float) -> str:
    """Of some two hundred patches each gets so little that whole percents would all read alike."""
    return percent(weight, 1)


def save(trace: Trace, own: bool) -> None:
    """Draw the buttons; a visitor's `own` picture can be in no link."""
    with st.container(horizontal=True, vertical_alignment="center"):
        draw_copy_link([MODEL.name])
        save_file(
            "All heads (NPZ)",
            lambda: npz_of(trace),
            f"{file_name_of(caches.called(trace.model))}.npz",
            "Every query, key, value and weight of this picture: for Python, attnviz.Trace.load or "
            "numpy.load.",
        )
    if own:
        st.markdown(
            ":small[The link holds the model, the head and the patch, and not your picture: whoever opens it "
            "uploads one there.]"
        )
