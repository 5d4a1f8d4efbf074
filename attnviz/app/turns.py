"""Runs of pages take turns: who clicks without a pause, in many windows, keeps themselves waiting.

Of an address one run goes on at a time, so that another address finds a free place at once.
"""

from collections.abc import Callable
from threading import Event
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner

from attnviz.app.jobs import Lane, Visitor

_AT_ONCE = 2  # more would not run faster: Python runs one at a time, and another may wait for a model
_PATIENCE_SECONDS = 1.0  # behind runs that wait for something: then it begins beside them

_RUNS = Lane(_AT_ONCE, apart=True)


def apply(measured: Callable[[Callable[..., None]], Callable[..., None]]) -> None:
    """Let the runs of this process take turns.

    Args:
        measured: makes of a function one that measures how long it takes; the wait for the turn counts.
    """
    run_script = ScriptRunner._run_script  # noqa: SLF001 - parts of a page run by it, too

    @measured
    def run(self: ScriptRunner, *arguments: Any) -> None:
        in_turn(lambda: run_script(self, *arguments), (st.context.ip_address, self._session_id))

    setattr(ScriptRunner, "_run_script", run)  # noqa: B010 - for the type checker: replaced on purpose


def in_turn(run: Callable[[], None], visitor: Visitor, lane: Lane = _RUNS) -> None:
    """Run this when it is the visitor's turn, in this thread."""
    turn, done = Event(), Event()

    def hold() -> None:
        turn.set()
        done.wait()

    place = lane.submit(hold, visitor)
    try:
        if not turn.wait(_PATIENCE_SECONDS):
            place.cancel()
        run()
    finally:
        done.set()
