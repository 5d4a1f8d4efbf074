"""A server, a Chromium and its window for each test process, and faults that no test forgives."""

import re
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect, sync_playwright

from tests.browser import chromium
from tests.browser.explore import Explore
from tests.browser.server import ROOT, Server, running
from tests.browser.visit import ANSWERS, DESKTOP, PHONE, Faults, forget
from tests.browser.widgets import Widgets

HERE = Path(__file__).parent
LONGEST = ("test_room.py", "test_teachers_view.py", "test_printing.py")
FAILED = pytest.StashKey[bool]()

# Playwright's own five seconds are few where three browsers and three servers share two cores.
expect.set_options(timeout=30_000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files begin first, so that no process waits for one of them at the end.

    A test in a browser that failed is tried up to twice more: three share two cores. The summary names it.
    """
    items.sort(key=lambda item: item.path.name not in LONGEST)
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
    """The app, started once."""
    with running(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A Chromium without a window."""
    executable = chromium.find()
    if executable is None:
        pytest.fail(chromium.ADVICE, pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=chromium.QUIET)
        yield browser
        browser.close()


@pytest.fixture
def viewport() -> ViewportSize:
    """The size of the window; a test chooses another with `parametrize("viewport", [DESKTOP, PHONE])`."""
    return DESKTOP


@pytest.fixture
def colour_scheme() -> str:
    """Light or dark; a test chooses with `parametrize("colour_scheme", ["light", "dark"])`."""
    return "light"


@pytest.fixture(scope="session")
def all_faults() -> Faults:
    """What the kept windows are watched with."""
    return Faults(hosts=set())


@pytest.fixture
def faults(all_faults: Faults) -> Faults:
    """What the test's browser did wrong so far."""
    all_faults.hosts.clear()
    all_faults.seen.clear()
    return all_faults


def visitor(browser: Browser, faults: Faults, viewport: ViewportSize, colour_scheme: str) -> BrowserContext:
    """A visitor without history, who is watched.

    Nothing moves: each frame of a movement takes as long as many a step of a test. What moves is asked for.
    """
    context = browser.new_context(
        viewport=viewport,
        color_scheme="dark" if colour_scheme == "dark" else "light",
        reduced_motion="reduce",
        has_touch=viewport == PHONE,
        permissions=["clipboard-read", "clipboard-write"],
    )
    context.add_init_script(ANSWERS)
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
    """A visitor without history. At the end: no error, no request to others; a picture if the test failed."""
    context = visitor(browser, faults, viewport, colour_scheme)
    yield context
    take_pictures_of_a_failure(request, faults, context)
    context.close()
    assert not faults.seen, "\n".join(faults.seen)


@pytest.fixture(scope="session")
def window(browser: Browser, all_faults: Faults) -> Iterator[Callable[[bool], Page]]:
    """The process's window, without or with a touch screen, kept from test to test.

    It knows the app's code already: a visit takes half of what it takes in a new window.
    """
    pages: dict[bool, Page] = {}

    def find(touch: bool) -> Page:
        if touch not in pages or pages[touch].is_closed():
            pages[touch] = visitor(browser, all_faults, PHONE if touch else DESKTOP, "light").new_page()
        return pages[touch]

    yield find
    for page in pages.values():
        page.context.close()


@pytest.fixture
def page(
    request: pytest.FixtureRequest,
    window: Callable[[bool], Page],
    server: Server,
    faults: Faults,
    viewport: ViewportSize,
    colour_scheme: str,
) -> Iterator[Page]:
    """An empty page for `visit(page, server.url + "/about")`, in a window that has forgotten former visits.

    At the end as for `context`, and: no traceback on the server.
    """
    faults.hosts.add(urlsplit(server.url).netloc)
    before = len(server.tracebacks())
    page = window(viewport == PHONE)
    page.set_viewport_size(viewport)
    page.emulate_media(
        media="null",
        color_scheme="dark" if colour_scheme == "dark" else "light",
        reduced_motion="reduce",
        forced_colors="null",
        contrast="null",
    )
    yield page
    if take_pictures_of_a_failure(request, faults, page.context):
        page.context.close()  # whatever it was, the next test begins in another window
    else:
        forget(page, faults.hosts)
    assert not faults.seen, "\n".join(faults.seen)
    tracebacks = server.tracebacks()[before:]
    assert not tracebacks, "\n".join(tracebacks)


@pytest.fixture
def explore(page: Page, server: Server) -> Explore:
    """The page Explore, not yet opened."""
    return Explore(page, server.url)


@pytest.fixture
def widgets(page: Page, colour_scheme: str) -> Widgets:
    """A page for widgets alone, in the test's colours; here things move."""
    page.emulate_media(reduced_motion="no-preference")
    return Widgets.on(page, colour_scheme)


def take_pictures_of_a_failure(
    request: pytest.FixtureRequest, faults: Faults, context: BrowserContext
) -> bool:
    """Whether the test has failed; if so, what its visitor sees is kept."""
    failed = bool(faults.seen) or request.node.stash.get(FAILED, False)
    if failed:
        for number, page in enumerate(context.pages):
            name = re.sub(r"[^\w.-]+", "-", f"{request.node.nodeid}-{number}")
            page.screenshot(path=ROOT / "test-artifacts" / f"{name}.png", full_page=True)
    return failed
