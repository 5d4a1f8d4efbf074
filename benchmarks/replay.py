"""What a click on Explore costs the server when many visitors click at once.

A real browser visits Explore: it opens heads, follows tokens, changes the view and the sentence. Every
message that it sends is kept, with the answer. Then the same server gets these messages from many visitors
at once, each of whom has a session of their own and waits for an answer before the next message. Every answer
must be the one that the browser got, element by element.

Each run makes its own recording, since the names of widgets change with the app. It also fills the server's
caches: what is measured is a rerun of the page, and not the model.

Run: python -m benchmarks.replay [visitors] [--smoke]
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import psutil
from playwright.sync_api import Browser, Page, WebSocket
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.sync.client import ClientConnection

from benchmarks.browser import launched, visitor
from benchmarks.page import load_the_model
from benchmarks.report import Report, parser
from tests.browser.explore import Explore
from tests.browser.server import Server, running

VISITORS = 10
TARGET_MS = 45
TIMEOUT_SECONDS = 120

SENTENCE = "The trophy does not fit into the suitcase as it is too big."


@dataclass
class Answer:
    """What the server answers to one message.

    Attributes:
        elements: the last word about each place of the page, by its path.
        runs: how many runs of the script have ended.
        complete: whether the last of them was not broken off for another.
    """

    elements: dict[tuple[int, ...], bytes] = field(default_factory=dict)
    runs: int = 0
    complete: bool = False

    def add(self, received: bytes) -> None:
        """Take in one message of the server."""
        message = ForwardMsg.FromString(received)
        kind = message.WhichOneof("type")
        if kind in {"delta", "ref_hash"}:
            element = message.delta.new_element
            if element.WhichOneof("type") == "download_button":  # its file has another name in each run
                element.download_button.ClearField("deferred_file_id")
                message.ClearField("hash")
            self.elements[tuple(message.metadata.delta_path)] = message.SerializeToString(deterministic=True)
        elif kind == "script_finished":
            self.runs += 1
            self.complete = message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN


class Exchange(NamedTuple):
    """A message of the browser, and what the server answered."""

    message: bytes
    answer: Answer


Clicks = Callable[[Page, str], Iterator[Callable[[], object]]]


# The recorded visitor -------------------------------------------------------------------------------------


def clicks(page: Page, url: str) -> Iterator[Callable[[], object]]:
    """What the recorded visitor does; the server is asked each time."""
    explore = Explore(page, url)
    yield explore.open
    for layer, head in ((5, 9), (1, 3), (4, 2)):
        yield partial(explore.open_head, layer, head)
    for query in (4, 7, 9):
        yield partial(explore.pick, query=query)
    yield partial(explore.pick, key=3)
    for style in ("Matrix", "Lines"):
        yield partial(explore.choose, "Picture", style)
    for _ in range(2):
        yield partial(explore.toggle, "Hide special tokens")
    yield partial(explore.choose, "Show", "narrow")
    yield partial(explore.type, "Sentence", SENTENCE)
    for layer, head in ((6, 12), (4, 2)):
        yield partial(explore.open_head, layer, head)
    yield partial(explore.pick, query=8)


def record(browser: Browser, server: Server, clicks: Clicks = clicks) -> list[Exchange]:
    """The exchanges of a browser whose visitor does all that `clicks` says.

    Raises:
        RuntimeError: the browser sent a message before the one before was answered.
    """
    exchanges: list[Exchange] = []
    hasty: list[Exchange] = []

    def sent(message: bytes | str) -> None:
        assert isinstance(message, bytes)  # noqa: S101 (Streamlit sends nothing else)
        if BackMsg.FromString(message).WhichOneof("type") == "rerun_script":
            hasty.extend(exchange for exchange in exchanges[-1:] if not exchange.answer.complete)
            exchanges.append(Exchange(message, Answer()))

    def received(message: bytes | str) -> None:
        assert isinstance(message, bytes)  # noqa: S101
        exchanges[-1].answer.add(message)

    def watch(socket: WebSocket) -> None:
        socket.on("framesent", sent)
        socket.on("framereceived", received)

    with visitor(browser) as page:
        page.on("websocket", watch)
        for click in clicks(page, server.url):
            before = len(exchanges)
            click()
            end = time.monotonic() + TIMEOUT_SECONDS
            while len(exchanges) == before or not exchanges[-1].answer.complete:
                if time.monotonic() > end:
                    raise RuntimeError(f"The server was not asked, or did not answer: {click}")
                page.wait_for_timeout(20)
    if hasty:
        raise RuntimeError("The browser did not wait for an answer: what was recorded cannot be replayed.")
    return exchanges


# The visitors who repeat it -------------------------------------------------------------------------------


class Replayed(NamedTuple):
    """What one visitor saw of the server.

    Attributes:
        runs: how many runs of the script.
        seconds: from each message to the end of its answer.
        differing: how many places of the page were not as in the recording.
    """

    runs: int
    seconds: list[float]
    differing: int


def _is_pick(widget: WidgetState) -> bool:
    """Whether it tells of a click, which is told once, and not of a choice, which stays."""
    return str(widget.WhichOneof("value")).endswith("trigger_value")


def is_pick(message: bytes) -> bool:
    """Whether it tells of a click in a picture, or on a button."""
    return any(map(_is_pick, BackMsg.FromString(message).rerun_script.widget_states.widgets))


def anew(message: bytes) -> bytes:
    """What a browser sends first when it comes back: the same choices without the click, for the whole page.

    A server that does not know the visit knows no part of its page, and would not answer for one.
    """
    sent = BackMsg.FromString(message)
    sent.rerun_script.fragment_id = ""
    widgets = sent.rerun_script.widget_states.widgets
    chosen = [each for each in widgets if not _is_pick(each)]
    del widgets[:]
    widgets.extend(chosen)
    return bytes(sent.SerializeToString())


def with_sentence(recorded: Iterable[bytes], sentence: str, typed: str = SENTENCE) -> list[bytes]:
    """The messages of a visitor who types this sentence instead of the one that was `typed`."""
    messages = []
    for message in map(BackMsg.FromString, recorded):
        for widget in message.rerun_script.widget_states.widgets:
            if widget.string_value == typed:
                widget.string_value = sentence
        messages.append(message.SerializeToString())
    return messages


def replay(socket: ClientConnection, exchanges: Iterable[Exchange]) -> Replayed:
    """Send these messages, each after the answer to the one before."""
    runs, seconds, differing = 0, [], 0
    for message, expected in exchanges:
        begun = time.perf_counter()
        socket.send(message)
        answer = Answer()
        while not answer.complete:
            answer.add(socket.recv(TIMEOUT_SECONDS, decode=False))
        seconds.append(time.perf_counter() - begun)
        runs += answer.runs
        differing += len(dict(answer.elements.items() ^ expected.elements.items()))
    return Replayed(runs, seconds, differing)


@dataclass(frozen=True)
class Cost:
    """What some of the messages cost, all visitors together.

    Attributes:
        visitors: what each of them saw.
        processor: seconds of the server's process, user and system.
    """

    visitors: list[Replayed]
    processor: float

    @property
    def milliseconds_a_run(self) -> float:
        """Processor time of a run of the script."""
        return 1000 * self.processor / sum(visitor.runs for visitor in self.visitors)

    @property
    def median_wait(self) -> float:
        """Milliseconds from a message to the end of its answer."""
        return 1000 * statistics.median(second for visitor in self.visitors for second in visitor.seconds)


def cost(process: psutil.Process, visits: Callable[[], Iterable[Replayed]]) -> Cost:
    """Let the visitors do this, and measure the server meanwhile."""
    before = sum(process.cpu_times()[:2])
    visitors = list(visits())
    return Cost(visitors, sum(process.cpu_times()[:2]) - before)


def repeat(report: Report, server: Server, recorded: list[Exchange], visitors: int) -> None:
    """Let so many visitors repeat what was recorded, and print what it cost.

    Raises:
        RuntimeError: a visitor was not shown what the browser was shown.
    """
    process = psutil.Process(server.process.pid)
    with ExitStack() as stack, ThreadPoolExecutor(visitors) as pool:
        sockets = [stack.enter_context(server.websocket(server.url)) for _ in range(visitors)]
        memory = process.memory_info().rss
        opening = cost(process, lambda: pool.map(lambda socket: replay(socket, recorded[:1]), sockets))
        clicking = cost(process, lambda: pool.map(lambda socket: replay(socket, recorded[1:]), sockets))
        grown = process.memory_info().rss - memory
    compared = visitors * sum(len(answer.elements) for _, answer in recorded)
    differing = sum(visitor.differing for part in (opening, clicking) for visitor in part.visitors)
    if differing:
        raise RuntimeError(f"{differing} of {compared} elements are not what the browser was shown.")
    runs = sum(visitor.runs for visitor in clicking.visitors)
    report.section(f"{visitors} visitors at once, {len(recorded)} messages each")
    report.row("elements compared with what the browser was shown", f"{compared:,}, all the same")
    each = clicking.milliseconds_a_run
    report.row("processor time of the opening, each", f"{opening.milliseconds_a_run:.1f} ms")
    report.row(
        f"processor time of a rerun ({runs:,} of them)",
        f"{each:.1f} ms",
        f"≤ {TARGET_MS} ms",
        met=each <= TARGET_MS,
    )
    report.row("from a click's message to the end of its answer, median", f"{clicking.median_wait:.0f} ms")
    report.row("memory of the server, before they came", f"{memory / 1e6:.0f} MB")
    report.row("– more for each of them", f"{grown / visitors / 1e6:.1f} MB")


def main(visitors: int) -> None:
    """Record, replay and print."""
    with tempfile.TemporaryDirectory() as home, running(Path(home)) as server, launched() as browser:
        report = Report("Explore, replayed", browser.version)
        load_the_model(browser, server.url)
        record(browser, server)  # fills the caches of all that is looked at
        recorded = record(browser, server)
        repeat(report, server, recorded, visitors)
        report.end()


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("visitors", type=int, nargs="?", default=VISITORS)
    asked = arguments.parse_args()
    main(2 if asked.smoke else asked.visitors)
