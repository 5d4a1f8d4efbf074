"""Cached traces and predictions of texts, shared by all visitors."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import isqrt
from typing import Any, TypeVar, cast

import cachetools
import numpy as np
import streamlit as st
from numpy.typing import NDArray

from attnviz.analysis.behaviour import Behaviour, behaviours
from attnviz.analysis.display_tokens import DisplayTokens, queries_and_keys, shown_weights
from attnviz.app.models import lookup
from attnviz.app.server import metrics
from attnviz.app.server.cache import cached
from attnviz.capture import loading, stored
from attnviz.capture.model import ModelInput, Prediction
from attnviz.capture.selection import Selection
from attnviz.errors import AttnvizError
from attnviz.models import allowed
from attnviz.models.catalogue import Entry
from attnviz.trace import Block, Floats, Kind, Mask, Trace, changed

Numbers = TypeVar("Numbers", bound=NDArray[Any])

MAX_WEIGHTS = 2**25
"""The maximum number of weights of one trace, over all heads of one kind: 134 MB.

This allows 482 tokens for a model with 12 × 12 heads, and 295 tokens for 24 × 16 heads.
"""

MAX_GUEST_WEIGHTS = MAX_WEIGHTS // 4
"""The maximum number of weights for visitors who are not allowed to open models."""

MAX_LONG_TRACES = 2
"""Maximum number of cached long traces: queries and keys of 8,192 tokens in 12 × 12 heads take 0.6 GB."""

EVERYWHERE = "All"
BETWEEN = {EVERYWHERE: (None, None), "A→A": (0, 0), "A→B": (0, 1), "B→A": (1, 0), "B→B": (1, 1)}
"""By option, the sentence of the shown queries and the sentence of the shown keys; None for both."""

MAX_WAITING_TOKENS = 4096
"""Maximum number of tokens of all queued texts; beyond that, a text is refused."""

_slots = threading.BoundedSemaphore(2)  # limits concurrent forward passes, and so their memory
_lock = threading.Lock()
_waiting: list[int] = []  # number of tokens of each queued text


@contextmanager
def _turn(tokens: int) -> Iterator[None]:
    """Wait until the model may run on a text with this many tokens; run it inside the context.

    Raises:
        AttnvizError: the queue is full.
    """
    with _lock:
        if _waiting and sum(_waiting) + tokens > MAX_WAITING_TOKENS:
            raise AttnvizError("This server is busy: other long texts are queued. Try again soon.")
        _waiting.append(tokens)
    with _slots:
        with _lock:
            _waiting.remove(tokens)
        yield


@cached()
def trace(model: Entry, given: ModelInput) -> Trace:
    """Return the trace of an input.

    Traces of the initial sentences are stored with the app, so that the first picture appears immediately.

    Raises:
        AttnvizError: the text or the model cannot be used; see the message.
    """
    if loading.in_memory(model) is None and (precomputed := _stored(model, given)) is not None:
        return precomputed
    loaded = lookup.loaded_model(model)
    with st.spinner("Running the model on the text …"):
        tokens = len(loaded.tokens(given))
        # Texts that are certainly too long are refused before the forward pass.
        check_size(model.heads * (model.layers or model.decoder_layers), tokens, tokens)
        with _turn(tokens), metrics.FORWARDS.time():
            result = loaded.trace(given)
    for kind in dict.fromkeys(block.kind for block in result.blocks):
        blocks = result.of_kind(kind)
        check_size(len(blocks) * len(blocks[0].query), *blocks[0].mask.shape)
    return result


def is_long(model: Entry, given: ModelInput) -> bool:
    """Return whether a text has too many weights for `trace`, but can be used with `long_trace`.

    Raises:
        AttnvizError: the text or the model cannot be used.
    """
    excluded = (model.layers and model.decoder_layers) or model.without_weights or model.images
    if excluded or given.writing is not None or not allowed.may_open() or _stored(model, given) is not None:
        return False
    if sum(len(text.encode()) for text in (given.text, given.second or "")) < max_tokens(model):
        return False  # a token has at least one byte, except for a few special tokens
    return len(lookup.loaded_model(model).tokens(given)) > max_tokens(model)


@cachetools.cached(cachetools.LRUCache(MAX_LONG_TRACES), condition=threading.Condition())
def long_trace(model: Entry, given: ModelInput) -> Trace:
    """Return the trace of a long text: queries and keys, from which rows of weights are computed.

    Raises:
        AttnvizError: the model's masks or biases cannot be recomputed, or the text or model cannot be used.
    """
    loaded = lookup.loaded_model(model)
    tokens = len(loaded.tokens(given))
    with st.spinner("Running the model on the text …"), _turn(tokens), metrics.FORWARDS.time():
        result = loaded.trace(given, selection=Selection(store="vectors"))
    return replace(result, blocks=tuple(map(_without_values, result.blocks)))


@cached()
def long_display_tokens(model: Entry, given: ModelInput, kind: Kind) -> DisplayTokens:
    """Return the tokens of a long text; queries and keys are the same."""
    return queries_and_keys(long_trace(model, given), kind)[0]


def max_tokens(model: Entry) -> int:
    """Return the maximum number of tokens for `trace`."""
    return isqrt(MAX_WEIGHTS // (model.heads * (model.layers or model.decoder_layers)))


def _without_values(block: Block) -> Block:
    """Return a block with queries and keys only: values take a third of the memory, and are not shown."""
    heads, _, keys = block.shape
    return changed(block, value=np.zeros((heads, keys, 0), np.float32), projection=None)


def need_vectors(model: Entry, given: ModelInput) -> None:
    """Raise if a model returns only weights, without queries, keys, values and masks.

    Raises:
        ModelNotSupported: it returns only weights; see the message.
    """
    if trace(model, given).blocks[0].weights_alone:
        loading.opened(model).need_vectors()


@cached()
def predictions(model: Entry, given: ModelInput) -> tuple[Prediction, ...]:
    """Return the predictions, one per position at which the model predicts a token; empty if there is none.

    Raises:
        AttnvizError: the text or the model cannot be used.
    """
    return loading.opened(model).predictions(given)


@cached()
def shown(
    model: Entry, given: ModelInput, kind: Kind, hide: bool, merge: bool, between: str = EVERYWHERE
) -> tuple[DisplayTokens, ...]:
    """Return the shown queries and keys, with their labels."""
    return queries_and_keys(
        trace(model, given), kind, between=BETWEEN[between], hide_special=hide, merge_words=merge
    )


@cached()
def model_weights(model: Entry, given: ModelInput, kind: Kind) -> Floats:
    """Return the model's weights, [layer, head, query, key]: nothing hidden, merged or rescaled."""
    result = trace(model, given)
    return stack_layers(result, kind, [block.weights for block in result.of_kind(kind)])


def model_masks(model: Entry, given: ModelInput, kind: Kind) -> Mask:
    """Return the model's masks, [layer, query, key]; all False in a layer without attention weights."""
    result = trace(model, given)
    return stack_layers(result, kind, [block.mask for block in result.of_kind(kind)])


def stack_layers(result: Trace, kind: Kind, arrays: Sequence[Numbers], fill: float = 0) -> Numbers:
    """Stack the arrays of layers with attention weights, with a fill value for all other layers.

    Args:
        arrays: One array for each block of this kind, by layer.
        fill: Fill value for layers without attention weights.
    """
    if not result.without_weights:
        return cast("Numbers", np.stack(arrays))
    layers = len(arrays) + len(result.without_weights)
    stacked = np.full((layers, *arrays[0].shape), fill, arrays[0].dtype)
    stacked[[block.layer for block in result.of_kind(kind)]] = arrays
    stacked.setflags(write=False)
    return cast("Numbers", stacked)


@cached()
def weights(
    model: Entry, given: ModelInput, kind: Kind, hide: bool, merge: bool, between: str = EVERYWHERE
) -> Floats:
    """Return the shown weights, [layer, head, shown query, shown key]."""
    return shown_weights(model_weights(model, given, kind), *shown(model, given, kind, hide, merge, between))


def only_special(tokens: Sequence[DisplayTokens]) -> bool:
    """Return whether one of the texts has only special tokens, as when a decoder stops immediately."""
    return any(all(group.special for group in side.all_groups) for side in tokens)


@cached()
def head_behaviours(model: Entry, given: ModelInput, kind: Kind, merge: bool) -> tuple[Behaviour, ...]:
    """Return each behaviour's scores, regardless of hidden tokens; none if a text has only special tokens."""
    tokens = shown(model, given, kind, False, merge)
    if only_special(tokens):
        return ()
    return behaviours(model_weights(model, given, kind), *tokens, mask=model_masks(model, given, kind))


def _stored(model: Entry, given: ModelInput) -> Trace | None:
    return stored.find(model.name, given.text) if given == ModelInput(given.text) else None


def check_size(heads: int, queries: int, keys: int) -> None:
    """Raise if there are too many weights to show.

    Raises:
        AttnvizError: there are more than `MAX_WEIGHTS` or, for guests, `MAX_GUEST_WEIGHTS` weights.
    """
    maximum = MAX_WEIGHTS if allowed.may_open() else MAX_GUEST_WEIGHTS
    if heads * queries * keys > maximum:
        raise AttnvizError(
            f"{queries} × {keys} tokens in {heads} heads are {heads * queries * keys:,} weights, more than "
            f"this page can show ({maximum:,}). Shorten the text: with {heads} heads it can have "
            f"at most {isqrt(maximum // heads)} tokens."
        )
