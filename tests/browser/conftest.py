"""A server and a Chromium for each test process, a visitor for each test, and faults none forgives."""

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect, sync_playwright

from tests.browser import chromium
from tests.browser.server import ROOT, Server, running
from tests.browser.visit import ANSWERS, DESKTOP, PHONE, Faults

FAILED = pytest.StashKey[bool]()

# Playwright's own five seconds are few where three browsers and three servers share two cores.
expect.set_options(timeout=30_000)


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


@pytest.fixture
def fresh_server(tmp_path_factory: pytest.TempPathFactory, faults: Faults) -> Iterator[Callable[[], Server]]:
    """Starts one more app, which nobody has visited. At the end: no traceback."""
    started: list[Server] = []
    with ExitStack() as servers:

        def start() -> Server:
            server = servers.enter_context(running(tmp_path_factory.mktemp("server")))
            faults.hosts.add(urlsplit(server.url).netloc)
            started.append(server)
            return server

        yield start
        tracebacks = [text for server in started for text in server.tracebacks()]
        assert not tracebacks, "\n".join(tracebacks)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A Chromium without a window."""
    executable = chromium.find()
    if executable is None:
        pytest.fail(chromium.ADVICE, pytrace=False)
    quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=quiet)
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


@pytest.fixture
def faults() -> Faults:
    """What the test's browser did wrong so far."""
    return Faults(hosts=set())


@pytest.fixture
def context(
    request: pytest.FixtureRequest,
    browser: Browser,
    faults: Faults,
    viewport: ViewportSize,
    colour_scheme: str,
) -> Iterator[BrowserContext]:
    """A visitor without history. At the end: no error, no request to others; a picture if the test failed."""
    request.getfixturevalue(
        "fresh_server"
    )  # made before the visitor, so stopped after: an open page would complain
    context = browser.new_context(
        viewport=viewport,
        color_scheme="dark" if colour_scheme == "dark" else "light",
        has_touch=viewport == PHONE,
        permissions=["clipboard-read", "clipboard-write"],
    )
    context.add_init_script(ANSWERS)
    faults.watch(context)
    yield context
    if faults.seen or request.node.stash.get(FAILED, False):
        for number, page in enumerate(context.pages):
            name = re.sub(r"[^\w.-]+", "-", f"{request.node.nodeid}-{number}")
            page.screenshot(path=ROOT / "test-artifacts" / f"{name}.png", full_page=True)
    context.close()
    assert not faults.seen, "\n".join(faults.seen)


@pytest.fixture
def page(context: BrowserContext, server: Server, faults: Faults) -> Iterator[Page]:
    """An empty page for `visit(page, server.url + "/about")`. At the end: no traceback on the server."""
    faults.hosts.add(urlsplit(server.url).netloc)
    before = len(server.tracebacks())
    yield context.new_page()
    tracebacks = server.tracebacks()[before:]
    assert not tracebacks, "\n".join(tracebacks)
