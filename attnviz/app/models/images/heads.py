"""The attention of one token: in all heads at a glance, and in one head over the image."""

from __future__ import annotations

import re

import numpy as np
import streamlit as st

from attnviz.analysis.picture import sequential
from attnviz.app import controls, markdown
from attnviz.app.components.atlas import atlas
from attnviz.app.components.store import publish
from attnviz.app.models.images import computed, selection
from attnviz.app.models.images.patches import patches
from attnviz.app.models.images.selection import ImageSelection
from attnviz.app.references import cited_markdown
from attnviz.app.state import link, memory
from attnviz.app.state.choices import HEAD, LAYER, PATCH
from attnviz.models.catalogue import SHAPES
from attnviz.text import head_name, percent
from attnviz.trace import Floats, Trace
from attnviz.trained.shapes import figures, pictures

_MAX_LISTED = 2  # patches or words
_INITIAL_HEAD = "the initial head"


def initial_head(chosen: ImageSelection) -> tuple[int, int]:
    """Return the initial layer and head, from 1.

    For the bundled shapes model, this is the head measured for a colour or for a shape, as named in the text.
    """
    if chosen.entry.name != SHAPES:
        return 1, 1
    found, names_colour = figures.stored(), set(chosen.extras) & set(pictures.COLOURS)
    return (found.by_colour if names_colour else found.by_shape).head


def choose_head(chosen: ImageSelection) -> tuple[int, int]:
    """Draw the controls for a layer, and for a head unless the mean is shown; return both, from 0.

    If the default head is open and the default changes with the text, the new default head is opened.
    """
    first = initial_head(chosen)
    before = memory.get(_INITIAL_HEAD, first)
    if before != first:
        opened = LAYER.get(before[0]), HEAD.get(before[1])
        layer, head = first if opened == before else opened
        LAYER.set(layer)  # set it even if unchanged: links omit defaults, and the default changed
        HEAD.set(head)
    memory.put(_INITIAL_HEAD, first)
    if not chosen.mean:
        return controls.head(chosen.layers, chosen.heads, first)
    memory.keep_picked()
    link.number(HEAD, chosen.entry.heads)  # keep HEAD in the link while the mean is shown
    return LAYER.draw("Layer", chosen.layers, first[0]) - 1, 0


def describe_answer(chosen: ImageSelection) -> None:
    """Draw the two most probable next words, if the model reads text."""
    if not chosen.entry.images:
        return
    _, expected = computed.read(chosen.entry, chosen.file, chosen.prompt)
    first, second = expected.candidates[:2]
    _write(
        f"Most probable next words: **{markdown.plain(first.text.strip())}** ({percent(first.probability)}), "
        f"{markdown.plain(second.text.strip())} ({percent(second.probability)})."
    )


def describe_model(chosen: ImageSelection) -> None:
    """Draw the model's description, and its stored results or its tokens other than patches."""
    controls.describe(chosen.entry)
    if chosen.entry.images:
        if chosen.entry.name == SHAPES:
            _describe_figures()
            selection.describe_real_models()
        return
    message, registers = "There are no tokens other than the patches.", len(chosen.extras) - 1
    if chosen.extras:
        message = "Besides the patches, there is **[CLS]**; its final vector represents the image."
    if registers > 0:
        message += (
            f" Registers: **{registers}**. Without these extra tokens, large models store global information "
            "in background patches (Darcet et al. 2024)."
        )
    cited_markdown(f":small[{message}]")


def _describe_figures() -> None:
    found = figures.stored()
    sentences = []
    for kind, measured in (("shape", found.by_shape), ("colour", found.by_colour)):
        low, high = map(percent, measured.interval)
        sentences.append(
            f"In head {'-'.join(map(str, measured.head))}, the mean weight from a {kind} word to "
            f"the matching patch is {percent(measured.weight)} (95 % confidence interval: {low} to {high}; "
            f"other heads: up to {percent(measured.other_heads[1])})."
        )
    st.markdown(
        f":small[The model answers {found.right} of {found.pictures} held-out questions correctly. "
        f"{' '.join(sentences)} Uniform attention: {percent(found.uniform)}.]"
    )


def shows_received(chosen: ImageSelection, query: int) -> bool:
    """Return whether weights on the token are shown, not from it: for patches, if the model reads text."""
    return chosen.entry.images and query >= chosen.words


def weights_of(chosen: ImageSelection, trace: Trace, query: int) -> Floats:
    """Return the weights from a token, or on it if `shows_received`: [layer, head (1 if mean), token]."""
    place = chosen.places[query]
    found = computed.weights_of(trace, chosen.places, place, received=shows_received(chosen, query))
    return found.mean(axis=1, keepdims=True) if chosen.mean else found


def all_heads(chosen: ImageSelection, trace: Trace, layer: int, head: int, query: int) -> str:
    """Draw all heads over the picture; return the name of the published arrays.

    Args:
        chosen: The selected model and picture.
        trace: The picture's trace.
        layer, head: The open head, from 0.
        query: The query token, from 0.
    """
    weights = weights_of(chosen, trace, query)
    layers, heads, tokens = weights.shape
    rows = weights.reshape(layers * heads, tokens)
    at_patches = np.nan_to_num(rows[:, len(chosen.extras) :]).reshape(layers * heads, chosen.rows, -1)
    high = float(at_patches.max()) or 1.0  # one scale for all heads
    small = sequential(np.ascontiguousarray(at_patches / high)).levels
    pixels = publish("weights of a patch", {"rows": rows, "thumbnails": small}, query=query)

    def pick(layer: int, head: int) -> None:
        if chosen.mean:
            memory.pick({LAYER.name: layer})
        else:
            controls.open_head(layer - 1, head - 1)

    verb = "largest weight from" if shows_received(chosen, query) else "attends most to"
    atlas(
        "attention heads",
        pixels=pixels,
        layers=layers,
        heads=heads,
        selected={"layer": layer + 1, "heads": [head + 1]},
        facts=[
            f"{verb} {chosen.name(int(np.nanargmax(row)))} ({weight_percent(float(np.nanmax(row)))})"
            for row in rows
        ],
        column_labels=["Mean"] if chosen.mean else None,
        on_pick=pick,
    )
    st.markdown(f":small[Patch weights, all on one scale: 0 to {weight_percent(high)}.]")
    return pixels


def one_head(chosen: ImageSelection, trace: Trace, pixels: str, layer: int, head: int, query: int) -> None:
    """Draw one head's attention over the picture; arguments as in `all_heads`."""
    tokens = chosen.tokens
    shown = (
        computed.view(trace, chosen.patches)
        if chosen.patches
        else computed.processed(chosen.entry, chosen.example, chosen.file).shown
    )

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
        heads=chosen.heads,
        query=query,
        words=chosen.words,
        box=shown.box,
        on_pick=pick,
    )


def describe_weights(chosen: ImageSelection, trace: Trace, layer: int, head: int, query: int) -> None:
    """Write one head's largest weights, on patches and on other tokens; arguments as in `all_heads`."""
    row = weights_of(chosen, trace, query)[layer, head]
    num_extras = len(chosen.extras)
    kind = "words" if not np.isnan(row[: chosen.words]).all() else "other tokens"
    groups = {
        "patches": _largest(chosen, row[num_extras:], num_extras),
        kind: _largest(chosen, row[:num_extras], 0),
    }
    received = shows_received(chosen, query)
    where = (
        f"the mean over the heads of layer {layer + 1}" if chosen.mean else f"head {head_name(layer, head)}"
    )
    _write(
        f"Largest weights {'on' if received else 'of'} *{markdown.plain(chosen.name(query))}* in {where}:\n\n"
        + "\n".join(f"- {name}: {largest}" for name, largest in groups.items() if largest)
    )
    if not received:
        _write(f"Uniform attention: {weight_percent(1 / np.isfinite(row).sum())} each.")


def _write(sentence: str) -> None:
    """Write a sentence with non-breaking spaces in percentages, such as "< 1 %"."""
    st.markdown(re.sub(r"(?<=[<>]) | (?=%)", "\N{NO-BREAK SPACE}", sentence))


def _largest(chosen: ImageSelection, row: Floats, start: int) -> str:
    """Return the largest weights of `row` and their tokens; `start` is the index of the row's first token."""
    largest = [at for at in np.argsort(-row, kind="stable").tolist() if np.isfinite(row[at])][:_MAX_LISTED]
    return "; ".join(
        f"*{markdown.plain(chosen.name(start + at))}* (**{weight_percent(row[at])}**)" for at in largest
    )


def weight_percent(weight: float) -> str:
    """Format a weight with one decimal: whole percentages of hundreds of tokens would all be equal."""
    return percent(weight, 1)
