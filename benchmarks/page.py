"""How fast the Explore page is: server start, change of head, a change that asks the server, and bytes sent.

Everything is seen from a Chromium, as by a visitor, and measured in turns in one run. Times end with the
frame that shows the change.

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
    """The address of a new server, which nobody has visited; it ends with the block.

    Args:
        command: what is started.

    Raises:
        RuntimeError: a visitor was shown an error, so that the figures are worth nothing.
    """
    with tempfile.TemporaryDirectory() as home, running(Path(home), command) as server:
        try:
            yield server.url
        finally:
            if tracebacks := server.tracebacks():
                raise RuntimeError("The app failed:\n" + "\n".join(tracebacks))


def link(text: str, **choices: str) -> str:
    """A sentence's address, without the server's name; it is compared with no other."""
    return "/?" + urlencode({"text": text, "other": "", **choices})


def seconds(values: Iterable[float]) -> str:
    """The median, and the range."""
    values = sorted(values)
    return f"{statistics.median(values):.1f} s ({values[0]:.1f} to {values[-1]:.1f})"


def milliseconds(values: Iterable[float]) -> str:
    """The median, and the quartiles."""
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.1f} ms ({low:.1f} to {high:.1f})"


# From the start of the server -----------------------------------------------------------------------------


def first_picture(browser: Browser) -> tuple[float, float]:
    """Seconds from the start of a server to the first picture, and to that of a sentence typed at once."""
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
    """Seconds from the start of a server to the picture of a link's own sentence, which needs the model."""
    with visitor(browser) as page:
        begun = time.time()
        with fresh_server() as url:
            page.goto(url + link(OWN_SENTENCE), wait_until="commit")
            return painted(page, OWN_WORD) - begun


def load_the_model(browser: Browser, url: str) -> None:
    """Open a sentence that needs the model, and wait for its picture, however long that takes."""
    with visitor(browser) as page:
        page.goto(url + link(OWN_SENTENCE), wait_until="commit")
        painted(page, OWN_WORD)


def painted(page: Page, word: str) -> float:
    """Wait for all heads and one head of a sentence with this word; when they were there, since 1970."""
    milliseconds: float = page.evaluate("word => stopwatch.picture(word)", word)
    return milliseconds / 1000


def from_the_start(report: Report, browser: Browser, starts: int) -> None:
    """Start servers, and visit each as its first visitor."""
    report.section(f"From the start of the server's process ({starts} starts each, in turns)")
    openings, typed, linked = [], [], []
    for _ in range(starts):
        opening, own = first_picture(browser)
        openings.append(opening)
        typed.append(own)
        linked.append(own_sentence(browser))
    for name, values, limit in (
        ("to the first picture, of the opening sentence", openings, 3),
        ("to the picture of a link's own sentence (model ready)", linked, 8),
        ("to the picture of a sentence typed after the first picture", typed, 8),
    ):
        report.row(name, seconds(values), f"≤ {limit} s", met=statistics.median(values) <= limit)


# Clicks ---------------------------------------------------------------------------------------------------


class Times(NamedTuple):
    """Milliseconds from a click to the head drawn in the browser, and to the settled page."""

    drawn: float
    settled: float


@dataclass
class Visit:
    """An open page, and what its clicks took."""

    page: Page
    times: dict[str, list[Times]] = field(default_factory=dict)

    def time(self, name: str, click: Callable[[], None], head: str | None = None) -> None:
        """Time one click until the page has settled, and until it shows this head."""
        self.page.evaluate("head => stopwatch.begin(head)", head)
        click()
        measured: dict[str, Any] = self.page.evaluate("stopwatch.end()")
        self.times.setdefault(name, []).append(Times(measured["drawn"], measured["settled"]))

    def open_in_atlas(self, layer: int, head: int) -> None:
        """Click on a head among all heads."""
        cell = self.page.get_by_role("gridcell").nth((layer - 1) * HEADS + head - 1)
        self.time("atlas", cell.click, f"{layer}-{head}")

    def open_by_chip(self, layer: int, head: int) -> None:
        """Click on another head of the open layer."""
        chips = self.page.locator(".st-key-one-head .chips button")
        self.time("chip", chips.nth(head - 1).click, f"{layer}-{head}")


def changes_of_head(report: Report, browser: Browser, url: str, rounds: int, lengths: Sequence[int]) -> None:
    """Click on heads, in the atlas and among the chips, of sentences of several lengths."""
    report.section(f"From a click on another head to its picture ({rounds} clicks each, in turns)")
    shuffled = random.Random(1)  # noqa: S311 (which heads, not a secret)
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
            head, beside = shuffled.sample([other for other in range(1, HEADS + 1) if other != head], 2)
            for opened in open_pages.values():
                opened.open_in_atlas(layer, head)
                opened.open_by_chip(layer, beside)
            head = beside
        for (tokens, style), opened in open_pages.items():
            for control, times in opened.times.items():
                drawn = [time.drawn for time in times]
                name = f"{tokens} tokens, {style.lower()}, by a click on the {control}"
                report.row(name, milliseconds(drawn), "≤ 20 ms", met=statistics.median(drawn) <= 20)


def changes_on_the_server(report: Report, browser: Browser, url: str, rounds: int) -> None:
    """Click on what the server must answer, beside a click on the same server's empty page."""
    report.section(f"From a click that asks the server to the settled page ({rounds} clicks each, in turns)")
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
        report.row("the empty page's switch", milliseconds(floor))
        for name, one in opened.items():
            for what, times in one.times.items():
                settled = [time.settled for time in times[1:]]  # the first one fills the caches
                ratio = statistics.median(settled) / statistics.median(floor)
                label = "another head, to its last number" if what == "chip" else what
                figure = f"{milliseconds(settled)} = {ratio:.1f} ×"
                report.row(f"{name}: {label}", figure, "≤ 1.5 × empty", met=ratio <= 1.5)


# Bytes ----------------------------------------------------------------------------------------------------


@dataclass
class Received:
    """Bytes that a page received: from Streamlit's own front end, and beyond it."""

    front_end: int = 0
    beyond: int = 0
    _urls: dict[str, str] = field(default_factory=dict)

    def watch(self, page: Page) -> None:
        """Count from now on; messages over the websocket as they are before any compression."""
        session = page.context.new_cdp_session(page)
        session.on("Network.webSocketFrameReceived", lambda event: self._message(event["response"]))
        session.on("Network.requestWillBeSent", self._request)
        session.on("Network.loadingFinished", self._response)
        session.send("Network.enable")

    def _message(self, frame: dict[str, Any]) -> None:
        binary = frame["opcode"] == 2
        self.beyond += len(base64.b64decode(frame["payloadData"]) if binary else frame["payloadData"])

    def _request(self, event: dict[str, Any]) -> None:
        self._urls[event["requestId"]] = event["request"]["url"]

    def _response(self, event: dict[str, Any]) -> None:
        url = self._urls.get(event["requestId"], "")
        if "/static/" in url or re.fullmatch(r"https?://[^/]+/(\?.*)?", url):
            self.front_end += int(event["encodedDataLength"])
        else:
            self.beyond += int(event["encodedDataLength"])


def bytes_of_the_first_view(report: Report, browser: Browser, url: str) -> None:
    """Open the page, as a new visitor, with sentences of several lengths."""
    report.section("Bytes of the first view, beyond Streamlit's own front end")
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
            megabytes = received.beyond / 1e6
            front_end = received.front_end
            report.row(name, f"{megabytes:.3f} MB", f"≤ {limit} MB", met=megabytes <= limit)
    report.row("(Streamlit's own front end)", f"{front_end / 1e6:.1f} MB")


def main(*, smoke: bool) -> None:
    """Measure everything and print it."""
    starts, rounds, lengths = (1, 2, LENGTHS[:1]) if smoke else (STARTS, ROUNDS, LENGTHS)
    with launched() as browser:
        report = Report("The Explore page", browser.version)
        from_the_start(report, browser, starts)
        with fresh_server(WITH_EMPTY_PAGE) as url:
            load_the_model(browser, url)
            changes_of_head(report, browser, url, rounds, lengths)
            changes_on_the_server(report, browser, url, rounds)
            bytes_of_the_first_view(report, browser, url)
        report.end()


if __name__ == "__main__":
    main(smoke=parser(__doc__).parse_args().smoke)
