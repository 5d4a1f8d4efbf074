"""Measure the Explore page: server start, clicks on heads, changes computed by the server, transferred bytes.

All times are measured in Chromium, up to the frame that shows the change or until the page has settled. Each
run alternates between the compared clicks.

Run: python -m benchmarks.page [--smoke]
"""

from __future__ import annotations

import base64
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page

from attnviz.app.examples import OPENING
from benchmarks.browser import launched, visitor
from benchmarks.report import Report, parser
from benchmarks.texts import text_of
from tests.browser.server import COMMAND, running
from tests.browser.visit import visit, wait_idle

STARTS = 3
ROUNDS = 11
LENGTHS = (16, 64, 128)
HEADS = 12
WITH_EMPTY_PAGE = (sys.executable, "-m", "benchmarks.with_empty_page")
OWN_SENTENCE = "My zebra sleeps because it is tired."
OWN_WORD = "zebra"


@contextmanager
def fresh_server(command: Sequence[str] = COMMAND) -> Iterator[str]:
    """Yield the URL of a new server, which is stopped when the block ends.

    Args:
        command: the command that starts the server.

    Raises:
        RuntimeError: the app raised an error, so the results are invalid.
    """
    with tempfile.TemporaryDirectory() as home, running(Path(home), command) as server:
        try:
            yield server.url
        finally:
            if tracebacks := server.tracebacks():
                raise RuntimeError("The app failed:\n" + "\n".join(tracebacks))


def link(text: str, **choices: str) -> str:
    """Return the link to a single sentence, relative to the server's URL."""
    return "/?" + urlencode({"text": text, "other": "", **choices})


def seconds(values: Iterable[float]) -> str:
    """Format the median and the range."""
    values = sorted(values)
    return f"{statistics.median(values):.1f} s ({values[0]:.1f} to {values[-1]:.1f})"


def milliseconds(values: Iterable[float]) -> str:
    """Format the median and the quartiles."""
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.1f} ms ({low:.1f} to {high:.1f})"


# From the start of the server -----------------------------------------------------------------------------


def first_picture(browser: Browser) -> tuple[float, float]:
    """Return the seconds from a server's start to the first picture, and to a typed sentence's picture."""
    with visitor(browser) as page:
        begun = time.time()
        with fresh_server() as url:
            page.goto(url, wait_until="commit")
            opening = painted(page, "dog") - begun
            sentence = page.get_by_label("Sentence", exact=True)
            sentence.fill(OWN_SENTENCE)
            sentence.press("Enter")
            return opening, painted(page, OWN_WORD) - begun


def own_sentence(browser: Browser) -> float:
    """Return the seconds from the start of a server to the picture of a new sentence, opened by a link."""
    with visitor(browser) as page:
        begun = time.time()
        with fresh_server() as url:
            page.goto(url + link(OWN_SENTENCE), wait_until="commit")
            return painted(page, OWN_WORD) - begun


def load_model(browser: Browser, url: str) -> None:
    """Open a sentence that needs the model, and wait for its picture."""
    with visitor(browser) as page:
        page.goto(url + link(OWN_SENTENCE), wait_until="commit")
        painted(page, OWN_WORD)


def painted(page: Page, word: str) -> float:
    """Wait for both pictures of a sentence with this word; return the time, in seconds since 1970."""
    milliseconds: float = page.evaluate("word => stopwatch.picture(word)", word)
    return milliseconds / 1000


def measure_start(report: Report, browser: Browser, starts: int) -> None:
    """Report the times from the start of a server until its first visitor sees a picture."""
    report.section(f"From the start of the server's process ({starts} starts each, alternating)")
    openings, typed, linked = [], [], []
    for _ in range(starts):
        opening, own = first_picture(browser)
        openings.append(opening)
        typed.append(own)
        linked.append(own_sentence(browser))
    for name, values, limit in (
        ("to the first picture, of the opening sentence", openings, 3),
        ("to the picture of a sentence from a link (loads the model)", linked, 8),
        ("to the picture of a sentence typed after the first picture", typed, 8),
    ):
        report.row(name, seconds(values), f"≤ {limit} s", met=statistics.median(values) <= limit)


# Clicks ---------------------------------------------------------------------------------------------------


class Times(NamedTuple):
    """Milliseconds from a click until the browser has drawn the head, and until the page has settled."""

    drawn: float
    settled: float


@dataclass
class Visit:
    """An open page, and the times of its clicks."""

    page: Page
    times: dict[str, list[Times]] = field(default_factory=dict)

    def time(self, name: str, click: Callable[[], None], head: str | None = None) -> None:
        """Time one click until the page shows this head and until the page has settled."""
        self.page.evaluate("head => stopwatch.begin(head)", head)
        click()
        measured: dict[str, Any] = self.page.evaluate("stopwatch.end()")
        self.times.setdefault(name, []).append(Times(measured["drawn"], measured["settled"]))

    def open_in_atlas(self, layer: int, head: int) -> None:
        """Click on a head in the overview of all heads."""
        cell = self.page.get_by_role("gridcell").nth((layer - 1) * HEADS + head - 1)
        self.time("atlas", cell.click, f"{layer}-{head}")

    def open_by_chip(self, layer: int, head: int) -> None:
        """Click on another head of the open layer."""
        chips = self.page.locator(".st-key-one-head .chips button")
        self.time("chip", chips.nth(head - 1).click, f"{layer}-{head}")


def measure_head_changes(
    report: Report, browser: Browser, url: str, rounds: int, lengths: Sequence[int]
) -> None:
    """Report the times of clicks on heads, in the atlas and on chips, for several lengths of sentences."""
    report.section(f"From a click on another head to its picture ({rounds} clicks each, alternating)")
    shuffled = random.Random(1)  # noqa: S311 - not for security
    with ExitStack() as visits:
        open_pages = {}
        for style in ("Lines", "Matrix"):
            for tokens in lengths:
                page = visits.enter_context(visitor(browser))
                visit(page, url + link(text_of(tokens), view=style))
                open_pages[tokens, style] = Visit(page)
        layer, head = 4, 2
        for _ in range(rounds):
            layer = shuffled.choice([other for other in range(1, 7) if other != layer])
            head, chip = shuffled.sample([other for other in range(1, HEADS + 1) if other != head], 2)
            for opened in open_pages.values():
                opened.open_in_atlas(layer, head)
                opened.open_by_chip(layer, chip)
            head = chip
        for (tokens, style), opened in open_pages.items():
            for control, times in opened.times.items():
                drawn = [time.drawn for time in times]
                name = f"{tokens} tokens, {style.lower()}, by a click on the {control}"
                report.row(name, milliseconds(drawn), "≤ 20 ms", met=statistics.median(drawn) <= 20)


def measure_server_changes(report: Report, browser: Browser, url: str, rounds: int) -> None:
    """Report the times of clicks that need the server, relative to clicks on the empty page."""
    report.section(
        f"From a click that needs the server to the settled page ({rounds} clicks each, alternating)"
    )
    with visitor(browser) as empty_page, ExitStack() as visits:
        visit(empty_page, f"{url}/empty")
        empty = Visit(empty_page)
        opened: dict[str, Visit] = {}
        for name, text in (("opening sentence", OPENING.text), ("128 tokens", text_of(128))):
            page = visits.enter_context(visitor(browser))
            visit(page, url + link(text))
            opened[name] = Visit(page)
        for number in range(-1, rounds):
            for one in opened.values():
                hide = one.page.locator(".st-key-hide label").first
                query = one.page.locator(".st-key-one-head .queries button").nth(2 + number % 5)
                empty.time("switch", empty_page.locator(".st-key-switch label").first.click)
                one.time("Hide special tokens", hide.click)
                one.time("another query", query.click)
                one.open_by_chip(4, 2 + number % 5)
        floor = [time.settled for time in empty.times["switch"][2:]]
        report.row("switch on the empty page", milliseconds(floor))
        for name, one in opened.items():
            for control, times in one.times.items():
                settled = [time.settled for time in times[1:]]  # the first click fills the caches
                ratio = statistics.median(settled) / statistics.median(floor)
                label = "another head, by its number" if control == "chip" else control
                figure = f"{milliseconds(settled)} = {ratio:.1f} ×"
                report.row(f"{name}: {label}", figure, "≤ 1.5 × empty", met=ratio <= 1.5)


# Bytes ----------------------------------------------------------------------------------------------------


@dataclass
class Received:
    """The bytes that a page received: Streamlit's own front end, and everything else."""

    front_end: int = 0
    other: int = 0
    _urls: dict[str, str] = field(default_factory=dict)

    def watch(self, page: Page) -> None:
        """Start counting; websocket messages are counted before compression."""
        session = page.context.new_cdp_session(page)
        session.on("Network.webSocketFrameReceived", lambda event: self._message(event["response"]))
        session.on("Network.requestWillBeSent", self._request)
        session.on("Network.loadingFinished", self._response)
        session.send("Network.enable")

    def _message(self, frame: dict[str, Any]) -> None:
        binary = frame["opcode"] == 2
        self.other += len(base64.b64decode(frame["payloadData"]) if binary else frame["payloadData"])

    def _request(self, event: dict[str, Any]) -> None:
        self._urls[event["requestId"]] = event["request"]["url"]

    def _response(self, event: dict[str, Any]) -> None:
        url = self._urls.get(event["requestId"], "")
        if "/static/" in url or re.fullmatch(r"https?://[^/]+/(\?.*)?", url):
            self.front_end += int(event["encodedDataLength"])
        else:
            self.other += int(event["encodedDataLength"])


def measure_bytes(report: Report, browser: Browser, url: str) -> None:
    """Report the bytes of the page for a new visitor, for several lengths of sentences."""
    report.section("Bytes of the first view, without Streamlit's own front end")
    front_end = 0
    for name, address, limit in (
        ("opening sentence", "/", 0.5),
        ("128 tokens", link(text_of(128)), 1.5),
        ("512 tokens", link(text_of(512)), 4.0),
    ):
        with visitor(browser) as page:
            received = Received()
            received.watch(page)
            visit(page, url + address)
            wait_idle(page)
            megabytes = received.other / 1e6
            front_end = received.front_end
            report.row(name, f"{megabytes:.3f} MB", f"≤ {limit} MB", met=megabytes <= limit)
    report.row("(Streamlit's own front end)", f"{front_end / 1e6:.1f} MB")


def main(*, smoke: bool) -> None:
    """Measure everything and print the results."""
    starts, rounds, lengths = (1, 2, LENGTHS[:1]) if smoke else (STARTS, ROUNDS, LENGTHS)
    with launched() as browser:
        report = Report("The Explore page", browser.version)
        measure_start(report, browser, starts)
        with fresh_server(WITH_EMPTY_PAGE) as url:
            load_model(browser, url)
            measure_head_changes(report, browser, url, rounds, lengths)
            measure_server_changes(report, browser, url, rounds)
            measure_bytes(report, browser, url)
        report.end()


if __name__ == "__main__":
    main(smoke=parser(__doc__).parse_args().smoke)
