"""What is remembered of one visit. The only file that touches Streamlit's session state."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import RerunException

STALE_SECONDS = 2.0
"""How long after a pick was drawn the widgets may still send the values before it."""

_PICKED = "what was picked"
_VISITOR = "the visitor"


def get(name: str, default: Any = None) -> Any:
    """The value of this name: a widget's, or what the app put there; the default where there is none."""
    return st.session_state.get(name, default)


def has(name: str) -> bool:
    """Whether there is a value of this name."""
    return name in st.session_state


def put(name: str, value: Any) -> None:
    """Remember a value; a widget with this key then shows it."""
    st.session_state[name] = value


def forget(name: str) -> Any:
    """Forget the value of this name, and return it; None where there is none."""
    return st.session_state.pop(name, None)


def received(widget: str, trigger: str) -> Any:
    """What came with a browser widget's trigger; None where the widget has gone from the page since."""
    return st.session_state.get(widget, {}).get(trigger)


def visitor() -> object:
    """The visitor: this visit."""
    if not has(_VISITOR):
        put(_VISITOR, object())
    return get(_VISITOR)


@dataclass
class _Picked:
    """Picked values, the values before, by name, and when the page had drawn them."""

    before: dict[str, Any]
    now: dict[str, Any]
    drawn: float | None = None


def pick(values: Mapping[str, Any]) -> None:
    """Put values that a visitor picked in a picture; `keep_picked` then defends them."""
    before = {name: get(name) for name in values}
    st.session_state.update(values)
    put(_PICKED, _Picked(before, dict(values)))


def keep_picked() -> None:
    """Pass over the values of a message that was on its way when something was picked.

    During a computation the page requests news every second, and sends all values of its widgets
    with it: the values before, if it has not drawn the pick yet. Call it before those widgets are drawn.
    """
    picked: _Picked | None = get(_PICKED)
    if picked is None or (picked.drawn is not None and time.monotonic() - picked.drawn >= STALE_SECONDS):
        return
    if all(get(name) == value for name, value in picked.before.items()):
        st.session_state.update(picked.now)
        picked.drawn = None


@contextmanager
def drawing() -> Iterator[None]:
    """In here the page is drawn; once it is, the browser learns what was picked.

    On a busy server, drawing the page can take longer than `STALE_SECONDS`.
    """
    picked: _Picked | None = get(_PICKED)

    def note() -> None:
        if picked is not None and picked.drawn is None:
            picked.drawn = time.monotonic()

    with once_drawn(note):
        yield


@contextmanager
def once_drawn(then: Callable[[], None]) -> Iterator[None]:
    """In here the page is drawn; then this is called.

    A page that stops early, or fails, is drawn; one that begins anew is not.
    """
    begins_anew = False
    try:
        yield
    except RerunException:
        begins_anew = True
        raise
    finally:
        if not begins_anew:
            then()
