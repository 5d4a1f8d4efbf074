"""Measure the waiting times of many concurrent visitors to Explore, each with a different sentence.

The visit of a real browser is recorded (`benchmarks.recording`). Visitors then replay it, each in a separate
session, with a different noun in the typed sentence and a random pause before each click: exponentially
distributed with a mean of 3 s and a fixed seed. They arrive within the first 3 s.

Then visitors type a new sentence and open Matrix and Heatmap (`picture_clicks`); no results are cached.

Then 200 visitors use two servers behind the proxy of `compose.yaml`. Last, 30 visitors arrive together at a
server that has just become ready, each with a different sentence.

As a baseline for Streamlit itself, 60 visitors make the same number of clicks on an empty page with one
switch. Visitors and servers share this machine's cores.

Run: python -m benchmarks.visitors [visitors …] [--smoke]
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import psutil
from playwright.sync_api import Page
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import ClientConnection

from attnviz.trained.storyteller.grammar import NOUNS
from benchmarks.browser import launched
from benchmarks.page import WITH_EMPTY_PAGE, load_model
from benchmarks.proxy import run_proxy, wait_for
from benchmarks.recording import SENTENCE, TIMEOUT_SECONDS, after_reconnection, clicks, record, with_sentence
from benchmarks.report import Report, parser
from tests.browser.explore import Explore
from tests.browser.server import Server, running

VISITORS = (30, 60, 100, 200)
TARGETS = {60: 0.3, 100: 1.0}
"""The target for the 95th percentile of the waiting times, in seconds, by number of visitors."""

PICTURES_TARGETS = {30: 1.0, 60: 2.0}
"""The same target for visitors who open pictures of a new sentence."""

RUN_TARGET = 0.025
"""The target for the CPU time per script run, in seconds."""

EMPTY_PAGE_VISITORS = 60
"""The number of visitors to the empty page."""

BUSY = b"This server is busy"
CROWD, CROWD_TARGET = 200, 1.0
FEW, COLD_TARGET = 30, 4.0
PAUSE_SECONDS = 3.0
CLICKS = 16
_NOUN = "trophy"


def messages_of_visitor(recorded: Sequence[bytes], number: int, sentence: str = SENTENCE) -> list[bytes]:
    """Return the messages of visitor `number`, with a variant of the sentence that no other visitor has."""
    first, second = divmod(number, len(NOUNS))
    nouns = f"{NOUNS[second]}{' and the ' + NOUNS[first] if first else ''}"
    return with_sentence(recorded, sentence.replace(_NOUN, nouns), sentence)


def answer(socket: ClientConnection, message: bytes) -> None:
    """Send a message, and wait for the complete answer."""
    socket.send(message)
    while True:
        received = socket.recv(TIMEOUT_SECONDS, decode=False)
        if BUSY in received:
            raise RuntimeError("The server refused a visitor's sentence.")
        if len(received) > 100:  # bytes; the last message of an answer is shorter
            continue
        forwarded = ForwardMsg.FromString(received)
        if forwarded.WhichOneof("type") == "script_finished" and (
            forwarded.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN
        ):
            return


def visit(server: Server, messages: Sequence[bytes], seed: int, pause: float) -> list[float]:
    """Replay one visit; return the seconds until each answer.

    After a lost connection, the visitor reconnects and repeats the last message, which contains all settings.
    """
    generator = Random(seed)  # noqa: S311 - not for security
    pauses = iter(
        [
            generator.random() * pause,
            *(generator.expovariate(1 / pause) if pause else 0 for _ in messages[1:]),
        ]
    )
    waits: list[float] = []
    begun = None
    while len(waits) < len(messages):
        with suppress(ConnectionClosed, InvalidHandshake, OSError), server.websocket(server.url) as socket:
            first = len(waits)
            for number in range(first, len(messages)):
                if begun is None:
                    time.sleep(next(pauses))
                    begun = time.perf_counter()
                if number == first and first:
                    answer(socket, after_reconnection(messages[number]))
                answer(socket, messages[number])
                waits.append(time.perf_counter() - begun)
                begun = None
    return waits


def replay(
    servers: Sequence[Server],
    entrance: Server,
    recorded: Sequence[bytes],
    count: int,
    pause: float,
    sentence: str = SENTENCE,
) -> tuple[list[float], float, float]:
    """Return all waits except each visitor's first (s), the CPU time per run (s), and the memory (bytes).

    Args:
        servers: the servers to measure.
        entrance: the server that visitors connect to: one of `servers`, or their proxy.
        recorded: the messages of one visitor.
        count: the number of visitors.
        pause: the mean pause before a click, in seconds.
        sentence: the sentence that the recorded visitor typed.
    """
    processes = [psutil.Process(server.process.pid) for server in servers]
    before = sum(sum(process.cpu_times()[:2]) for process in processes)
    with ThreadPoolExecutor(count) as pool:
        visits = pool.map(
            lambda n: visit(entrance, messages_of_visitor(recorded, n, sentence), n, pause), range(count)
        )
        waits = [second for seconds in visits for second in seconds[1:]]
    used = sum(sum(process.cpu_times()[:2]) for process in processes) - before
    memory = sum(process.memory_info().rss for process in processes)
    return waits, used / (len(waits) + count), memory


def print_waits(report: Report, title: str, waits: Sequence[float], target: float | None = None) -> None:
    """Begin a section of the table with percentiles of the waiting times."""
    report.section(f"{title}, {len(waits):,} clicks")
    p50, p95, p99 = np.percentile(waits, (50, 95, 99))
    figure = f"{p50 * 1000:.0f} / {p95 * 1000:.0f} / {p99 * 1000:.0f} ms"
    limit, met = ("", None) if target is None else (f"p95 ≤ {target * 1000:.0f} ms", bool(p95 <= target))
    report.row("from a click to the end of its answer: p50 / p95 / p99", figure, limit, met=met)


def empty_page_clicks(page: Page, url: str) -> Iterator[Callable[[], object]]:
    """Yield clicks on the empty page, as many as on Explore."""
    yield partial(page.goto, f"{url}/empty")
    yield from [page.locator(".st-key-switch label").first.click] * CLICKS


def picture_clicks(page: Page, url: str) -> Iterator[Callable[[], object]]:
    """Yield the actions of typing a sentence and opening different pictures."""
    explore = Explore(page, url)
    yield explore.open
    yield partial(explore.type, "Sentence", SENTENCE)
    for style in ("Matrix", "Heatmap"):
        yield partial(explore.choose, "Picture", style)


def pictures(
    report: Report, server: Server, recorded: Sequence[bytes], counts: Sequence[int], pause: float
) -> None:
    """Report the waiting times of visitors with new sentences, for each number of visitors."""
    for index, count in enumerate(counts):
        sentence = SENTENCE.replace("The", f"The {NOUNS[index]} and the")
        messages = with_sentence(recorded, sentence)
        waits, run, _ = replay([server], server, messages, count, pause, sentence)
        print_waits(report, f"{count} visitors who open pictures", waits, PICTURES_TARGETS.get(count))
        report.row("CPU time per run", f"{run * 1000:.1f} ms")
    failed = len(server.tracebacks())
    report.row("errors in the server's log", str(failed), "0", met=not failed)


def one_server(
    report: Report, server: Server, recorded: Sequence[bytes], counts: Sequence[int], pause: float
) -> None:
    """Report the measurements of one server with increasing numbers of visitors."""
    replay([server], server, recorded, min(counts), 0)  # fills the caches
    for count in counts:
        waits, run, memory = replay([server], server, recorded, count, pause)
        print_waits(report, f"{count} visitors", waits, TARGETS.get(count))
        report.row(
            "CPU time per run",
            f"{run * 1000:.1f} ms",
            f"≤ {RUN_TARGET * 1000:.0f} ms",
            met=run <= RUN_TARGET,
        )
        report.row("memory of the server", f"{memory / 1e6:.0f} MB")


def empty_page(report: Report, server: Server, recorded: Sequence[bytes], count: int, pause: float) -> None:
    """Report the waiting times on the empty page."""
    waits, run, _ = replay([server], server, recorded, count, pause)
    print_waits(report, f"{count} visitors to an empty page", waits)
    report.row("CPU time per run", f"{run * 1000:.1f} ms")


def two_servers(report: Report, recorded: Sequence[bytes], count: int, pause: float) -> None:
    """Report the waiting times on two servers behind a proxy."""
    with ExitStack() as stack:
        homes = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2)]
        servers = [stack.enter_context(running(home)) for home in homes]
        url = stack.enter_context(run_proxy(servers))
        entrance = replace(servers[0], url=url)
        replay(servers, entrance, recorded, min(FEW, count), 0)
        waits, _, _ = replay(servers, entrance, recorded, count, pause)
        print_waits(report, f"Two servers, {count} visitors", waits, CROWD_TARGET)


def cold_server(report: Report, recorded: Sequence[bytes], count: int) -> None:
    """Report the waiting times of visitors who arrive together at a server that has just started."""
    typed = next(number for number, message in enumerate(recorded) if SENTENCE.encode() in message)
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as home, running(Path(home)) as server:
        wait_for(f"{server.url}/ready")
        ready = time.perf_counter() - begun
        waits, _, _ = replay([server], server, [recorded[0], recorded[typed]], count, 0)
    print_waits(report, f"A server that has just started, {count} visitors with one sentence each", waits)
    longest = max(waits)
    report.row("longest wait", f"{longest:.1f} s", f"≤ {COLD_TARGET:.0f} s", met=longest <= COLD_TARGET)
    report.row("from the start of the process until the server is ready", f"{ready:.1f} s")


def main(counts: Sequence[int], crowd: int, few: int, pause: float) -> None:
    """Record the visits, replay them, and print the results."""
    with (
        tempfile.TemporaryDirectory() as home,
        running(Path(home), WITH_EMPTY_PAGE) as server,
        launched() as browser,
    ):
        report = Report("Visitors to Explore who click every 3 s", browser.version)
        load_model(browser, server.url)
        recorded, empty, opening = (
            record(browser, server, each) for each in (clicks, empty_page_clicks, picture_clicks)
        )
        empty_page(report, server, empty, min(EMPTY_PAGE_VISITORS, max(counts)), pause)
        one_server(report, server, recorded, counts, pause)
        pictures(report, server, opening, [n for n in counts if n in PICTURES_TARGETS] or counts, pause)
    two_servers(report, recorded, crowd, pause)
    cold_server(report, recorded, few)
    report.end()


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("visitors", type=int, nargs="*", default=VISITORS)
    options = arguments.parse_args()
    if options.smoke:
        main((2,), 2, 2, 0.1)
    else:
        main(options.visitors, CROWD, FEW, PAUSE_SECONDS)
