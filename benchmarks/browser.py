"""Launch Chromium for the benchmarks, with a stopwatch in its pages."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser import chromium
from tests.browser.visit import DESKTOP

STOPWATCH = Path(__file__).with_name("stopwatch.js")


@contextmanager
def launched() -> Iterator[Browser]:
    """Yield a headless Chromium with software rendering."""
    executable = chromium.find()
    if executable is None:
        sys.exit(chromium.ADVICE)
    arguments = [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
    ]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=arguments)
        yield browser
        browser.close()


@contextmanager
def visitor(browser: Browser) -> Iterator[Page]:
    """Yield a page without history or cache, with the stopwatch."""
    context = browser.new_context(viewport=DESKTOP)
    context.add_init_script(path=STOPWATCH)
    yield context.new_page()
    context.close()
