"""What was computed is kept for the next visitor, up to so many bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import update_wrapper
from typing import Generic, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")


class Kept(Generic[Arguments, Value]):
    """A function whose values are kept; the one that was not asked for longest goes first.

    Whoever asks for a value that somebody else is computing waits for that one. Streamlit's own cache counts
    entries, and one reading of a large model takes as much memory as a thousand of a small one.

    Args:
        compute: the function; its arguments are hashable.
        size: how many bytes a value takes.
        most: how many bytes are kept; the newest value always is.
    """

    def __init__(self, compute: Callable[Arguments, Value], size: Callable[[Value], int], most: int) -> None:
        update_wrapper(self, compute)
        self._compute, self._size, self._most = compute, size, most
        self._values: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._computing: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Value:
        """The function's value, computed if it is not kept."""
        key = (args, tuple(sorted(kwargs.items())))
        with self._lock:
            alone = self._computing.setdefault(key, threading.Lock())
        with alone:
            try:
                if (kept := self._find(key)) is not None:
                    return kept[0]
                value = self._compute(*args, **kwargs)
                self._keep(key, value)
                return value
            finally:
                with self._lock:
                    self._computing.pop(key, None)

    def clear(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._values.clear()

    @property
    def bytes(self) -> int:
        """How many bytes are kept now."""
        with self._lock:
            return sum(size for _, size in self._values.values())

    def _find(self, key: Hashable) -> tuple[Value, int] | None:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def _keep(self, key: Hashable, value: Value) -> None:
        with self._lock:
            self._values[key] = value, self._size(value)
            while len(self._values) > 1 and sum(size for _, size in self._values.values()) > self._most:
                self._values.popitem(last=False)


def kept(
    size: Callable[[Value], int], most: int
) -> Callable[[Callable[Arguments, Value]], Kept[Arguments, Value]]:
    """Keep what the decorated function returns; see `Kept`."""
    return lambda compute: Kept(compute, size, most)
