"""Everything the server keeps between two clicks: how much of it, and how long.

All that pages compute stands in one memory of `MOST_BYTES`, whichever page asked for it. A value that depends
on a model is computed anew as soon as the model's files have changed. Arguments of cached functions are short
texts, numbers, flags, and tuples or frozen dataclasses of them, never arrays. Values are shared by every
visitor and read-only.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import wraps
from itertools import chain
from math import isqrt
from operator import attrgetter
from typing import Any, Literal, NamedTuple, ParamSpec, TypeVar

import cachetools
import numpy as np
import streamlit as st
from cachetools.keys import hashkey

from attnviz.analysis.behaviour import Behaviour, behaviours
from attnviz.analysis.behaviour import facts as describe
from attnviz.analysis.change import Change, change, largest_moves
from attnviz.analysis.display_tokens import (
    DisplayToken,
    DisplayTokens,
    faint,
    left_share,
    queries_and_keys,
    shown_mask,
    shown_scores,
    shown_weights,
)
from attnviz.analysis.picture import Levels, Picture, Scale, diverging, sequential, thumbnails
from attnviz.analysis.stages import at_stage
from attnviz.app import metrics, warm_up
from attnviz.capture import loading, stored
from attnviz.capture.model import ModelInput, Prediction
from attnviz.errors import AttnvizError
from attnviz.experiments import engine
from attnviz.models import allowed as on_list
from attnviz.models import resolve
from attnviz.models.catalogue import Downloaded, Entry, Folder
from attnviz.models.tokenizer import tokenizer_of
from attnviz.text import decimal, percent, signed_percent
from attnviz.trace import Floats, Kind, Mask, Trace

MOST_BYTES = 3 * 2**28
"""The most that the server keeps of everything that pages compute: 0.8 GB.

The models themselves are not counted (see `loading.MOST_MODELS`), nor what long computations have found (see
`jobs.MOST_JOBS`).
"""

_FRESH_SECONDS = 30.0  # how long a look at a model's files holds
_PROBLEM_SECONDS = 300.0  # and a reason why it cannot be used: to find it may mean to wait for a network

_SHARED = {"projection"}  # each head's slice of W_O, which all traces of a model share

Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")

WEIGHTS = "weights"

MOST_WEIGHTS = 2**25
"""The most weights that the page holds of one reading, over all heads of one kind: 134 MB.

A model of 12 × 12 heads may read 482 tokens, one of 24 × 16 heads 295.
"""

MAX_GUEST_WEIGHTS = MOST_WEIGHTS // 4
"""The same for a visitor who may not open models: on a server for others, each holds less."""

MAX_WAITING_TOKENS = 4096
"""The tokens of all texts that may wait to be read; beyond that, a text is refused until some are read."""

EVERYWHERE = "All"
BETWEEN = {EVERYWHERE: (None, None), "A→A": (0, 0), "A→B": (0, 1), "B→A": (1, 0), "B→B": (1, 1)}
"""Of a pair of sentences, whose tokens look and whose are looked at; None: both sentences'."""

SENTENCES = (" ᴬ", " ᴮ")
"""What stands behind a token of the first and of the second sentence of a pair."""


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


def size_of(value: object) -> int:
    """How many bytes a value takes; what all traces of a model share is not counted."""
    counted: set[int] = set()

    def size(part: object) -> int:
        if part is None or id(part) in counted:
            return 0
        counted.add(id(part))
        if isinstance(part, np.ndarray):
            return part.nbytes
        own, parts = sys.getsizeof(part), list[object]()
        if is_dataclass(part):
            parts = [getattr(part, field.name) for field in fields(part) if field.name not in _SHARED]
        elif isinstance(part, Mapping):
            parts = [*part.keys(), *part.values()]
        elif isinstance(part, tuple | list | set | frozenset):
            parts = [*part]
        return own + sum(map(size, parts))

    return size(value)


class _Readings:
    """Where texts wait to be read by a model, so many at a time.

    Args:
        at_once: how many are read at a time; that bounds their memory, too.
        most_waiting: the tokens of all that wait.
    """

    def __init__(self, at_once: int, most_waiting: int) -> None:
        self._places = threading.BoundedSemaphore(at_once)
        self._lock = threading.Lock()
        self._most_waiting = most_waiting
        self._waiting = 0

    @contextmanager
    def turn(self, tokens: int) -> Iterator[None]:
        """Wait for a place; in here, a text of so many tokens is read.

        Raises:
            AttnvizError: too much waits already.
        """
        with self._lock:
            if self._waiting and self._waiting + tokens > self._most_waiting:
                raise AttnvizError("This server is busy: many long texts wait before yours. Try again soon.")
            self._waiting += tokens
        self._places.acquire()
        with self._lock:
            self._waiting -= tokens
        try:
            yield
        finally:
            self._places.release()


_readings = _Readings(2, MAX_WAITING_TOKENS)


class _Sized(NamedTuple):
    """A value, and how many bytes it takes."""

    value: Any
    size: int


class Memory(MutableMapping[Hashable, _Sized]):
    """What fits into so many bytes; what was not asked for longest goes first.

    Large values, those of long texts, have two thirds of it for themselves. Else who types one long text
    after the other would make the server forget what all others read.
    """

    def __init__(self, most_bytes: int) -> None:
        small, self._large = most_bytes // 3, most_bytes // 256
        self._parts = [
            cachetools.LRUCache[Hashable, _Sized](most, attrgetter("size"))
            for most in (small, most_bytes - small)
        ]

    def __getitem__(self, key: Hashable) -> _Sized:
        return self._parts[key in self._parts[1]][key]

    def __setitem__(self, key: Hashable, sized: _Sized) -> None:
        self._parts[sized.size > self._large][key] = sized

    def __delitem__(self, key: Hashable) -> None:
        del self._parts[key in self._parts[1]][key]

    def __iter__(self) -> Iterator[Hashable]:
        return chain(*self._parts)

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def bytes(self) -> int:
        """How much is kept."""
        return int(sum(part.currsize for part in self._parts))


_memory = Memory(MOST_BYTES)
_changed = threading.Condition()


def cached(
    model: str | tuple[()] | Callable[..., str | tuple[str, ...]] = (), spinner: str = ""
) -> Callable[[Callable[Arguments, Value]], Callable[Arguments, Value]]:
    """Keep what the decorated function returns, for every visitor, as this module says.

    Whoever asks for a value that somebody else is computing waits for that one. What fails is not kept.

    Args:
        model: the model on which the value depends, or a function that takes the same arguments and returns
            it, or several of them; none, if the value depends on no model.
        spinner: what the page says meanwhile; the model is then loaded first, and torch with it: only then
            may the function import what needs torch.
    """

    def models_of(*args: object, **kwargs: object) -> tuple[str, ...]:
        names = model(*args, **kwargs) if callable(model) else model
        return (names,) if isinstance(names, str) else names

    def decorate(compute: Callable[Arguments, Value]) -> Callable[Arguments, Value]:
        def key(*args: Hashable, **kwargs: Hashable) -> Hashable:
            return compute, *map(fingerprint, models_of(*args, **kwargs)), hashkey(*args, **kwargs)

        @cachetools.cached(_memory, key, condition=_changed)
        def sized(*args: Arguments.args, **kwargs: Arguments.kwargs) -> _Sized:
            if spinner:
                for name in models_of(*args, **kwargs):
                    _load(name)
            with st.spinner(spinner) if spinner else nullcontext():
                value = compute(*args, **kwargs)
            return _Sized(value, size_of(value))  # measured here: where it is kept, all others wait

        @wraps(compute)
        def computed(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Value:
            value: Value = sized(*args, **kwargs).value
            return value

        return computed

    return decorate


def named(model: str, *_: object, **__: object) -> str:
    """The model of a cached function whose first argument is its name."""
    return model


def held_bytes() -> int:
    """How much is kept of what pages compute."""
    return _memory.bytes()


def clear() -> None:
    """Keep nothing, and look at every model's files anew."""
    with _changed:
        _memory.clear()
    look_again()


def _until(key: Hashable, known: Entry | AttnvizError, now: float) -> float:  # noqa: ARG001 - as cachetools asks
    return now + (_FRESH_SECONDS if isinstance(known, Entry) else _PROBLEM_SECONDS)


@cachetools.cached(cachetools.TLRUCache(256, _until, time.monotonic), condition=threading.Condition())
def _look(model: str, target: str) -> Entry | AttnvizError:  # noqa: ARG001 - the same name may mean another model
    try:
        return resolve.entry(model)
    except AttnvizError as error:
        return error.with_traceback(None)


def look_again() -> None:
    """Forget what is known of the models."""
    _look.cache_clear()


def looked_up(model: str) -> Entry | AttnvizError:
    """What is known of a model, or why it cannot be used; looked at again now and then."""
    try:
        known = _look(model, on_list.target(model))
        if isinstance(known, AttnvizError) and loading.ready(model):  # somebody has opened it meanwhile
            look_again()
            known = _look(model, on_list.target(model))
    except AttnvizError as error:  # it is not on the operator's list
        return error
    return known


def usable() -> tuple[Entry, ...]:
    """The models of this server that can be used, in the order of the choice."""
    return tuple(known for known in map(looked_up, on_list.names()) if isinstance(known, Entry))


def entry(model: str) -> Entry:
    """What is known of a model.

    Raises:
        AttnvizError: there is no such model, or it cannot be shown.
    """
    known = looked_up(model)
    if isinstance(known, AttnvizError):
        raise known
    return known


def fingerprint(model: str) -> str:
    """Another one as soon as the model's files have changed; "" where they cannot change.

    Raises:
        AttnvizError: there is no such model, or it cannot be shown.
    """
    return entry(model).fingerprint


def called(model: str) -> str:
    """What captions and files call a model: a folder by its own name, not by where it lies."""
    known = entry(model)
    in_a_folder = isinstance(known.origin, Folder) and not isinstance(known.origin, Downloaded)
    return known.title if in_a_folder and on_list.may_open() else model


def mask_token(model: str) -> str | None:
    """How the masked token is typed for a model that has a head for it; None for any other."""
    known = entry(model)
    if known.expects != "masked" or not isinstance(known.origin, Folder):
        return None
    return tokenizer_of(known).mask


def of_view(view: View, *_: object) -> str:
    """The model of a cached function whose first argument is a view."""
    return view.model


@cached(named)
def trace(model: str, given: ModelInput) -> Trace:
    """The forward pass of `model` over what it is given.

    The opening sentences are stored with the app, so that the first picture need not wait for the model.

    Raises:
        AttnvizError: the text or the model cannot be used; the message says what to do.
    """
    if not loading.ready(model) and (known := _stored(model, given)) is not None:
        return known
    if not engine.is_remote():
        _load(model)
    with st.spinner("Reading the text with the model …"):
        size, tokens = entry(model), len(loading.tokens(model, given))
        # What is known to be too much is not even begun.
        _check_size(size.heads * (size.layers or size.decoder_layers), tokens, tokens)
        with _readings.turn(tokens), metrics.FORWARDS.time():
            read = engine.trace(model, given)
    for kind in dict.fromkeys(block.kind for block in read.blocks):
        blocks = read.of_kind(kind)
        _check_size(len(blocks) * len(blocks[0].query), *blocks[0].mask.shape)
    return read


def need_vectors(read: Trace) -> None:
    """Refuse what is computed from queries, keys, values or masks, where the model gives its weights alone.

    Raises:
        ModelNotSupported: it does; the message says why.
    """
    if read.blocks[0].weights_alone:
        loading.load(read.model).need_vectors()


@cached(named)
def predictions(model: str, given: ModelInput) -> tuple[Prediction, ...]:
    """What the model expects, place by place; empty where it has no head for it.

    Raises:
        AttnvizError: the text or the model cannot be used.
    """
    return loading.load(model).predictions(given)


@cached(named)
def shown(
    model: str, given: ModelInput, kind: Kind, hide: bool, merge: bool, between: str = EVERYWHERE
) -> tuple[DisplayTokens, ...]:
    """Which tokens are shown, and how they are called: queries and keys, or one for both."""
    return queries_and_keys(
        trace(model, given), kind, between=BETWEEN[between], hide_special=hide, merge_words=merge
    )


@cached(named)
def own_weights(model: str, given: ModelInput, kind: Kind) -> Floats:
    """The model's weights, [layer, head, query, key]: nothing hidden, merged or rescaled."""
    return trace(model, given).stack(kind)


@cached(named)
def weights(
    model: str, given: ModelInput, kind: Kind, hide: bool, merge: bool, between: str = EVERYWHERE
) -> Floats:
    """The weights as they are shown, [layer, head, shown query, shown key]."""
    return shown_weights(own_weights(model, given, kind), *shown(model, given, kind, hide, merge, between))


def only_special(tokens: Sequence[DisplayTokens]) -> bool:
    """Whether one of the texts has nothing but special tokens: a decoder that ended its text at once."""
    return any(all(group.special for group in side.all_groups) for side in tokens)


@cached(named)
def found(model: str, given: ModelInput, kind: Kind, merge: bool) -> tuple[Behaviour, ...]:
    """What each head does, rule by rule; hiding tokens does not alter it. Nothing, if all are special."""
    read = trace(model, given)
    tokens = shown(model, given, kind, False, merge)
    if only_special(tokens):
        return ()
    weights = own_weights(model, given, kind)
    return behaviours(weights, *tokens, mask=np.stack([block.mask for block in read.of_kind(kind)]))


@cached(of_view)
def values(view: View) -> Floats:
    """The numbers of a view, [layer, head, shown query, shown key]; −inf where the mask forbids."""
    return _values(view, view.given) if view.changed is None else comparison(view).values


@cached(of_view)
def left(view: View) -> Floats:
    """How much of each row goes to what is shown, [layer, head, shown query]; 1 where nothing is rescaled.

    Of a change, the lesser of the two readings'.
    """
    if view.stage != WEIGHTS:
        return np.ones(values(view).shape[:-1], dtype=np.float32)

    def of(given: ModelInput) -> Floats:
        return left_share(own_weights(view.model, given, view.kind), *_shown(view, given))

    if view.changed is None:
        return of(view.given)
    grid = comparison(view)
    return np.fmin(grid.place_rows(of(view.given), "first"), grid.place_rows(of(view.changed), "second"))


def hidden(view: View) -> str:
    """What the rows go to that is not shown, in words: "[CLS] and [SEP]"; "" where nothing is rescaled."""
    return _shown(view, view.given)[-1].hidden if view.stage == WEIGHTS else ""


@cached(of_view)
def comparison(view: View) -> Change:
    """The second reading's numbers minus the first's, word by word; all 0 where there is no second.

    Raises:
        AttnvizError: the two share too few words, or are together too long.
    """
    second = view.changed or view.given
    found = change(
        _values(view, view.given), _shown(view, view.given), _values(view, second), _shown(view, second)
    )
    layers, heads, *cells = found.values.shape
    _check_size(layers * heads, *cells)
    return found


def own_place(view: View, given: ModelInput, at: int, side: Literal["query", "key"]) -> int | None:
    """Which shown token of one reading stands in a row or a column of `groups`; None: it has none there."""
    if view.changed is None:
        return at
    grid = comparison(view)
    place = (grid.rows if side == "query" else grid.columns)[at]
    return place.of("first" if given == view.given else "second")


@cached(of_view)
def drawn(view: View) -> Picture:
    """A view's numbers as bytes for the browser, [layer, head, shown query, shown key]."""
    draw = diverging if view.signed else sequential
    seen = mask(view)
    return draw(faint(values(view), left(view)), view.scale, None if seen is None else seen[:, None])


@cached(of_view)
def small(view: View) -> Levels:
    """All heads in small, uint8 [layer × head, size, size]; only long texts need it."""
    picture = drawn(view)
    return thumbnails(picture.levels.reshape(-1, *picture.levels.shape[2:]), picture.kind)


@cached(of_view)
def allowed(view: View) -> Mask:
    """Where a shown query may look, [layer, shown query, shown key]; layers may have masks of their own.

    In a change: in both readings. Where one has no such word, it may not.
    """

    def of(given: ModelInput) -> Mask:
        tokens, blocks = _shown(view, given), trace(view.model, given).of_kind(view.kind)
        return np.stack([shown_mask(block.mask, *tokens) for block in blocks])

    if view.changed is None:
        return of(view.given)
    grid = comparison(view)
    first = grid.place(of(view.given).astype(np.float32), "first")
    second = grid.place(of(view.changed).astype(np.float32), "second")
    return np.asarray((first == 1) & (second == 1))


def mask(view: View) -> Mask | None:
    """`allowed`, in a view that shows the mask; None before it, where every score is worth seeing."""
    return allowed(view) if view.stage in ("masked", "above the sink", WEIGHTS) else None


def readable(view: View, layer: int, heads: Sequence[int]) -> Floats:
    """The numbers of some heads of a layer (from 1), [head, shown query, shown key]; NaN where masked.

    A weight that the mask forbids is 0 too, but not a 0 that the head has chosen.
    """
    numbers = values(view)[layer - 1, [head - 1 for head in heads]]
    seen = mask(view)
    is_number = np.isfinite(numbers) if seen is None else np.isfinite(numbers) & seen[layer - 1]
    return np.where(is_number, numbers, np.float32(np.nan))


@cached(of_view)
def facts(view: View) -> tuple[str, ...]:
    """One short sentence for each head, [layer × head]: what it looks at, or what changed most in it."""
    if view.changed is not None:
        return tuple(
            f"changes most where {query} looks at {key}, {written(view, move)}"
            for query, key, move in largest_moves(comparison(view))
        )
    tokens = _shown(view, view.given)
    left = left_share(own_weights(view.model, view.given, view.kind), *tokens) if tokens[-1].hides else None
    described = describe(shares(view, view.given), *tokens, left=left)
    # The average over all tokens: what one token looks at can be something else.
    return tuple(f"on average {fact}" for fact in described)


def groups(view: View) -> tuple[tuple[DisplayToken, ...], tuple[DisplayToken, ...]]:
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
    return decimal(number)


def shares(view: View, given: ModelInput) -> Floats:
    """The weights of one of the view's readings at any stage, [layer, head, shown query, shown key]."""
    return weights(view.model, given, view.kind, view.hide, view.merge, view.between)


def _marked(shown: DisplayTokens) -> tuple[DisplayToken, ...]:
    """What is shown; of a pair, each token with the sign of its sentence."""
    if shown.second is None:
        return shown.groups
    return tuple(
        replace(group, label=group.label + SENTENCES[shown.tokens[group.positions[0]].sentence])
        for group in shown.groups
    )


def _shown(view: View, given: ModelInput) -> tuple[DisplayTokens, ...]:
    return shown(view.model, given, view.kind, view.hide, view.merge, view.between)


def _values(view: View, given: ModelInput) -> Floats:
    if view.stage == WEIGHTS:
        return shares(view, given)
    blocks = trace(view.model, given).of_kind(view.kind)
    return shown_scores(np.stack([at_stage(block, view.stage) for block in blocks]), *_shown(view, given))


def _load(model: str) -> None:
    """Load the model, and say so: on a server that has just started, it is what a visitor waits for."""
    if not loading.ready(model):
        with st.spinner("The model is loading. This page goes on by itself …"):
            warm_up.model(model)


def _stored(model: str, given: ModelInput) -> Trace | None:
    return stored.find(model, given.text) if given == ModelInput(given.text) else None


def _check_size(heads: int, queries: int, keys: int) -> None:
    most = MOST_WEIGHTS if on_list.may_open() else MAX_GUEST_WEIGHTS
    if heads * queries * keys > most:
        raise AttnvizError(
            f"{queries} × {keys} tokens in {heads} heads are {heads * queries * keys:,} weights, more than "
            f"this page can show ({most:,}). Shorten the text: with {heads} heads it may have "
            f"{isqrt(most // heads)} tokens."
        )
