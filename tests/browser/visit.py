"""What a visitor's browser does with the page, and what it must never do."""

import functools
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ParamSpec
from urllib.parse import urlencode, urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    BrowserContext,
    ConsoleMessage,
    Dialog,
    FloatRect,
    Locator,
    Page,
    ViewportSize,
    WebError,
    expect,
)

from attnviz.widgets.code import LOOK
from tests.browser.server import Server

P = ParamSpec("P")

DESKTOP: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
PROJECTOR: ViewportSize = {"width": 1280, "height": 720}
ZOOMED: ViewportSize = {"width": 720, "height": 450}  # 1440 × 900 at 200 %

IDLE_TIMEOUT_MS = 60_000
COMPUTED_MS = 180_000
"""For how long a test waits for what takes seconds even on a quiet machine: models, or many sentences."""

ANSWERS = """
window.WebSocket = class extends WebSocket {
    constructor(...address) {
        super(...address);
        this.addEventListener("message", () => { window.answered = performance.now() });
    }
    send(message) {
        window.asked = performance.now();
        super.send(message);
    }
};
for (const act of ["keydown", "input", "pointerdown", "pointerup", "click"]) {
    addEventListener(act, () => { window.acted = performance.now() }, { capture: true });
}
"""
"""Runs in every page before its own code; notes when a visitor acted, and when messages came and went."""

# Streamlit shows its state on the page. What a visitor does becomes a message a moment later (that of a
# slider 200 milliseconds later), and the state must hold a while; and on a busy machine the server's first
# answer takes a while too, if one comes at all.
_IDLE = """
() => {
    const now = performance.now();
    const unanswered = window.asked > (window.answered ?? 0) && now - window.asked < 5000;
    const codeIsMissing = document.querySelector('[data-testid^="stBidiComponent"]') && !window.attnvizCode;
    const app = document.querySelector('[data-testid="stApp"]');
    const busy = document.querySelector(
        '[data-testid="stSkeleton"], [data-testid="stSpinner"], [data-stale="true"]');
    const idle = app && !busy && !unanswered && !codeIsMissing && app.dataset.testScriptState === "notRunning"
        && app.dataset.testConnectionState === "CONNECTED";
    if (!idle) {
        window.idleSince = undefined;
        return false;
    }
    window.idleSince ??= now;
    return now - window.idleSince > 100 && now - (window.acted ?? 0) > 250;
}
"""

# What is still fading in has not its own colours yet. An animation's promise that it has finished is not
# awaited: that of one whose element goes away meanwhile is never kept.
_SETTLED = """
() => document.getAnimations().every((one) =>
    one.playState !== "running" || !Number.isFinite(one.effect.getComputedTiming().endTime))
"""

# Streamlit's pages scroll in a part of their own.
_FITS = """
() => [document.documentElement, ...document.querySelectorAll('body, .stApp, [data-testid="stMain"]')]
    .every((one) => one.scrollWidth <= one.clientWidth + 1)
"""

# How many tables stand over the edge of what they stand in, where nobody can scroll to the rest.
_WIDER = """
all => all.filter(({ scrollWidth, parentElement: room }) =>
    getComputedStyle(room).overflowX === "visible" && scrollWidth > room.clientWidth + 1).length
"""

LETTERS = {f"{size}px" for size in re.findall(r"--\w+: calc\((\d+) \*", LOOK)}
"""The sizes that letters may have."""

_SIZES = "all => all.filter(one => one.checkVisibility()).map(one => getComputedStyle(one).fontSize)"

COLOURS = """
canvas => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
}
"""
"""How many colours a picture has: a blank one has one, a drawn one many."""


@dataclass
class Faults:
    """Everything wrong that one visitor's browser saw.

    Attributes:
        hosts: the servers ("127.0.0.1:8501") that the page may talk to.
        seen: one line for each fault.
    """

    hosts: set[str]
    seen: list[str] = field(default_factory=list)

    def watch(self, context: BrowserContext) -> None:
        """Note from now on every error and dialog of a page, and every request to anybody but `hosts`."""
        context.on("weberror", self._page_error)
        context.on("dialog", self._dialog)
        context.on("console", self._console)
        context.on("request", lambda request: self._request(request.url))
        context.on("page", lambda page: page.on("websocket", lambda socket: self._request(socket.url)))

    def _dialog(self, dialog: Dialog) -> None:
        self.seen.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _page_error(self, error: WebError) -> None:
        self.seen.append(f"page error: {error.error}")

    def _console(self, message: ConsoleMessage) -> None:
        # Below a page's address Streamlit first asks for its own routes there, and then at the root.
        probe = message.location["url"].endswith(("/_stcore/health", "/_stcore/host-config"))
        if message.type == "error" and not probe:
            self.seen.append(f"console error: {message.text}")

    def _request(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"blob", "data"} and parts.netloc not in self.hosts:
            self.seen.append(f"request to {url}")


def wait_idle(page: Page) -> None:
    """Wait until the server has answered and the page shows it."""
    page.evaluate("() => { window.idleSince = undefined }")
    # To ask at every frame would make the browser draw sixty frames a second meanwhile.
    page.wait_for_function(_IDLE, timeout=IDLE_TIMEOUT_MS, polling=50)


def forget(page: Page, hosts: set[str]) -> None:
    """Leave the page empty, its window alone, and nothing of these hosts in the browser's memory."""
    for other in page.context.pages:
        if other != page:
            other.close()
    visited = bool(urlsplit(page.url).netloc)  # and not widgets alone
    if visited:
        page.evaluate("sessionStorage.clear()")
    page.goto("about:blank")
    if visited:
        browser = page.context.new_cdp_session(page)
        for host in hosts:
            browser.send("Storage.clearDataForOrigin", {"origin": f"http://{host}", "storageTypes": "all"})
        browser.detach()


def visit(page: Page, url: str) -> None:
    """Open the address and wait until the page is complete."""
    page.goto(url)
    wait_idle(page)


def first_visit(page: Page, server: Server, name: str, **choices: Any) -> Locator:
    """Open a page by a link with these choices, as the first visitor of a server; return its main part."""
    visit(page, f"{server.url}/{name}?{urlencode(choices, doseq=True)}")
    return page.get_by_role("main")


def reveal(page: Page) -> None:
    """Let the lesson answer its question."""
    page.get_by_role("button", name="Reveal", exact=True).click()
    wait_idle(page)


def menu(page: Page) -> Locator:
    """The links of the menu."""
    return page.get_by_role("navigation", name="App pages").get_by_role("link")


def press(page: Page, *keys: str) -> None:
    """Press these keys, one after the other."""
    for key in keys:
        page.keyboard.press(key)


def box_of(where: Locator) -> FloatRect:
    """Where it stands on the screen, in pixels."""
    box = where.bounding_box()
    assert box, "it is not drawn"
    return box


def middle(where: Locator) -> tuple[float, float]:
    """The middle of it, from the left and from the top."""
    box = box_of(where)
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def type_into(page: Page, box: str, text: str, key: str = "Enter") -> None:
    """Replace the text of a box, and press the key that sends it off."""
    where = page.get_by_role("textbox", name=box)
    where.fill(text)
    where.press(key)


def save(where: Page | Locator, button: str, folder: Path) -> Path:
    """The file that a button gives, under its own name."""
    with (where if isinstance(where, Page) else where.page).expect_download() as download:
        where.get_by_role("button", name=button, exact=True).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def fits(page: Page) -> bool:
    """Whether nothing is wider than the screen."""
    return bool(page.evaluate(_FITS))


def letters(where: Page | Locator) -> set[str]:
    """Which sizes the letters of headings and paragraphs have, those of pictures too."""
    return set(where.locator("h1, h2, h3, h4, p, summary, label").evaluate_all(_SIZES))


def axe(page: Page) -> list[str]:
    """Every breach of an accessibility rule on the page as it is now: rule, impact, and the elements."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    page.wait_for_function(_SETTLED, timeout=IDLE_TIMEOUT_MS, polling=50)
    # Only what is wrong is fetched: all that is right would take longer than to look. Without "preload", axe
    # does not load all style sheets again, which only its rules on sound and on turned screens need; without
    # "selectors", it does not look for one that finds each element.
    options = "{ resultTypes: ['violations'], preload: false, selectors: false }"
    violations = page.evaluate(f"axe.run(document, {options}).then((all) => all.violations)")
    return [f"{v['id']} ({v['impact']}): {[node['html'] for node in v['nodes']]}" for v in violations]


def everybody_can_use(page: Page) -> None:
    """The page is complete and in order: for axe, wide and light, zoomed, and narrow and dark."""
    entries = ("Explore", "Learn", "Heads", "Classroom", "Models", "About")
    expect(menu(page)).to_have_text([re.compile(entry) for entry in entries])
    expect(page).to_have_title(re.compile("attnviz"))
    for fault in ("stException", "stDialog"):
        expect(page.get_by_test_id(fault)).to_have_count(0)
    wait_idle(page)
    assert not (wide := axe(page)), wide
    assert fits(page)
    page.set_viewport_size(ZOOMED)
    wait_idle(page)
    assert fits(page)
    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme="dark")
    expect(page.locator(".stApp")).to_have_css("color-scheme", "dark")
    wait_idle(page)
    assert not (narrow := axe(page)), narrow
    assert fits(page)
    tables = page.get_by_role("main").locator("table")
    assert tables.evaluate_all(_WIDER) == 0


def eventually(check: Callable[P, None]) -> Callable[P, None]:
    """A check of the page that is tried for a minute, until it holds, as `expect` does for one place."""

    @functools.wraps(check)
    def tried(*args: P.args, **kwargs: P.kwargs) -> None:
        end = time.monotonic() + 60
        while True:
            try:
                return check(*args, **kwargs)
            except AssertionError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    return tried


def everything(page: Page) -> tuple[str, list[str]]:
    """All that the page says (texts, names, values, what is selected), and every picture on it."""
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement?.blur()")
    wait_idle(page)
    main = page.get_by_role("main")
    pictures = main.locator("canvas").evaluate_all(
        "all => all.map(one => one.width * one.height ? one.toDataURL() : '')"
    )
    return main.aria_snapshot(), pictures


def assert_link_reproduces(page: Page) -> None:
    """Who opens this page's address has everything as it is here."""
    here = everything(page)
    other = page.context.new_page()
    visit(other, page.url)

    @eventually
    def check() -> None:  # exact numbers come a moment after the picture
        assert everything(other) == here

    check()
    other.close()


def open_model(page: Page, url: str, folder: Path) -> None:
    """Open a folder's model on the server."""
    visit(page, f"{url}/models?{urlencode({'own': folder})}")
    open_looked_at(page)


def open_looked_at(page: Page) -> None:
    """Open the model whose name is in the box of the page on models."""
    page.get_by_role("button", name="Inspect").click()
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_test_id("stAlert")).to_contain_text("It is open", timeout=COMPUTED_MS)


def open_room(teacher: Page, url: str) -> str:
    """Its code."""
    visit(teacher, f"{url}/classroom")
    teacher.get_by_role("button", name="Open a room").click()
    return teacher.locator(".room-code").inner_text()


@contextmanager
def leading(teacher: Page, url: str) -> Iterator[str]:
    """A room's code. The room ends with the block: a network may have three of them open at most."""
    code = open_room(teacher, url)
    try:
        yield code
    finally:
        visit(teacher, f"{url}/classroom")
        room = teacher.get_by_role("region", name="Live room")
        room.get_by_role("button", name="End room").dblclick()
        expect(room).to_be_hidden()
