"""The server's cache of computed values, shared by all visitors and limited in bytes.

Arguments of cached functions are short texts, numbers, flags, model entries, and tuples or frozen
dataclasses of these, never arrays. If a model's files change, it has a new entry, and its values are
computed again. Values must not be modified.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import fields, is_dataclass
from functools import wraps
from operator import attrgetter
from typing import Any, NamedTuple, ParamSpec, TypeVar

import cachetools
import numpy as np
import streamlit as st
from cachetools.keys import hashkey

from attnviz.app.models import lookup
from attnviz.models.catalogue import Entry

MAX_BYTES = 3 * 2**28
"""Maximum size of all cached values: 0.8 GB.

Models (`loading.MAX_MODELS`) and results of jobs (`jobs.MAX_JOBS`) are not included.
"""

_SHARED = {"projection"}  # each head's slice of W_O, which all traces of a model share

Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")


def size_of(value: object) -> int:
    """Return the size of a value in bytes, excluding arrays that all traces of a model share."""
    visited: set[int] = set()

    def size(part: object) -> int:
        if part is None or id(part) in visited:
            return 0
        visited.add(id(part))
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


class _SizedValue(NamedTuple):
    """A value with its size, which is measured outside the cache's lock."""

    value: Any
    bytes: int


_cache = cachetools.LRUCache[Hashable, _SizedValue](MAX_BYTES, attrgetter("bytes"))
_changed = threading.Condition()


def cached(
    spinner: str = "", model: str | Callable[..., str] = ""
) -> Callable[[Callable[Arguments, Value]], Callable[Arguments, Value]]:
    """Cache the decorated function's results for all visitors.

    A second request for a value that is being computed waits for it. Exceptions are not cached.

    Args:
        spinner: Text shown during the computation; "" for none. With a text, the models among the positional
            arguments are loaded first, which also imports torch.
        model: Name of another model to load first, or a function that returns the name and has the same
            arguments as the decorated function.
    """

    def models_of(*args: object, **kwargs: object) -> Iterator[Entry]:
        if name := model(*args, **kwargs) if callable(model) else model:
            yield lookup.entry(name)
        yield from (each for each in args if isinstance(each, Entry))

    def decorate(compute: Callable[Arguments, Value]) -> Callable[Arguments, Value]:
        def key(*args: Hashable, **kwargs: Hashable) -> Hashable:
            return compute, hashkey(*args, **kwargs)

        @wraps(compute)
        def computed(*args: Arguments.args, **kwargs: Arguments.kwargs) -> _SizedValue:
            if spinner:
                for each in models_of(*args, **kwargs):
                    lookup.loaded_model(each)
            with st.spinner(spinner) if spinner else nullcontext():
                value = compute(*args, **kwargs)
            return _SizedValue(value, size_of(value))

        memoize: Callable[..., Any] = cachetools.cached(_cache, key, condition=_changed)
        sized: Callable[Arguments, _SizedValue] = memoize(computed)

        @wraps(compute)
        def cached_value(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Value:
            value: Value = sized(*args, **kwargs).value
            return value

        return cached_value

    return decorate


def size() -> int:
    """Return the size of all cached values in bytes."""
    return int(_cache.currsize)


def clear() -> None:
    """Remove all values, and the cached data about models."""
    with _changed:
        _cache.clear()
    lookup.clear()
