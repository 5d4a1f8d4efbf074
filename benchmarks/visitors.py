"""How long visitors of Explore wait when many are there, each with a sentence of their own.

A real browser's visit is recorded (`benchmarks.recording`). Then so many visitors repeat it, each in a
session of their own, with another noun in the sentence that is typed, and with a pause before each click:
3 s on average, exponentially distributed, from a seed. They come within the first 3 s.

As many, from one address, each type a sentence and open Matrix and Heatmap (`on_pictures`):
every run then computes something that no other visitor has asked for.

Then two servers behind the proxy of `compose.yaml` get two hundred visitors (`benchmarks.chaos` kills one of
such servers). Last, a server that has just become ready gets thirty visitors at once, each with a sentence of
their own.

An empty page of the same server, with one switch, has as many clicks of sixty visitors: what Streamlit itself
takes. Visitors and servers share this machine's cores.

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
from benchmarks.page import WITH_EMPTY_PAGE, load_the_model
from benchmarks.proxy import proxied, wait_for
from benchmarks.recording import SENTENCE, TIMEOUT_SECONDS, anew, clicks, record, with_sentence
from benchmarks.report import Report, parser
from tests.browser.explore import Explore
from tests.browser.server import Server, running

VISITORS = (30, 60, 100, 200)
TARGETS = {60: 0.3, 100: 1.0}
"""The longest p95 in seconds, by how many visitors there are."""

PICTURES_TARGETS = {30: 1.0, 60: 2.0}
"""The same for visitors who open each kind of picture of a new sentence."""

RUN_TARGET = 0.025
"""The most processor seconds of a run."""

BESIDE = 60
"""The visitors of the empty page."""

BUSY = b"This server is busy"
CROWD, CROWD_TARGET = 200, 1.0
FEW, COLD_TARGET = 30, 4.0
PAUSE_SECONDS = 3.0
CLICKS = 16
_NOUN = "trophy"


def of_visitor(recorded: Sequence[bytes], number: int, sentence: str = SENTENCE) -> list[bytes]:
    """The messages with a sentence of this visitor's own, made of the recorded one: no two have the same."""
    first, second = divmod(number, len(NOUNS))
    theirs = f"{NOUNS[second]}{' and the ' + NOUNS[first] if first else ''}"
    return with_sentence(recorded, sentence.replace(_NOUN, theirs), sentence)


def answer(socket: ClientConnection, message: bytes) -> None:
    """Send a message, and wait for the end of its answer."""
    socket.send(message)
    while True:
        received = socket.recv(TIMEOUT_SECONDS, decode=False)
        if BUSY in received:
            raise RuntimeError("The server refused a visitor's sentence.")
        if len(received) > 100:  # bytes: the last message of an answer is short
            continue
        said = ForwardMsg.FromString(received)
        if said.WhichOneof("type") == "script_finished" and (
            said.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN
        ):
            return


def visit(server: Server, messages: Sequence[bytes], seed: int, pause: float) -> list[float]:
    """One visitor: how many seconds they waited for each answer.

    Cut off, they come back and send their last message again: it holds all that they chose.
    """
    dice = Random(seed)  # noqa: S311 - pauses are no secret
    pauses = iter(
        [dice.random() * pause, *(dice.expovariate(1 / pause) if pause else 0 for _ in messages[1:])]
    )
    waited: list[float] = []
    begun = None
    while len(waited) < len(messages):
        with suppress(ConnectionClosed, InvalidHandshake, OSError), server.websocket(server.url) as socket:
            first = len(waited)
            for number in range(first, len(messages)):
                if begun is None:
                    time.sleep(next(pauses))
                    begun = time.perf_counter()
                if number == first and first:
                    answer(socket, anew(messages[number]))
                answer(socket, messages[number])
                waited.append(time.perf_counter() - begun)
                begun = None
    return waited


def many(
    servers: Sequence[Server],
    door: Server,
    recorded: Sequence[bytes],
    count: int,
    pause: float,
    sentence: str = SENTENCE,
) -> tuple[list[float], float, float]:
    """Seconds from clicks to answers, processor seconds of a run, and the memory of all servers in bytes.

    Args:
        servers: whose processes are measured.
        door: where the visitors come: one of the servers, or a proxy before them.
        recorded: what one visitor sent.
        count: how many visitors there are.
        pause: seconds before a click, on average.
        sentence: what the recorded visitor typed.
    """
    processes = [psutil.Process(server.process.pid) for server in servers]
    before = sum(sum(process.cpu_times()[:2]) for process in processes)
    with ThreadPoolExecutor(count) as pool:
        visits = pool.map(lambda n: visit(door, of_visitor(recorded, n, sentence), n, pause), range(count))
        waited = [second for seconds in visits for second in seconds[1:]]
    used = sum(sum(process.cpu_times()[:2]) for process in processes) - before
    memory = sum(process.memory_info().rss for process in processes)
    return waited, used / (len(waited) + count), memory


def print_waits(report: Report, title: str, waited: Sequence[float], target: float | None = None) -> None:
    """Begin a part of the table with how long they waited."""
    report.section(f"{title}, {len(waited):,} clicks")
    p50, p95, p99 = np.percentile(waited, (50, 95, 99))
    figure = f"{p50 * 1000:.0f} / {p95 * 1000:.0f} / {p99 * 1000:.0f} ms"
    said, met = ("", None) if target is None else (f"p95 ≤ {target * 1000:.0f} ms", bool(p95 <= target))
    report.row("from a click to the end of its answer: p50 / p95 / p99", figure, said, met=met)


def on_an_empty_page(page: Page, url: str) -> Iterator[Callable[[], object]]:
    """As many clicks as on Explore."""
    yield partial(page.goto, f"{url}/empty")
    yield from [page.locator(".st-key-switch label").first.click] * CLICKS


def on_pictures(page: Page, url: str) -> Iterator[Callable[[], object]]:
    """A sentence of the visitor's own, in every kind of picture."""
    explore = Explore(page, url)
    yield explore.open
    yield partial(explore.type, "Sentence", SENTENCE)
    for style in ("Matrix", "Heatmap"):
        yield partial(explore.choose, "Picture", style)


def pictures(
    report: Report, server: Server, recorded: Sequence[bytes], counts: Sequence[int], pause: float
) -> None:
    """Visitors with new sentences: those of one number have other ones than those of another."""
    for part, count in enumerate(counts):
        begun = SENTENCE.replace("The", f"The {NOUNS[part]} and the")
        of_part = with_sentence(recorded, begun)
        waited, run, _ = many([server], server, of_part, count, pause, begun)
        print_waits(report, f"{count} visitors who open pictures", waited, PICTURES_TARGETS.get(count))
        report.row("processor time of a run", f"{run * 1000:.1f} ms")
    failed = len(server.tracebacks())
    report.row("errors in the server's log", str(failed), "0", met=not failed)


def one_server(
    report: Report, server: Server, recorded: Sequence[bytes], counts: Sequence[int], pause: float
) -> None:
    """More and more visitors of one server."""
    many([server], server, recorded, min(counts), 0)  # fills the caches
    for count in counts:
        waited, run, memory = many([server], server, recorded, count, pause)
        print_waits(report, f"{count} visitors", waited, TARGETS.get(count))
        report.row(
            "processor time of a run",
            f"{run * 1000:.1f} ms",
            f"≤ {RUN_TARGET * 1000:.0f} ms",
            met=run <= RUN_TARGET,
        )
        report.row("memory of the server", f"{memory / 1e6:.0f} MB")


def beside(report: Report, server: Server, recorded: Sequence[bytes], count: int, pause: float) -> None:
    """Visitors of the empty page."""
    waited, run, _ = many([server], server, recorded, count, pause)
    print_waits(report, f"{count} visitors of an empty page", waited)
    report.row("processor time of a run", f"{run * 1000:.1f} ms")


def two_servers(report: Report, recorded: Sequence[bytes], count: int, pause: float) -> None:
    """A crowd before both."""
    with ExitStack() as stack:
        homes = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2)]
        servers = [stack.enter_context(running(home)) for home in homes]
        url = stack.enter_context(proxied(servers))
        door = replace(servers[0], url=url)
        many(servers, door, recorded, min(FEW, count), 0)
        waited, _, _ = many(servers, door, recorded, count, pause)
        print_waits(report, f"Two servers, {count} visitors", waited, CROWD_TARGET)


def cold_server(report: Report, recorded: Sequence[bytes], count: int) -> None:
    """A server that has just started, and visitors who all come at once."""
    typed = next(number for number, message in enumerate(recorded) if SENTENCE.encode() in message)
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as home, running(Path(home)) as server:
        wait_for(f"{server.url}/ready")
        ready = time.perf_counter() - begun
        waited, _, _ = many([server], server, [recorded[0], recorded[typed]], count, 0)
    print_waits(report, f"A server that has just started, {count} visitors with a sentence each", waited)
    longest = max(waited)
    report.row("the longest wait", f"{longest:.1f} s", f"≤ {COLD_TARGET:.0f} s", met=longest <= COLD_TARGET)
    report.row("from the start of its process until it is ready", f"{ready:.1f} s")


def main(counts: Sequence[int], crowd: int, few: int, pause: float) -> None:
    """Record, let them come, and print."""
    with (
        tempfile.TemporaryDirectory() as home,
        running(Path(home), WITH_EMPTY_PAGE) as server,
        launched() as browser,
    ):
        report = Report("Visitors of Explore who click every 3 s", browser.version)
        load_the_model(browser, server.url)
        recorded, empty, opening = (
            record(browser, server, each) for each in (clicks, on_an_empty_page, on_pictures)
        )
        beside(report, server, empty, min(BESIDE, max(counts)), pause)
        one_server(report, server, recorded, counts, pause)
        pictures(report, server, opening, [n for n in counts if n in PICTURES_TARGETS] or counts, pause)
    two_servers(report, recorded, crowd, pause)
    cold_server(report, recorded, few)
    report.end()


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("visitors", type=int, nargs="*", default=VISITORS)
    asked = arguments.parse_args()
    if asked.smoke:
        main((2,), 2, 2, 0.1)
    else:
        main(asked.visitors, CROWD, FEW, PAUSE_SECONDS)
