"""How fast thousands of queries and keys are drawn on the page “One plane”, in software.

20,000 points at random are given to the picture on an empty page, as the app gives them; then it is pushed
and enlarged with every frame. On the app's own page another head is chosen, whose plane the server computes.

Run: python -m benchmarks.points [--smoke]
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Browser, Page

from attnviz.app.heads.plane.cloud import cloud
from benchmarks.browser import launched, visitor
from benchmarks.page import fresh_server, milliseconds
from benchmarks.report import Report, parser
from tests.browser.visit import visit, wait_idle
from tests.browser.widgets import Widgets, sent_by

POINTS = 20_000
FRAMES = 120
ROUNDS = 9
SECONDS = 120_000  # milliseconds, for the index of the first visit

# Frames a second while the picture is pushed and enlarged, and milliseconds of a drawing.
_MOVED = """
async (frames) => {
    const view = window.attnvizCode.cloud.viewIn(window.mounted.cloud.parentElement);
    const next = () => new Promise(requestAnimationFrame);
    const spent = [];
    await next();
    const begun = performance.now();
    for (let at = 0; at < frames; at++) {
        view.view = { zoom: 1 + at / frames, x: at, y: at / 2 };
        const from = performance.now();
        view.draw();
        spent.push(performance.now() - from);
        await next();
    }
    return [(1000 * frames) / (performance.now() - begun), spent.sort((a, b) => a - b)[frames >> 1]];
}
"""


def widget(report: Report, browser: Browser, frames: int) -> None:
    """The picture alone, with as many points as it has at most."""
    report.section(f"{POINTS:,} points on an empty page")
    generator = np.random.default_rng(1)
    half = np.repeat(np.array([0, 1], np.uint8), POINTS // 2)
    arrays: dict[str, NDArray[Any]] = {
        "places": generator.normal(size=(POINTS, 2)).astype(np.float32),
        "sides": half,
        **dict.fromkeys(("words", "lines"), half.astype(np.float32)),
        **dict.fromkeys(("place", "norm", "word"), half + np.uint8(60)),
    }
    with visitor(browser) as page:
        widgets = Widgets.on(page)
        begun = time.perf_counter()
        name = widgets.publish("points", arrays, words=["a", "b"], lines=["c", "d"], frequent=["a"], ends={})
        words = {"axes": ("across", "up"), "title": "Points", "alt": "Points", "about": ""}
        widgets.mount(
            "cloud", sent_by(cloud, "cloud", points=name, by="kind", origin=False, area=(), **words), 1300
        )
        page.locator(".cloud[data-drawn]").wait_for()
        first = 1000 * (time.perf_counter() - begun)
        report.row("from Python's message to the picture", f"{first:.0f} ms", "≤ 1,500 ms", met=first <= 1500)
        rate, drawing = page.evaluate(_MOVED, frames)
        report.row("frames a second while it is moved", f"{rate:.0f}", "≥ 30", met=rate >= 30)
        report.row("of which drawing", f"{drawing:.1f} ms")


def other_heads(report: Report, browser: Browser, rounds: int) -> None:
    """Another head of the same layer, on the page."""
    report.section(f"The bundled sentences on the page ({rounds} heads)")
    with fresh_server() as url, visitor(browser) as page:
        visit(page, f"{url}/plane?on=Many+sentences")
        page.locator(".cloud[data-drawn]").wait_for(timeout=SECONDS)
        wait_idle(page)
        taken = [_next_head(page, 3 + at) for at in range(rounds)]
        limit = statistics.median(taken) <= 1500
        report.row("from the click to another head's picture", milliseconds(taken), "≤ 1,500 ms", met=limit)


def _next_head(page: Page, head: int) -> float:
    """Milliseconds until the plane of another head is drawn."""
    root = page.locator(".cloud")
    root.evaluate("root => { delete root.dataset.drawn; }")
    begun = time.perf_counter()
    page.get_by_role("spinbutton", name="Head").fill(str(head))
    page.keyboard.press("Enter")
    root.and_(page.locator("[data-drawn]")).wait_for()
    taken = 1000 * (time.perf_counter() - begun)
    wait_idle(page)
    return taken


def main(*, smoke: bool) -> None:
    """Measure everything and print it."""
    with launched() as browser:
        report = Report("Thousands of queries and keys", browser.version)
        widget(report, browser, 10 if smoke else FRAMES)
        other_heads(report, browser, 2 if smoke else ROUNDS)
        report.end()


if __name__ == "__main__":
    main(smoke=parser(__doc__).parse_args().smoke)
