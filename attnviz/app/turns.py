"""Runs of pages take turns: who clicks without a pause, in many windows, keeps themselves waiting.

Of an address one run goes on at a time, so that another address finds a free place at once.
"""

from collections.abc import Callable
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner

from attnviz.app.jobs import Lane

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
        with _RUNS.turn((st.context.ip_address, self._session_id), _PATIENCE_SECONDS):
            run_script(self, *arguments)

    setattr(ScriptRunner, "_run_script", run)  # noqa: B010 - for the type checker: replaced on purpose
