"""What visitors notice when servers die or are renewed, store and disk fail, and one visitor is hostile.

A real browser's visit to Explore is recorded (`benchmarks.replay`) and repeated by so many visitors, each in
a session of their own, with a pause before each click. Two servers stand behind the proxy of `compose.yaml`.
Amid the clicks, one is killed. Then both are renewed: each is told to end, says for some seconds that it is
not ready, ends, and starts anew. Who is cut off comes back with the proxy's cookie, as a browser does,
and sends again what it had told. From the next click on, each text and picture must be the one that the
browser got: all that was chosen is still there. Then the store of live rooms is stopped for some seconds, in
which the servers can write no file, as if the disk were full. All the while students vote in a live room.

Last, on one server, quiet visitors click first alone, then beside one from another address who clicks in ten
windows without a pause, and in each types texts of some 450 tokens, no two alike.

It ends with 1 if a bound is missed. Visitors and servers share this machine's cores. With `--minutes=30` the
faults before the last follow each other for as long.

Run: python -m benchmarks.chaos [visitors] [--minutes=N] [--smoke]
"""

from __future__ import annotations

import asyncio
import itertools
import json
import multiprocessing
import os
import re
import resource
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.synchronize import Event
from pathlib import Path
from random import Random
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import ClientConnection

from attnviz.trace import Floats
from benchmarks.browser import launched
from benchmarks.classroom import lesson, room_of
from benchmarks.page import load_the_model
from benchmarks.proxy import proxied, wait_for
from benchmarks.replay import PATIENCE_SECONDS, SENTENCE, anew, is_pick, record, with_sentence
from benchmarks.report import Report, parser
from tests.app.classroom import redis_server
from tests.browser.server import Server, running

VISITORS, PAUSE_SECONDS = 30, 3.0
BACK_TARGET = 5.0
LEAVE_SECONDS, AWAY_SECONDS, STUDENTS = 5, 10, 10
WINDOWS, QUIET, FAIR_TARGET = 10, 10, 2.0
_HOSTILE = "127.0.0.2"
_REPEATED = 32  # the sentence in a text of the hostile visitor's: 450 tokens


class Click(NamedTuple):
    """One click: when, how long its answer took, which server gave it, and how many elements were wrong."""

    at: float
    seconds: float
    server: str
    wrong: int


class Shown(NamedTuple):
    """A text or a picture, without what differs from server to server.

    Attributes:
        said: all but its fractions; without the names that are made of them.
        numbers: the fractions. Sentences that wait together run through the model together, and then their
            last bits differ.
    """

    said: str
    numbers: Floats

    def is_like(self, other: Shown | None) -> bool:
        """Whether a visitor sees the same."""
        if other is None or self.said != other.said or self.numbers.shape != other.numbers.shape:
            return False
        return np.allclose(self.numbers, other.numbers, rtol=0, atol=_LAST_BITS)


_LAST_BITS = 1e-4
_DIGEST, _FRACTION = re.compile(r"[0-9a-f]{40}"), re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_sent: dict[str, Shown | None] = {}  # by the hash of an element, which is sent once

Places = dict[tuple[int, ...], Shown]


def _shown(said: ForwardMsg) -> Shown | None:
    """What is seen; None of what boxes hold: that is the browser's, and told to it when it changes."""
    kind = said.delta.new_element.WhichOneof("type")
    if kind not in {"heading", "markdown", "bidi_component"}:
        return None
    numbers = []
    component = said.delta.new_element.bidi_component
    if kind == "bidi_component" and component.WhichOneof("data") == "bytes":
        data = component.bytes
        begin = 4 + int.from_bytes(data[:4], "little")
        for array in json.loads(data[4:begin])["arrays"]:
            start, dtype = begin + array["offset"], np.dtype(array["dtype"])
            numbers.append(np.frombuffer(data[start : start + array["length"]], dtype))
        component.bytes = data[:begin]
    said.ClearField("hash")
    text = _DIGEST.sub("", str(said))
    numbers.append(np.array(_FRACTION.findall(text), np.float32))
    return Shown(_FRACTION.sub("", text), np.concatenate(numbers, dtype=np.float32))


def answer(socket: ClientConnection, message: bytes) -> Places:
    """Send a message; the texts and pictures of the page then, place by place."""
    socket.send(message)
    places: Places = {}
    while True:
        said = ForwardMsg.FromString(socket.recv(PATIENCE_SECONDS, decode=False))
        kind = said.WhichOneof("type")
        if kind in {"delta", "ref_hash"}:
            name, place = said.ref_hash or said.hash, tuple(said.metadata.delta_path)
            shown = _sent[name] if name in _sent else _shown(said)
            if name:
                _sent[name] = shown
            if shown is not None:
                places[place] = shown
        elif kind == "script_finished" and said.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
            return places


def visit(
    door: Server,
    messages: Sequence[bytes],
    expected: Sequence[Places],
    seed: int,
    pause: float,
    address: str = "127.0.0.1",
) -> list[Click]:
    """One visitor, who comes back whenever they are cut off.

    A click in a picture that was cut off is made again. Any other choice comes back with the browser, for the
    whole page: what it then shows is not compared, but all that follows is.
    """
    dice = Random(seed)  # noqa: S311 - pauses are no secret
    clicks: list[Click] = []
    cookie, begun = "", None
    while len(clicks) < len(messages):
        with (
            suppress(ConnectionClosed, InvalidHandshake, OSError),
            door.websocket(door.url, {"Cookie": cookie}, address) as socket,
        ):
            set_to = socket.response.headers.get("Set-Cookie", "") if socket.response else ""
            cookie = set_to.partition(";")[0] or cookie
            first = len(clicks)
            for number in range(first, len(messages)):
                if begun is None:
                    time.sleep(dice.expovariate(1 / pause) if pause else 0)
                    begun = time.perf_counter()
                back = bool(first) and number == first
                if back:
                    answer(socket, anew(messages[number]))
                wrong = 0
                if not back or is_pick(messages[number]):
                    places = answer(socket, messages[number])
                    shown = expected[number].items() if expected else ()
                    wrong = sum(not element.is_like(places.get(place)) for place, element in shown)
                clicks.append(Click(begun, time.perf_counter() - begun, cookie, wrong))
                begun = None
        time.sleep(0.2)
    return clicks


def visits(
    door: Server, recorded: Sequence[bytes], expected: Sequence[Places], count: int, pause: float
) -> list[list[Click]]:
    """So many visitors at once."""
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda seed: visit(door, recorded, expected, seed, pause), range(count)))


def print_clicks(report: Report, seen: Sequence[Sequence[Click]]) -> None:
    """How long they waited, and that nothing was lost."""
    clicks = [click for each in seen for click in each]
    longest = max(click.seconds for click in clicks)
    report.row("the longest wait", f"{longest:.1f} s", f"≤ {BACK_TARGET:.0f} s", met=longest <= BACK_TARGET)
    wrong = sum(click.wrong for click in clicks)
    report.row("texts and pictures that are not what the browser was shown", f"{wrong:,}", "0", met=not wrong)


def p95(clicks: Sequence[Click]) -> float:
    """In milliseconds."""
    return 1000 * float(np.percentile([click.seconds for click in clicks], 95)) if clicks else float("nan")


class Replicas:
    """Two servers behind one proxy, with one store for live rooms."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._store = stack.enter_context(ExitStack())
        self._kept = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        store = self._store.enter_context(redis_server.running(self._kept))
        settings = {"ATTNVIZ_ROOMS": store, "ATTNVIZ_LEAVE_SECONDS": str(LEAVE_SECONDS)}
        stack.enter_context(patch.dict(os.environ, settings))
        self.servers = [self._start(0) for _ in range(2)]
        self.door = replace(self.servers[0], url=stack.enter_context(proxied(self.servers)))

    def _start(self, port: int) -> Server:
        home = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        server = self._stack.enter_context(running(home, port=port))
        wait_for(f"{server.url}/ready")
        return server

    def kill(self, number: int) -> None:
        """End a server without a word."""
        self.servers[number].process.kill()
        self.servers[number].process.wait()

    def start_again(self, number: int) -> None:
        """Start it where it was, and wait until the proxy knows."""
        self.servers[number] = self._start(int(self.servers[number].url.rpartition(":")[2]))
        time.sleep(2)

    def lose_store_and_disk(self) -> None:
        """For some seconds there is no store, and no server can write a file."""
        for server in self.servers:
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        self._store.close()
        time.sleep(AWAY_SECONDS)
        self._store.enter_context(redis_server.running(self._kept))
        for server in self.servers:
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)

    def renew_all(self) -> None:
        """One after the other, as a rolling update does."""
        for number, server in enumerate(self.servers):
            server.process.terminate()
            server.process.wait()
            self.start_again(number)


@dataclass(frozen=True)
class Disturbed:
    """Visitors of two servers, amid whose visits something happens.

    Attributes:
        report: where it is printed what they noticed.
        replicas: the servers.
        messages, expected: what each visitor says, and what is to be seen then.
        count: how many visitors there are.
        pause: seconds between clicks, on average.
    """

    report: Report
    replicas: Replicas
    messages: Sequence[bytes]
    expected: Sequence[Places]
    count: int
    pause: float

    def by(self, what: str, disturb: Callable[[], None]) -> tuple[list[list[Click]], float]:
        """The clicks, and when it happened."""
        with ThreadPoolExecutor(1) as pool:

            def after_a_third() -> float:
                time.sleep(len(self.messages) * self.pause / 3)
                at = time.perf_counter()
                disturb()
                return at

            done = pool.submit(after_a_third)
            seen = visits(self.replicas.door, self.messages, self.expected, self.count, self.pause)
            at = done.result()
        self.report.section(f"Two servers, {self.count} visitors, {what}")
        print_clicks(self.report, seen)
        return seen, at

    def by_a_killed_server(self) -> None:
        """About half of the visitors lose their server."""
        seen, at = self.by("one server killed", lambda: self.replicas.kill(1))
        lost = [clicks for clicks in seen if len({click.server for click in clicks}) > 1]
        self.report.row("visitors who lost their server", f"{len(lost)} of {self.count}")
        others = [click for clicks in seen if clicks not in lost for click in clicks]
        before, after = ([c for c in others if (c.at < at) is early] for early in (True, False))
        self.report.row("p95 of the others before and after", f"{p95(before):.0f} and {p95(after):.0f} ms")
        self.replicas.start_again(1)

    def by_all(self) -> None:
        """A killed server, a rolling update, and what visitors of Explore do not need."""
        self.by_a_killed_server()
        self.by("both renewed one after the other", self.replicas.renew_all)
        self.by(f"without store and disk for {AWAY_SECONDS} s", self.replicas.lose_store_and_disk)


@contextmanager
def voting(address: str) -> Iterator[list[bool]]:
    """A room in which one poll follows the other; of each, whether every vote was counted, and none twice."""
    counted, over = list[bool](), threading.Event()

    async def polls() -> None:
        async with lesson(room_of(address), STUDENTS) as taught:
            while not over.is_set():
                counted.append(await taught.poll())

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(asyncio.run, polls())
        try:
            yield counted
        finally:
            over.set()
        done.result()


def without_a_pause(server: Server, messages: Sequence[bytes], windows: int, begun: Event) -> None:
    """What a hostile visitor does, on a computer of their own: it takes only what the others here leave."""
    os.nice(19)
    number = itertools.count(time.time_ns())

    def window() -> None:
        while True:
            text = f"{next(number)} " + " ".join([SENTENCE] * _REPEATED)
            visit(server, with_sentence(messages, text), (), 0, 0, _HOSTILE)

    threads = [threading.Thread(target=window) for _ in range(windows)]
    for thread in threads:
        thread.start()
    begun.set()


def one_hostile(report: Report, messages: Sequence[bytes], quiet: int, windows: int, pause: float) -> None:
    """Quiet visitors alone, and beside one who never pauses."""
    with tempfile.TemporaryDirectory() as home, running(Path(home)) as server:
        wait_for(f"{server.url}/ready")
        visits(server, messages, (), quiet, 0)
        alone = [click for clicks in visits(server, messages, (), quiet, pause) for click in clicks[1:]]
        there = replace(server, process=None)  # type: ignore[arg-type]  # it cannot be sent, and is not asked for
        context = multiprocessing.get_context("spawn")
        begun = context.Event()  # what is imported before would take time of the server's
        hostile = context.Process(target=without_a_pause, args=(there, messages, windows, begun))
        hostile.start()
        begun.wait()
        beside = [click for clicks in visits(server, messages, (), quiet, pause) for click in clicks[1:]]
        hostile.kill()
        hostile.join()
    report.section(f"{quiet} quiet visitors, and one with {windows} windows who never pauses")
    report.row("p95 alone", f"{p95(alone):.0f} ms")
    ratio = p95(beside) / p95(alone)
    said = f"≤ {FAIR_TARGET:.0f} times as much"
    report.row("p95 beside the other", f"{p95(beside):.0f} ms", said, met=ratio <= FAIR_TARGET)


def main(count: int, quiet: int, pause: float, minutes: float = 0) -> bool:
    """Record, disturb, for so many minutes at least, and print; return whether every bound was kept."""
    with ExitStack() as stack:
        browser = stack.enter_context(launched())
        report = Report("Visitors of Explore, disturbed", browser.version)
        replicas = Replicas(stack)
        load_the_model(browser, replicas.servers[0].url)
        messages = [exchange.message for exchange in record(browser, replicas.servers[0])]
        with replicas.servers[0].websocket(replicas.servers[0].url) as socket:
            expected = [answer(socket, message) for message in messages]
        visits(replicas.door, messages, expected, 4, 0)
        end = time.monotonic() + 60 * minutes
        with voting(replicas.door.url) as counted:
            disturbed = Disturbed(report, replicas, messages, expected, count, pause)
            disturbed.by_all()
            while time.monotonic() < end:
                disturbed.by_all()
        report.section(f"A live room with {STUDENTS} students all the while")
        told = f"in {sum(counted)} of {len(counted)} polls"
        report.row("all votes counted, none twice", told, "in all", met=all(counted))
    one_hostile(report, messages, quiet, WINDOWS, pause)
    report.end()
    return not report.missed


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("visitors", type=int, nargs="?", default=VISITORS)
    arguments.add_argument("--minutes", type=float, default=0)
    asked = arguments.parse_args()
    if asked.smoke:
        main(2, 2, 0.5)
    elif not main(asked.visitors, QUIET, PAUSE_SECONDS, asked.minutes):
        raise SystemExit(1)
