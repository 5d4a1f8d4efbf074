"""Fixtures: a server, a browser and a page for each test process; faults on a page fail the test."""

import re
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect, sync_playwright

from tests.browser import chromium
from tests.browser.explore import Explore
from tests.browser.server import ROOT, Server, running
from tests.browser.visit import DESKTOP, PHONE, RECORD_TIMES, Faults, clear_browser_data
from tests.browser.widgets import Widgets

HERE = Path(__file__).parent
SLOWEST_FILES = ("test_room.py", "test_teachers_view.py", "test_printing.py")
FAILED = pytest.StashKey[bool]()

# Playwright's default of five seconds is too short if three browsers and three servers share two cores.
expect.set_options(timeout=30_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slowest files first, to keep all processes busy until the end.

    A failed browser test is rerun up to twice, as three browsers share two cores. The summary lists reruns.
    """
    items.sort(key=lambda item: item.path.name not in SLOWEST_FILES)
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.flaky(reruns=2))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The app, started once per process."""
    with running(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium browser."""
    executable = chromium.find()
    if executable is None:
        pytest.fail(chromium.ADVICE, pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=chromium.QUIET)
        yield browser
        browser.close()


@pytest.fixture
def viewport() -> ViewportSize:
    """The size of the window. Tests set it with `parametrize("viewport", [DESKTOP, PHONE])`."""
    return DESKTOP


@pytest.fixture
def colour_scheme() -> str:
    """The theme, light or dark. Tests set it with `parametrize("colour_scheme", ["light", "dark"])`."""
    return "light"


@pytest.fixture(scope="session")
def all_faults() -> Faults:
    """Faults on the pages that tests share."""
    return Faults(hosts=set())


@pytest.fixture
def faults(all_faults: Faults) -> Faults:
    """Faults during the current test."""
    all_faults.hosts.clear()
    all_faults.seen.clear()
    return all_faults


def new_context(
    browser: Browser, faults: Faults, viewport: ViewportSize, colour_scheme: str
) -> BrowserContext:
    """Return a new browser context, and record its faults.

    Animations are off, since each frame takes as long as a test step; a test of an animation turns them on.
    """
    context = browser.new_context(
        viewport=viewport,
        color_scheme="dark" if colour_scheme == "dark" else "light",
        reduced_motion="reduce",
        has_touch=viewport == PHONE,
        permissions=["clipboard-read", "clipboard-write"],
    )
    context.add_init_script(RECORD_TIMES)
    faults.watch(context)
    return context


@pytest.fixture
def context(
    request: pytest.FixtureRequest,
    browser: Browser,
    faults: Faults,
    viewport: ViewportSize,
    colour_scheme: str,
) -> Iterator[BrowserContext]:
    """A new browser context. Afterwards, check for faults; save screenshots of a failed test."""
    context = new_context(browser, faults, viewport, colour_scheme)
    yield context
    save_screenshots_of_failure(request, faults, context)
    context.close()
    assert not faults.seen, "\n".join(faults.seen)


@pytest.fixture(scope="session")
def shared_page(browser: Browser, all_faults: Faults) -> Iterator[Callable[[bool], Page]]:
    """A function that returns a page with or without touch; all tests of the process share both pages.

    The browser caches the app's code, which halves the time of a visit.
    """
    pages: dict[bool, Page] = {}

    def find(touch: bool) -> Page:
        if touch not in pages or pages[touch].is_closed():
            pages[touch] = new_context(browser, all_faults, PHONE if touch else DESKTOP, "light").new_page()
        return pages[touch]

    yield find
    for page in pages.values():
        page.context.close()


@pytest.fixture
def page(
    request: pytest.FixtureRequest,
    shared_page: Callable[[bool], Page],
    server: Server,
    faults: Faults,
    viewport: ViewportSize,
    colour_scheme: str,
) -> Iterator[Page]:
    """An empty page for `visit(page, server.url + "/about")`, without data of earlier visits.

    Afterwards, check for faults on the page and for tracebacks in the server's log.
    """
    faults.hosts.add(urlsplit(server.url).netloc)
    before = len(server.tracebacks())
    page = shared_page(viewport == PHONE)
    page.set_viewport_size(viewport)
    page.emulate_media(
        media="null",
        color_scheme="dark" if colour_scheme == "dark" else "light",
        reduced_motion="reduce",
        forced_colors="null",
        contrast="null",
    )
    yield page
    if save_screenshots_of_failure(request, faults, page.context):
        page.context.close()  # the next test begins in a new page
    else:
        clear_browser_data(page, faults.hosts)
    assert not faults.seen, "\n".join(faults.seen)
    tracebacks = server.tracebacks()[before:]
    assert not tracebacks, "\n".join(tracebacks)


@pytest.fixture
def explore(page: Page, server: Server) -> Explore:
    """The Explore page, not yet opened."""
    return Explore(page, server.url)


@pytest.fixture
def widgets(page: Page, colour_scheme: str) -> Widgets:
    """A page that contains only widgets, in the test's colour scheme, with animations."""
    page.emulate_media(reduced_motion="no-preference")
    return Widgets.on(page, colour_scheme)


def save_screenshots_of_failure(
    request: pytest.FixtureRequest, faults: Faults, context: BrowserContext
) -> bool:
    """Save a screenshot of every page if the test has failed; return whether it failed."""
    failed = bool(faults.seen) or request.node.stash.get(FAILED, False)
    if failed:
        for number, page in enumerate(context.pages):
            name = re.sub(r"[^\w.-]+", "-", f"{request.node.nodeid}-{number}")
            page.screenshot(path=ROOT / "test-artifacts" / f"{name}.png", full_page=True)
    return failed
