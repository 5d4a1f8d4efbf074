"""Runs of pages take turns: who clicks without a pause, in many windows, keeps themselves waiting.

Of an address one run goes on at a time, so that another address finds a free place at once. Amid their runs,
addresses that took much processor time lately wait for those that took little.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner

from attnviz.app.jobs import Lane

_AT_ONCE = 2  # more would not run faster: Python runs one at a time, and another may wait for a model
_PATIENCE_SECONDS = 1.0  # behind runs that wait for something: then it begins, or goes on, beside them
_LATELY_SECONDS = 10.0  # after which a second of processor time counts half
_MUCH_SECONDS = 1.0  # lately: one who clicks every 3 s takes a tenth of it
_MOST_ADDRESSES = 1000

_RUNS = Lane(_AT_ONCE, apart=True)


def apply(measured: Callable[[Callable[..., None]], Callable[..., None]]) -> None:
    """Let the runs of this process take turns.

    Args:
        measured: makes of a function one that measures how long it takes; the wait for the turn counts.
    """
    run_script = ScriptRunner._run_script  # noqa: SLF001 - parts of a page run by it, too
    send = ScriptRunner._enqueue_forward_msg  # noqa: SLF001 - each element of a page goes by it

    @measured
    def run(self: ScriptRunner, *arguments: Any) -> None:
        address = st.context.ip_address
        with _RUNS.turn((address, self._session_id), _PATIENCE_SECONDS), SHARES.run(address):
            run_script(self, *arguments)

    def give_way_and_send(self: ScriptRunner, message: ForwardMsg) -> None:
        SHARES.give_way()
        send(self, message)

    setattr(ScriptRunner, "_run_script", run)  # noqa: B010 - for the type checker: replaced on purpose
    setattr(ScriptRunner, "_enqueue_forward_msg", give_way_and_send)  # noqa: B010 - this too


class Shares:
    """How much processor time each address took lately, and whose runs go on.

    Args:
        patience: for how many seconds a run gives way at most, all in all.
        much: whoever took less seconds lately gives way to nobody.
    """

    def __init__(self, patience: float = _PATIENCE_SECONDS, much: float = _MUCH_SECONDS) -> None:
        self._patience, self._much = patience, much
        self._changed = threading.Condition()
        self._spent: dict[Hashable, tuple[float, float]] = {}  # seconds, and when they were counted
        self._going: list[Hashable] = []
        self._mine = threading.local()

    @contextmanager
    def run(self, address: Hashable) -> Iterator[None]:
        """In here this thread works for somebody at the address."""
        begun = time.thread_time()
        self._mine.address, self._mine.patience = address, self._patience
        with self._changed:
            self._going.append(address)
        try:
            yield
        finally:
            del self._mine.address
            with self._changed:
                self._going.remove(address)
                spent = self._lately(address) + time.thread_time() - begun
                self._spent.pop(address, None)
                self._spent[address] = spent, time.monotonic()
                if len(self._spent) > _MOST_ADDRESSES:
                    del self._spent[next(iter(self._spent))]
                self._changed.notify_all()

    def give_way(self) -> None:
        """If this run's address took much, wait while one goes on whose took less than half as much."""
        if len(self._going) < 2 or not hasattr(self._mine, "address"):
            return
        begun = time.monotonic()
        with self._changed:
            self._changed.wait_for(lambda: not self._is_greedy(self._mine.address), self._mine.patience)
        self._mine.patience = max(0.0, self._mine.patience - (time.monotonic() - begun))

    def _is_greedy(self, address: Hashable) -> bool:
        spent = self._lately(address)
        return spent >= self._much and any(2 * self._lately(other) < spent for other in self._going)

    def _lately(self, address: Hashable) -> float:
        spent, at = self._spent.get(address, (0.0, 0.0))
        return float(spent * 0.5 ** ((time.monotonic() - at) / _LATELY_SECONDS))


SHARES = Shares()
"""This server's."""
