"""Everything the server keeps between two clicks, and how much of it.

All keys are short texts, numbers and flags: Streamlit samples large arrays when it hashes them, so an array
must never be a key. All values are shared by every visitor and read-only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isqrt
from typing import Literal

import numpy as np
import streamlit as st

from attnviz.analysis.behaviour import Behaviour, behaviours
from attnviz.analysis.behaviour import facts as describe
from attnviz.analysis.change import Change, change, largest_moves
from attnviz.analysis.picture import Levels, Picture, Scale, diverging, sequential, thumbnails
from attnviz.analysis.sentence import percent, signed_percent
from attnviz.analysis.shown import Group, Shown, shown_mask, shown_scores, shown_weights
from attnviz.analysis.stages import at_stage
from attnviz.app import warm_up
from attnviz.app.kept import kept
from attnviz.capture import loading, stored
from attnviz.capture.model import ModelInput, Prediction
from attnviz.errors import AttnvizError
from attnviz.models import resolve
from attnviz.models.allowed import public as chosen_by_operator
from attnviz.models.catalogue import Downloaded, Entry, Folder
from attnviz.models.tokenizer import tokenizer_of
from attnviz.trace import Floats, Kind, Mask, Trace

WEIGHTS = "weights"

MOST_WEIGHTS = 2**25
"""The most weights that the page holds of one reading, over all heads of one kind: 134 MB.

A model of 12 × 12 heads may read 482 tokens, one of 24 × 16 heads 295.
"""

_MOST_BYTES = 2**28  # of each kind of thing that grows with the model and the text

EVERYWHERE = "All"
BETWEEN = {EVERYWHERE: (None, None), "A→A": (0, 0), "A→B": (0, 1), "B→A": (1, 0), "B→B": (1, 1)}
"""Of a pair of sentences, whose tokens look and whose are looked at; None: both sentences'."""

SENTENCES = (" ᴬ", " ᴮ")
"""What stands behind a token of the first and of the second sentence of a pair."""


_stamps: dict[str, str] = {}  # by which a model's files were known when they were last looked at

Unit = Literal["percent", "signed percent", "score"]


@dataclass(frozen=True)
class View:
    """What defines the pictures of all heads, whichever head is open; a key of the caches.

    Attributes:
        model: its name.
        kind: which of its attentions: "encoder", "decoder" or "cross".
        given: what it reads; in a change, first.
        changed: what the change leads to, or None.
        stage: a name in `analysis.stages.STAGES`.
        scale: "shared" or "per head".
        hide, merge: special tokens hidden, word pieces merged.
        between: a key of `BETWEEN`.
    """

    model: str
    kind: Kind
    given: ModelInput
    changed: ModelInput | None
    stage: str
    scale: Scale
    hide: bool
    merge: bool
    between: str = EVERYWHERE

    @property
    def signed(self) -> bool:
        """True where numbers can be negative: scores, and every change."""
        return self.changed is not None or self.stage != WEIGHTS

    @property
    def unit(self) -> Unit:
        """How a number of this view is read: "percent", "signed percent" or "score"."""
        if self.stage != WEIGHTS:
            return "score"
        return "signed percent" if self.changed is not None else "percent"


@st.cache_resource(max_entries=64, ttl=30, show_spinner=False)
def looked_up(model: str) -> Entry | AttnvizError:
    """What is known of a model, or why it cannot be shown; looked at again after half a minute."""
    try:
        return resolve.entry(model)
    except AttnvizError as error:  # which may have cost a question to the hub
        return error


def entry(model: str) -> Entry:
    """What is known of a model.

    Raises:
        AttnvizError: there is no such model, or it cannot be shown.
    """
    known = looked_up(model)
    if isinstance(known, AttnvizError) and loading.ready(model):
        looked_up.clear()  # somebody has opened it meanwhile
        known = looked_up(model)
    if isinstance(known, AttnvizError):
        raise known
    _forget_if_changed(model, known.fingerprint)
    return known


def _forget_if_changed(model: str, stamp: str) -> None:
    """Keep nothing that was computed with a model's old files, once they are others."""
    if _stamps.setdefault(model, stamp) == stamp:
        return
    _stamps[model] = stamp
    for large in (trace, weights, values, comparison, drawn):
        large.clear()
    for small_one in (predictions, shown, found, allowed, small, facts):
        small_one.clear()


def called(model: str) -> str:
    """What captions and files call a model: a folder by its own name, not by where it lies."""
    known = entry(model)
    in_a_folder = isinstance(known.origin, Folder) and not isinstance(known.origin, Downloaded)
    return known.title if in_a_folder and not chosen_by_operator() else model


def mask_token(model: str) -> str | None:
    """How the masked token is typed for a model that has a head for it; None for any other."""
    known = entry(model)
    if known.expects != "masked" or not isinstance(known.origin, Folder):
        return None
    return tokenizer_of(known).mask


def _bytes_of(read: Trace) -> int:
    """What a reading takes besides what all readings of a model share, each head's slice of W_O."""
    arrays = (
        array
        for block in read.blocks
        for array in (block.query, block.key, block.value, block.weights, block.mask, block.bias)
        if array is not None
    )
    return sum(array.nbytes for array in arrays)


def _bytes(array: Floats) -> int:
    return array.nbytes


def _bytes_of_change(changed: Change) -> int:
    return changed.values.nbytes


def _bytes_of_picture(picture: Picture) -> int:
    return picture.levels.nbytes


@kept(_bytes_of, _MOST_BYTES)
def trace(model: str, given: ModelInput) -> Trace:
    """The forward pass of `model` over what it is given.

    The opening sentences are stored with the app, so that the first picture need not wait for the model.

    Raises:
        AttnvizError: the text or the model cannot be used; the message says what to do.
    """
    if not loading.ready(model) and (known := _stored(model, given)) is not None:
        return known
    with st.spinner("Reading the text with the model …"):
        warm_up.model(model)
        size, tokens = entry(model), len(loading.tokens(model, given))
        # What is known to be too much is not even begun.
        _check_size(size.heads * (size.layers or size.decoder_layers), tokens, tokens)
        read = loading.trace(model, given)
    for kind in dict.fromkeys(block.kind for block in read.blocks):
        blocks = read.of_kind(kind)
        _check_size(len(blocks) * len(blocks[0].query), *blocks[0].mask.shape)
    return read


@st.cache_resource(max_entries=64, show_spinner=False)
def predictions(model: str, given: ModelInput) -> tuple[Prediction, ...]:
    """What the model expects, place by place; empty where it has no head for it.

    Raises:
        AttnvizError: the text or the model cannot be used.
    """
    return loading.load(model).predictions(given)


@st.cache_resource(max_entries=64, show_spinner=False)
def shown(
    model: str, given: ModelInput, kind: Kind, hide: bool, merge: bool, between: str = EVERYWHERE
) -> tuple[Shown, ...]:
    """Which tokens are shown, and how they are called: queries and keys, or one for both.

    The second text of an encoder–decoder is what its decoder's tokens are tokens of.
    """
    read = trace(model, given)
    block = read.of_kind(kind)[0]
    written = read.text if read.target is None or kind == "encoder" else read.target
    looks, is_looked_at = BETWEEN[between]
    how = {"hide_special": hide, "merge_words": merge}
    queries = Shown(
        block.query_tokens,
        written,
        second=read.second,
        only_sentence=looks,
        written=0 if kind == "encoder" else read.written,
        **how,
    )
    if kind != "cross" and looks == is_looked_at:
        return (queries,)
    return queries, Shown(block.key_tokens, read.text, second=read.second, only_sentence=is_looked_at, **how)


@kept(_bytes, _MOST_BYTES)
def weights(
    model: str, given: ModelInput, kind: Kind, hide: bool, merge: bool, between: str = EVERYWHERE
) -> Floats:
    """The weights as they are shown, [layer, head, shown query, shown key]."""
    return shown_weights(trace(model, given).stack(kind), *shown(model, given, kind, hide, merge, between))


def only_special(tokens: Sequence[Shown]) -> bool:
    """Whether one of the texts has nothing but special tokens: a decoder that ended its text at once."""
    return any(all(group.special for group in side.all_groups) for side in tokens)


@st.cache_resource(max_entries=8, show_spinner=False)
def found(model: str, given: ModelInput, kind: Kind, merge: bool) -> tuple[Behaviour, ...]:
    """What each head does, rule by rule; hiding tokens does not alter it. Nothing, if all are special."""
    read = trace(model, given)
    tokens = shown(model, given, kind, False, merge)
    if only_special(tokens):
        return ()
    # Layers may have masks of their own: what one of them allows is possible.
    anywhere = np.logical_or.reduce([block.mask for block in read.of_kind(kind)])
    return behaviours(read.stack(kind), *tokens, mask=anywhere)


@kept(_bytes, _MOST_BYTES)
def values(view: View) -> Floats:
    """The numbers of a view, [layer, head, shown query, shown key]; −inf where the mask forbids."""
    return _values(view, view.given) if view.changed is None else comparison(view).values


@kept(_bytes_of_change, _MOST_BYTES)
def comparison(view: View) -> Change:
    """The second reading's numbers minus the first's, token by token; all 0 where there is no second.

    Raises:
        AttnvizError: the two do not have equally many tokens.
    """
    second = view.changed or view.given
    return change(
        _values(view, view.given),
        _shown(view, view.given),
        _values(view, second),
        _shown(view, second),
        _texts(view),
    )


@kept(_bytes_of_picture, _MOST_BYTES)
def drawn(view: View) -> Picture:
    """A view's numbers as bytes for the browser, [layer, head, shown query, shown key]."""
    draw = diverging if view.signed else sequential
    seen = mask(view)
    return draw(values(view), view.scale, None if seen is None else seen[:, None])


@st.cache_resource(max_entries=8, show_spinner=False)
def small(view: View) -> Levels:
    """All heads in small, uint8 [layer × head, size, size]; only long texts need it."""
    picture = drawn(view)
    return thumbnails(picture.levels.reshape(-1, *picture.levels.shape[2:]), picture.kind)


@st.cache_resource(max_entries=16, show_spinner=False)
def allowed(view: View) -> Mask:
    """Where a shown query may look, [layer, shown query, shown key]; layers may have masks of their own."""
    tokens = _shown(view, view.given)
    blocks = trace(view.model, view.given).of_kind(view.kind)
    return np.stack([shown_mask(block.mask, *tokens) for block in blocks])


def mask(view: View) -> Mask | None:
    """`allowed`, in a view that shows the mask; None before it, where every score is worth seeing."""
    return allowed(view) if view.stage in ("masked", WEIGHTS) else None


def readable(view: View, layer: int, heads: Sequence[int]) -> Floats:
    """The numbers of some heads of a layer (from 1), [head, shown query, shown key]; NaN where masked.

    A weight that the mask forbids is 0 too, but not a 0 that the head has chosen.
    """
    numbers = values(view)[layer - 1, [head - 1 for head in heads]]
    seen = mask(view)
    is_number = np.isfinite(numbers) if seen is None else np.isfinite(numbers) & seen[layer - 1]
    return np.where(is_number, numbers, np.float32(np.nan))


@st.cache_resource(max_entries=16, show_spinner=False)
def facts(view: View) -> tuple[str, ...]:
    """One short sentence for each head, [layer × head]: what it looks at, or what changed most in it."""
    if view.changed is not None:
        return tuple(
            f"changes most where {query} looks at {key}, {written(view, move)}"
            for query, key, move in largest_moves(comparison(view))
        )
    described = describe(shares(view, view.given), *_shown(view, view.given))
    # The average over all tokens: what one token looks at can be something else.
    return tuple(f"on average {fact}" for fact in described)


def groups(view: View) -> tuple[tuple[Group, ...], tuple[Group, ...]]:
    """The rows and the columns; in a change, those of both sentences: "tired → narrow"."""
    if view.changed is not None:
        return comparison(view).queries, comparison(view).keys
    tokens = _shown(view, view.given)
    return _marked(tokens[0]), _marked(tokens[-1])


def written(view: View, number: float) -> str:
    """A number of this view as a person reads it."""
    if view.unit == "percent":
        return percent(number)
    if view.unit == "signed percent":
        return signed_percent(number)
    return f"{number:.2f}".replace("-", "−")


def shares(view: View, given: ModelInput) -> Floats:
    """The weights of one of the view's readings at any stage, [layer, head, shown query, shown key]."""
    return weights(view.model, given, view.kind, view.hide, view.merge, view.between)


def _marked(shown: Shown) -> tuple[Group, ...]:
    """What is shown; of a pair, each token with the sign of its sentence."""
    if shown.second is None:
        return shown.groups
    return tuple(
        replace(group, label=group.label + SENTENCES[shown.tokens[group.positions[0]].sentence])
        for group in shown.groups
    )


def _shown(view: View, given: ModelInput) -> tuple[Shown, ...]:
    return shown(view.model, given, view.kind, view.hide, view.merge, view.between)


def _values(view: View, given: ModelInput) -> Floats:
    if view.stage == WEIGHTS:
        return shares(view, given)
    blocks = trace(view.model, given).of_kind(view.kind)
    return shown_scores(np.stack([at_stage(block, view.stage) for block in blocks]), *_shown(view, given))


def _texts(view: View) -> tuple[str, ...]:
    """What the queries and the keys are tokens of; one name where both are of the same."""
    second = "translation" if entry(view.model).engine == "translator" else "decoder’s text"
    if view.kind == "decoder" and trace(view.model, view.given).target is None:
        return ("text",)
    texts: dict[Kind, tuple[str, ...]] = {
        "encoder": ("sentence",),
        "decoder": (second,),
        "cross": (second, "sentence"),
    }
    return texts[view.kind]


def _stored(model: str, given: ModelInput) -> Trace | None:
    return stored.find(model, given.text) if given == ModelInput(given.text) else None


def _check_size(heads: int, queries: int, keys: int) -> None:
    if heads * queries * keys > MOST_WEIGHTS:
        raise AttnvizError(
            f"{queries} × {keys} tokens in {heads} heads are {heads * queries * keys:,} weights, more than "
            f"this page can show ({MOST_WEIGHTS:,}). Shorten the text: with {heads} heads it may have "
            f"{isqrt(MOST_WEIGHTS // heads)} tokens."
        )
