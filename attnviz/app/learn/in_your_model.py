"""The section "In your model": what a model of the visitor's choice itself does. It opens on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import streamlit as st

from attnviz.analysis.display_tokens import DisplayToken
from attnviz.app import caches, controls, head_names, markdown
from attnviz.app.state.choice import Token
from attnviz.app.state.choices import (
    IN_YOUR_MODEL,
    OWN_HEAD,
    OWN_KEY,
    OWN_KIND,
    OWN_LAYER,
    OWN_PAIR,
    OWN_PART,
    OWN_QUERY,
    TEXT,
)
from attnviz.app.weights_picture import weights_picture
from attnviz.capture.model import ModelInput
from attnviz.errors import AttnvizError
from attnviz.models.catalogue import Entry
from attnviz.trace import Block, Floats, Kind, Trace
from attnviz.widgets.tokens import shown_tokens

_SHOWN_TOKENS = 64

CHOICES = IN_YOUR_MODEL, OWN_KIND, OWN_PART, OWN_LAYER, OWN_HEAD, OWN_QUERY, OWN_KEY, OWN_PAIR
"""What can be chosen in the section."""

KINDS: dict[Kind, str] = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross"}
"""What a visitor calls each kind of attention."""


@contextmanager
def in_your_model(told: str) -> Iterator[Entry | None]:
    """Draw the section's frame and the choice of a model; give the model, None while the section is closed.

    What raises an `AttnvizError` inside ends the section with a kind word, and not the page. `told` is one
    sentence of Markdown on what is shown.
    """
    st.markdown(told)
    section = IN_YOUR_MODEL.expander("Choose a model and look into it", icon=":material/manage_search:")
    with section:
        entry = _choose_model() if section.open else None
        try:
            with head_names.of(entry.name if entry else "", TEXT.get("")):
                yield entry
        except AttnvizError as error:
            st.warning(markdown.plain(str(error)), icon=":material/edit:")


def read(entry: Entry, text: str) -> Trace:
    """What the model does with the page's sentence.

    Raises:
        AttnvizError: it cannot read it, or gives its weights alone.
    """
    found = caches.trace(entry.name, ModelInput(text))
    caches.need_vectors(found)
    return found


def choose_kind(kinds: Sequence[Kind]) -> Kind:
    """Draw the choice among these kinds of attention, where there are several."""
    if len(kinds) == 1:
        return kinds[0]
    names = {KINDS[kind]: kind for kind in kinds}
    return names[OWN_KIND.segments("Attention", list(names))]


def choose_head(blocks: Sequence[Block]) -> tuple[Block, int]:
    """Draw the choice of one of these layers and of a head; the head counts from 0."""
    layer_column, head_column = st.columns(2)
    with layer_column:
        numbers = [str(block.layer + 1) for block in blocks]
        layer = OWN_LAYER.select("Layer of this model", numbers)
    with head_column:
        heads = [str(head + 1) for head in range(len(blocks[0].query))]
        head = OWN_HEAD.select("Head of this model", heads)
    return blocks[numbers.index(layer)], heads.index(head)


def choose_pair(block: Block, trace: Trace) -> tuple[int, int]:
    """Draw the choice of a query and of a key that it may look at; both count from 0."""
    queries, keys = groups(block, trace)
    sentence = trace.model, trace.text
    query_column, key_column = st.columns(2)
    with query_column:
        query = _token(OWN_QUERY, "Token that looks (query)", queries, "it", sentence)
    with key_column:
        key = _token(OWN_KEY, "Token that is looked at (key)", keys, "dog", sentence)
    return query, key


def groups(block: Block, trace: Trace) -> tuple[tuple[DisplayToken, ...], tuple[DisplayToken, ...]]:
    """The tokens of a layer, with what they are called: queries and keys."""
    shown = caches.shown(trace.model, ModelInput(trace.text), block.kind, False, False)
    return shown[0].groups, shown[-1].groups


def picture(
    name: str, heading: str, note: str, values: Floats, trace: Trace, block: Block, head: int, *, scores: bool
) -> None:
    """Draw a head's scores or shares, [query, key], between the first tokens; hatched: its mask is closed."""
    st.subheader(heading, anchor=False)
    queries, keys = groups(block, trace)
    rows, columns = min(len(queries), _SHOWN_TOKENS), min(len(keys), _SHOWN_TOKENS)
    if (rows, columns) != block.mask.shape:
        note += f" The first {rows} × {columns} of {len(queries)} × {len(keys)} cells."
    weights_picture(
        name,
        np.where(block.mask, values, np.nan)[None, :rows, :columns].astype(np.float32),
        shown_tokens(queries)[:rows],
        shown_tokens(keys)[:columns],
        layer=block.layer + 1,
        heads=[head + 1],
        heading=heading,
        kind="diverging" if scores else "sequential",
        unit="score" if scores else "percent",
        note=note,
        filename=f"attnviz-{name}",
    )


def layers(numbers: tuple[int, ...]) -> str:
    """Layers that count from 0, in words: (0, 2, 4) → "layers 1, 3, 5"; neighbours as "layers 1–6"."""
    if len(numbers) == 1:
        return f"layer {numbers[0] + 1}"
    if numbers == tuple(range(numbers[0], numbers[-1] + 1)):
        return f"layers {numbers[0] + 1}–{numbers[-1] + 1}"
    return f"layers {', '.join(str(layer + 1) for layer in numbers)}"


def _choose_model() -> Entry | None:
    known = {entry.name: entry for entry in caches.usable()}
    if not known:
        st.warning("No model on this server can be used at the moment.", icon=":material/block:")
        return None
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = controls.model(list(known.values()))
    controls.describe(name)
    return known[name]


def _token(choice: Token, label: str, groups: Sequence[DisplayToken], word: str, sentence: object) -> int:
    return controls.token(groups, sentence, label, choice, controls.place_of(word, groups))
