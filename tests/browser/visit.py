"""Helpers for browser tests: waiting, accessibility checks, and a record of faults."""

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
"""Timeout for steps that take seconds even on an idle machine: opening models, or reading many sentences."""

RECORD_TIMES = """
window.WebSocket = class extends WebSocket {
    constructor(...address) {
        super(...address);
        this.addEventListener("message", () => { window.lastReceived = performance.now() });
    }
    send(message) {
        window.lastSent = performance.now();
        super.send(message);
    }
};
for (const type of ["keydown", "input", "pointerdown", "pointerup", "click"]) {
    addEventListener(type, () => { window.lastInput = performance.now() }, { capture: true });
}
"""
"""Script that runs in every page before its own code, and records the times of input and of messages."""

# Streamlit writes its state into the page. It sends a message some time after an input (a slider: 200 ms),
# so the page must stay idle for a while; on a busy machine the server's first answer can be late or missing.
_IDLE = """
() => {
    const now = performance.now();
    const unanswered = window.lastSent > (window.lastReceived ?? 0) && now - window.lastSent < 5000;
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
    return now - window.idleSince > 100 && now - (window.lastInput ?? 0) > 250;
}
"""

# An element that fades in does not have its final colours yet. The `finished` promise of an animation is not
# awaited: it never settles if the element is removed.
_SETTLED = """
() => document.getAnimations().every((one) =>
    one.playState !== "running" || !Number.isFinite(one.effect.getComputedTiming().endTime))
"""

# Streamlit's pages scroll in an element inside the document.
_FITS = """
() => [document.documentElement, ...document.querySelectorAll('body, .stApp, [data-testid="stMain"]')]
    .every((one) => one.scrollWidth <= one.clientWidth + 1)
"""

# Count the tables that overflow their parent element without a scroll bar.
_OVERFLOWING = """
all => all.filter(({ scrollWidth, parentElement: room }) =>
    getComputedStyle(room).overflowX === "visible" && scrollWidth > room.clientWidth + 1).length
"""

FONT_SIZES = {f"{size}px" for size in re.findall(r"--\w+: calc\((\d+) \*", LOOK)}
"""The allowed font sizes."""

_VISIBLE_FONT_SIZES = (
    "all => all.filter(one => one.checkVisibility()).map(one => getComputedStyle(one).fontSize)"
)

COLOURS = """
canvas => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
}
"""
"""Script that counts the colours of a canvas; a blank canvas has one colour."""


@dataclass
class Faults:
    """Errors, dialogs and requests to other hosts in a browser.

    Attributes:
        hosts: the servers ("127.0.0.1:8501") that pages may contact.
        seen: one line per fault.
    """

    hosts: set[str]
    seen: list[str] = field(default_factory=list)

    def watch(self, context: BrowserContext) -> None:
        """Start recording every error and dialog, and every request to a host not in `hosts`."""
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
        # Streamlit requests its own routes below the page's path first, and then at the root.
        probe = message.location["url"].endswith(("/_stcore/health", "/_stcore/host-config"))
        if message.type == "error" and not probe:
            self.seen.append(f"console error: {message.text}")

    def _request(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"blob", "data"} and parts.netloc not in self.hosts:
            self.seen.append(f"request to {url}")


def wait_idle(page: Page) -> None:
    """Wait until the server has answered and the page shows the answer."""
    page.evaluate("() => { window.idleSince = undefined }")
    # Polling at every frame would make the browser draw sixty frames a second.
    page.wait_for_function(_IDLE, timeout=IDLE_TIMEOUT_MS, polling=50)


def clear_browser_data(page: Page, hosts: set[str]) -> None:
    """Empty the page, close all other pages, and clear the browser's data for these hosts."""
    for other in page.context.pages:
        if other != page:
            other.close()
    visited = bool(urlsplit(page.url).netloc)  # False for a page that contains only widgets
    if visited:
        page.evaluate("sessionStorage.clear()")
    page.goto("about:blank")
    if visited:
        browser = page.context.new_cdp_session(page)
        for host in hosts:
            browser.send("Storage.clearDataForOrigin", {"origin": f"http://{host}", "storageTypes": "all"})
        browser.detach()


def visit(page: Page, url: str) -> None:
    """Open a URL and wait until the page is complete."""
    page.goto(url)
    wait_idle(page)


def open_page(page: Page, server: Server, name: str, **choices: Any) -> Locator:
    """Open a page with these URL parameters; return its main part."""
    visit(page, f"{server.url}/{name}?{urlencode(choices, doseq=True)}")
    return page.get_by_role("main")


def reveal(page: Page) -> None:
    """Reveal the answer to the lesson's question."""
    page.get_by_role("button", name="Reveal", exact=True).click()
    wait_idle(page)


def menu(page: Page) -> Locator:
    """Return the links of the menu."""
    return page.get_by_role("navigation", name="App pages").get_by_role("link")


def press(page: Page, *keys: str) -> None:
    """Press these keys, one after the other."""
    for key in keys:
        page.keyboard.press(key)


def box_of(where: Locator) -> FloatRect:
    """Return an element's bounding box, in pixels."""
    box = where.bounding_box()
    assert box, "the element is not drawn"
    return box


def middle(where: Locator) -> tuple[float, float]:
    """Return the x and y of an element's centre, in pixels."""
    box = box_of(where)
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def type_into(page: Page, box: str, text: str, key: str = "Enter") -> None:
    """Replace the text of a text box, and press the key that submits it."""
    where = page.get_by_role("textbox", name=box)
    where.fill(text)
    where.press(key)


def save(where: Page | Locator, button: str, folder: Path) -> Path:
    """Download a button's file into a folder under its suggested name; return the path."""
    with (where if isinstance(where, Page) else where.page).expect_download() as download:
        where.get_by_role("button", name=button, exact=True).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def fits(page: Page) -> bool:
    """Return whether nothing is wider than the screen."""
    return bool(page.evaluate(_FITS))


def font_sizes(where: Page | Locator) -> set[str]:
    """Return the font sizes of headings, paragraphs and labels, including those inside widgets."""
    return set(where.locator("h1, h2, h3, h4, p, summary, label").evaluate_all(_VISIBLE_FONT_SIZES))


def axe(page: Page) -> list[str]:
    """Return every accessibility violation on the page: rule, impact and elements."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    page.wait_for_function(_SETTLED, timeout=IDLE_TIMEOUT_MS, polling=50)
    # Fetching results of passed rules would take longer than the check. Only the rules on sound and screen
    # orientation need "preload", which loads all style sheets again; "selectors" adds a selector per element.
    options = "{ resultTypes: ['violations'], preload: false, selectors: false }"
    violations = page.evaluate(f"axe.run(document, {options}).then((all) => all.violations)")
    return [f"{v['id']} ({v['impact']}): {[node['html'] for node in v['nodes']]}" for v in violations]


def assert_accessible(page: Page) -> None:
    """Check the page for overflow (wide, zoomed, narrow), and with axe (wide and light, narrow and dark)."""
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
    assert tables.evaluate_all(_OVERFLOWING) == 0


def eventually(check: Callable[P, None]) -> Callable[P, None]:
    """Make a check repeat until it passes, for at most a minute."""

    @functools.wraps(check)
    def repeated(*args: P.args, **kwargs: P.kwargs) -> None:
        end = time.monotonic() + 60
        while True:
            try:
                return check(*args, **kwargs)
            except AssertionError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    return repeated


def page_contents(page: Page) -> tuple[str, list[str]]:
    """Return the page's accessibility tree (texts, names, values, selections) and all its pictures."""
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement?.blur()")
    wait_idle(page)
    main = page.get_by_role("main")
    pictures = main.locator("canvas").evaluate_all(
        "all => all.map(one => one.width * one.height ? one.toDataURL() : '')"
    )
    return main.aria_snapshot(), pictures


def assert_link_reproduces(page: Page) -> None:
    """Check that the page's URL opens the same view."""
    expected = page_contents(page)
    other = page.context.new_page()
    visit(other, page.url)

    @eventually
    def check() -> None:  # exact numbers arrive after the picture
        assert page_contents(other) == expected

    check()
    other.close()


def open_model(page: Page, url: str, folder: Path) -> None:
    """Open the model in a folder, on the Models page."""
    visit(page, f"{url}/models?{urlencode({'own': folder})}")
    inspect_and_open(page)


def inspect_and_open(page: Page) -> None:
    """Inspect and open the model named in the text box of the Models page."""
    page.get_by_role("button", name="Inspect").click()
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_test_id("stAlert")).to_contain_text("The model is open", timeout=COMPUTED_MS)


def open_room(teacher: Page, url: str) -> str:
    """Open a room; return its code."""
    visit(teacher, f"{url}/classroom")
    teacher.get_by_role("button", name="Open a room").click()
    return teacher.locator(".room-code").inner_text()


@contextmanager
def leading(teacher: Page, url: str) -> Iterator[str]:
    """Open a room and yield its code. End the room after the block: a network can have three open rooms."""
    code = open_room(teacher, url)
    try:
        yield code
    finally:
        visit(teacher, f"{url}/classroom")
        room = teacher.get_by_role("region", name="Live room")
        room.get_by_role("button", name="End room").dblclick()
        expect(room).to_be_hidden()
