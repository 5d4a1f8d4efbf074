"""Access to session state; no other file uses `st.session_state`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import RerunException

STALE_SECONDS = 2.0
"""Time after a selection is drawn during which widgets can still send older values."""

_PICKED = "picked values"


def get(name: str, default: Any = None) -> Any:
    """Return a value by name, set by a widget or by the app; the default if there is none."""
    return st.session_state.get(name, default)


def has(name: str) -> bool:
    """Return whether there is a value with this name."""
    return name in st.session_state


def put(name: str, value: Any) -> None:
    """Set a value; a widget with this key then shows it."""
    st.session_state[name] = value


def forget(name: str) -> Any:
    """Remove and return a value; None if there is none."""
    return st.session_state.pop(name, None)


def received(widget: str, trigger: str) -> Any:
    """Return the value of a widget's trigger; None if there is none or the widget is no longer drawn."""
    return st.session_state.get(widget, {}).get(trigger)


@dataclass
class _PickedValues:
    """Previous values and values selected in a picture, by name, and the time when they were drawn."""

    before: dict[str, Any]
    now: dict[str, Any]
    drawn: float | None = None


def pick(values: Mapping[str, Any]) -> None:
    """Set values that a visitor selected in a picture; `keep_picked` then protects them."""
    before = {name: get(name) for name in values}
    st.session_state.update(values)
    put(_PICKED, _PickedValues(before, dict(values)))


def keep_picked() -> None:
    """Restore selected values that an older widget state has overwritten.

    During a computation the page polls every second and sends the values of all widgets: the old
    values, until it has drawn the selection. Call this function before those widgets are drawn.
    """
    picked: _PickedValues | None = get(_PICKED)
    if picked is None or (picked.drawn is not None and time.monotonic() - picked.drawn >= STALE_SECONDS):
        return
    if all(get(name) == value for name, value in picked.before.items()):
        st.session_state.update(picked.now)
        picked.drawn = None


@contextmanager
def drawing() -> Iterator[None]:
    """Record the time when the page, including the selection, has been drawn inside this context.

    On a busy server, drawing the page can take longer than `STALE_SECONDS`.
    """
    picked: _PickedValues | None = get(_PICKED)

    def record_time() -> None:
        if picked is not None and picked.drawn is None:
            picked.drawn = time.monotonic()

    with once_drawn(record_time):
        yield


@contextmanager
def once_drawn(then: Callable[[], None]) -> Iterator[None]:
    """Call a function after the page is drawn inside this context.

    The function is also called if the page stops early or fails, but not if it requests a rerun.
    """
    is_rerun = False
    try:
        yield
    except RerunException:
        is_rerun = True
        raise
    finally:
        if not is_rerun:
            then()
