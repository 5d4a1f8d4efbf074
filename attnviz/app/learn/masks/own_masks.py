"""The masks that the chosen model itself had when it read the sentence, layer by layer."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.analysis.sentence import looks
from attnviz.app import markdown, warm_up
from attnviz.app.learn import in_your_model
from attnviz.app.learn.computed import masks as compute
from attnviz.models.catalogue import Entry
from attnviz.text import head_name
from attnviz.trace import Kind, Trace

_WHO: dict[Kind, str] = {
    "encoder": "each token of the text",
    "decoder": "each token of the decoder’s text",
    "cross": "each token of the decoder’s text, looking at the encoder’s,",
}

CODE = (("attnviz.app.learn.masks.compute", "own_masks", "shape_of"),)


def draw(text: str) -> None:
    """Draw the section: the masks of a model of the visitor's choice, on the sentence of the page."""
    told = "A model of your choice reads the sentence, under its own masks."
    with in_your_model.in_your_model(told) as entry:
        if entry is None:
            return
        if entry.sees:
            warm_up.model(entry.name)
            _tell(entry, compute.masks_for_pictures(entry.name))
            st.markdown("It reads no sentence. The page *Pictures* shows where its patches look.")
            return
        trace = in_your_model.read(entry, text)
        masks = compute.own_masks(trace)
        _tell(entry, masks)
        _picture(trace, masks)


def _tell(entry: Entry, masks: tuple[compute.OwnMask, ...]) -> None:
    st.markdown("\n".join(f"- {_in_words(entry, mask)}" for mask in masks))


def _in_words(entry: Entry, own: compute.OwnMask) -> str:
    """One mask in a sentence, as Markdown: "**Encoder, layers 1–6: no mask.** …"."""
    shape, where = own.shape, in_your_model.layers(own.layers)
    kind = f"{in_your_model.KINDS[own.kind]}, " if len(entry.kinds) > 1 else ""
    rows, columns = own.mask.shape
    who = "each patch of the picture" if entry.sees else _WHO[own.kind]
    if shape.kind == "none":
        called, means = "nothing closed", f"{who} may look at all {columns}"
    elif shape.kind == "causal":
        called, means = "causal", f"{who} sees itself and what comes before, and nothing that comes after"
    elif shape.kind == "window" and shape.after == 0:
        called = f"causal, with a window of {shape.before + 1}"
        means = f"{who} sees itself and the {shape.before} before it, and nothing that comes after"
    elif shape.kind == "window":
        called = f"a window of {shape.before + shape.after + 1}"
        means = f"{who} sees itself, {shape.before} before it and {shape.after} after it"
    else:
        called, means = "a mask of its own", "see the picture for who may look at whom"
    said = f"**{_as_a_sentence(kind + where)}: {called}.** {_as_a_sentence(means)}."
    if shape.closed:
        said += f" {shape.closed:,} of {rows * columns:,} cells are closed."
    return said


def _as_a_sentence(words: str) -> str:
    return words[0].upper() + words[1:]


def _picture(trace: Trace, masks: tuple[compute.OwnMask, ...]) -> None:
    present = dict.fromkeys(mask.kind for mask in masks)
    kind = in_your_model.choose_kind(list(present))
    block, head = in_your_model.choose_head(trace.of_kind(kind))
    own = next(mask for mask in masks if mask.kind == kind and block.layer in mask.layers)
    queries, keys = in_your_model.groups(block, trace)
    mask_column, weights_column = st.columns(2, gap="large")
    with mask_column:
        heading = f"The mask of {in_your_model.layers(own.layers)}"
        if block.mask.all():
            st.subheader(heading, anchor=False)
            st.markdown(f"There is nothing to draw: all {len(queries)} × {len(keys)} cells are open.")
        else:
            note = "The mask adds 0 to the score where a cell is open, −∞ where it is hatched."
            nothing = np.zeros(block.mask.shape, np.float32)
            in_your_model.picture("own-mask", heading, note, nothing, trace, block, head, scores=True)
    with weights_column:
        heading = f"The weights of head {head_name(block.layer, head)} under it"
        closed = "" if block.mask.all() else "Hatched: closed, so exactly 0. "
        sink = "" if block.sinks is None else " and the head’s sink, which is no token"
        note = f"{closed}Each row shares 100 % among its open cells{sink}."
        in_your_model.picture(
            "own-weights", heading, note, block.weights[head], trace, block, head, scores=False
        )
    last = len(queries) - 1
    told = markdown.shares(looks(block.weights[head], last, queries, keys).keys)
    st.markdown(
        f"The last token, {markdown.token(last, queries)}, may look at "
        f"{int(block.mask[last].sum())} of {len(keys)}, and looks at {told}."
    )
