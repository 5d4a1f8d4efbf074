"""Runs of pages take turns: who clicks without a pause, in many windows, keeps themselves waiting.

Of an address one run goes on at a time, so that another address finds a free place at once. A run stands
aside, between two elements of its page, for those of addresses that have used less processor time of late.
An address that has used much of it pauses between its runs while others are here.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from math import exp, log
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner

from attnviz.app.jobs import Lane

_AT_ONCE = 2  # more would not run faster: Python runs one at a time, and another may wait for a model
# Behind runs that wait for something: then it begins beside them. Behind runs that compute it waits longer,
# by five times what these have used of late; else ten windows of one visitor would run beside each other.
_PATIENCE_SECONDS, _TIMES_LONGER = 1.0, 5
_MOST_PATIENCE_SECONDS = 8.0  # a page that has not asked for its job for 10 s loses it

LATE_SECONDS = 5.0
"""Of what was used so long ago, 1/e counts."""

MUCH_SECONDS = 1.5
"""So much of late is too much of an address while others are here: twenty clicks a second."""

EACH_SECONDS = 0.025
"""And so much for each of its visits, if that is more: a click every three seconds."""

_LITTLE_SECONDS = 0.05  # a difference in processor time for which nobody stands aside
_HERE_SECONDS = 0.001  # what a click used ten seconds ago, or longer; who has used less has gone
_GONE_SECONDS = 60.0  # a visit that has not clicked for so long is not counted
_ASIDE_SECONDS = 1.0  # for so long a run stands aside, at most
_SENT_SECONDS = 0.01  # and this longer, in which what the other run said is sent
_LOOKS_AGAIN_SECONDS = 0.002  # a run is asked hundreds of times, at each look at what stands in a widget
_MOST_COUNTED = 1000  # addresses

_RUNS = Lane(_AT_ONCE, apart=True)


class Shares:
    """How much processor time each address has used of late, and whose runs go on."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._used: dict[object, tuple[float, float]] = {}
        self._running: list[object] = []
        self._visits: dict[tuple[object, object], float] = {}
        self._here = threading.local()

    @contextmanager
    def run(self, address: object, visit: object = None) -> Iterator[None]:
        """A run of an address goes on in here, in this thread; `visit` tells its visits from each other."""
        here = self._here
        here.address, here.counted = address, time.thread_time()
        here.patience, here.looks_again = _ASIDE_SECONDS, 0.0
        with self._changed:
            self._running.append(address)
            self._visits[address, visit] = time.monotonic()
        try:
            yield
        finally:
            with self._changed:
                self._count()
                self._running.remove(address)
                here.patience = 0
                self._changed.notify_all()

    def stand_aside(self) -> None:
        """Wait in a run while one of an address that has used less goes on; elsewhere do nothing."""
        here, begun = self._here, time.monotonic()
        if getattr(here, "patience", 0) <= 0 or len(self._running) < 2 or begun < here.looks_again:
            return
        here.looks_again = begun + _LOOKS_AGAIN_SECONDS
        with self._changed:
            self._count()
            waits = self._others_first()
            self._changed.wait_for(lambda: not self._others_first(), here.patience)
        if waits:
            time.sleep(_SENT_SECONDS)
        here.patience -= time.monotonic() - begun

    def patience(self, address: object) -> float:
        """How many seconds a run of an address waits for those of the same address before it."""
        return min(_PATIENCE_SECONDS + _TIMES_LONGER * self._of_late(address), _MOST_PATIENCE_SECONDS)

    def rest(self, address: object) -> float:
        """How many seconds an address should pause after a run, if it has used much and others are here."""
        with self._changed:
            gone = time.monotonic() - _GONE_SECONDS
            self._visits = {visit: at for visit, at in self._visits.items() if at > gone}
            if not any(self._of_late(each) > _HERE_SECONDS for each in self._used if each != address):
                return 0.0
            visits = sum(whose == address for whose, _ in self._visits)
            much = max(MUCH_SECONDS, EACH_SECONDS * visits)
            return LATE_SECONDS * log(max(self._of_late(address), much) / much)

    def _others_first(self) -> bool:
        mine = self._of_late(self._here.address)
        return any(self._of_late(each) + _LITTLE_SECONDS < mine for each in self._running)

    def _count(self) -> None:
        """Count what this thread has used since it was counted last; whoever calls it holds the lock."""
        here, now = self._here, time.thread_time()
        used = self._of_late(here.address) + now - here.counted
        here.counted = now
        self._used[here.address] = used, time.monotonic()
        if len(self._used) > _MOST_COUNTED:
            del self._used[min(self._used, key=self._of_late)]

    def _of_late(self, address: object) -> float:
        """How many seconds of processor time an address has used of late."""
        used, at = self._used.get(address, (0.0, 0.0))
        return used * exp((at - time.monotonic()) / LATE_SECONDS)


_SHARES = Shares()


def apply(measured: Callable[[Callable[..., None]], Callable[..., None]]) -> None:
    """Let the runs of this process take turns.

    Args:
        measured: makes of a function one that measures how long it takes; the wait for the turn counts.
    """
    run_script = ScriptRunner._run_script  # noqa: SLF001 - parts of a page run by it, too
    answer_requests = ScriptRunner._maybe_handle_execution_control_request  # noqa: SLF001 - before each element

    @measured
    def run(self: ScriptRunner, *arguments: Any) -> None:
        address = st.context.ip_address
        patience, rest = _SHARES.patience(address), partial(_SHARES.rest, address)
        with _RUNS.turn((address, self._session_id), patience, rest), _SHARES.run(address, self._session_id):
            run_script(self, *arguments)

    def between_elements(self: ScriptRunner) -> None:
        answer_requests(self)
        _SHARES.stand_aside()

    setattr(ScriptRunner, "_run_script", run)  # noqa: B010 - for the type checker: replaced on purpose
    setattr(ScriptRunner, "_maybe_handle_execution_control_request", between_elements)  # noqa: B010 - this too
