"""How fast the Learn pages are: from one page to the next, and from a control to the picture that follows.

Everything is seen from a Chromium, as by a visitor; times end with the frame after the last change.

Run: python -m benchmarks.learn [--smoke]
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial

from playwright.sync_api import Browser, Page

from attnviz.app.learn.contents import LESSONS
from benchmarks.browser import launched, visitor
from benchmarks.page import Visit, fresh_server, milliseconds
from benchmarks.report import Report, parser
from tests.browser.visit import reveal, visit, wait_idle

ROUNDS = 9
WARMING = 4  # clicks
TARGET_MS = 300

Click = Callable[[Page, int], None]


def alternately(*names: str) -> Click:
    """Click on these buttons of a choice, one after the other."""

    def click(page: Page, number: int) -> None:
        name = names[number % len(names)]
        page.get_by_role("radio", name=name, exact=True).click()

    return click


def stepped(label: str) -> Click:
    """Click on "+" and "−" of a number, in turns."""

    def click(page: Page, number: int) -> None:
        step = "stNumberInputStepUp" if number % 2 else "stNumberInputStepDown"
        page.locator(
            f'[data-testid="stNumberInput"]:has([aria-label="{label}"]) [data-testid="{step}"]'
        ).click()

    return click


def again(name: str) -> Click:
    """Click on this button every time."""

    def click(page: Page, number: int) -> None:  # noqa: ARG001
        page.get_by_role("button", name=name).click()

    return click


def in_turns(*names: str) -> Click:
    """Click on these buttons, one after the other; on the first, where there are several of a name."""

    def click(page: Page, number: int) -> None:
        page.get_by_role("button", name=names[number % len(names)]).first.click()

    return click


CONTROLS: dict[str, tuple[str, Click]] = {
    "weighted_average": ("another way to compare", alternately("Cosine", "Dot product")),
    "scale": ("draw again", again("Draw again")),
    "query_key_value": ("another head", stepped("Head")),
    "many_heads": ("another number of heads", alternately("6", "12")),
    "masks": ("another mask: the model runs again", alternately("causal", "none")),
    "positions": ("another order: the model runs again", again("Shuffle")),
    "cross_attention": ("self- or cross-attention", alternately("reads itself", "reads the other text")),
    "block": ("another layer", stepped("Layer")),
    "translate": ("tired or narrow: translated again", alternately("too narrow", "too tired")),
    "write": ("start again, and write one word", in_turns("Start again", "Write one word")),
    "cause": ("silence a row, and let it go back", in_turns("Silence the row of it", "Let it go back")),
    "induction": ("silence a head, and let it go back", in_turns("1-4")),
    "watch_a_circuit_form": ("as lines, as a matrix", alternately("Lines", "Matrix")),
}
WRITTEN_BY_STORYTELLER = ("write", "induction", "watch_a_circuit_form")
TEXT_TARGET_MS = 1000


def from_picture_to_text(report: Report, browser: Browser, url: str, rounds: int) -> None:
    """Open the storyteller's pages as new visitors: when all text is there, after the first picture."""
    report.section(f"From the first picture to the settled page (a first visitor, and {rounds} later ones)")
    with visitor(browser) as page:
        while (answer := page.goto(f"{url}/ready")) is None or not answer.ok:
            time.sleep(1)
    for name in WRITTEN_BY_STORYTELLER:
        pictures, waits = list[float](), list[float]()
        for _ in range(1 + rounds):
            with visitor(browser) as page:
                page.goto(f"{url}/{name}", wait_until="commit")
                page.locator("[data-testid=stBidiComponentIsolated] .root:visible").first.wait_for()
                pictures.append(float(page.evaluate("performance.now()")))
                wait_idle(page)
                waits.append(max(0.0, page.evaluate("idleSince") - pictures[-1]))
        first, *later = waits
        report.row(f"{name}: to the first picture", milliseconds(pictures[1:]))
        for who, found in (("first", first), ("later", statistics.median(later))):
            figure = f"{found:.0f} ms"
            report.row(
                f"– then, a {who} visitor", figure, f"≤ {TEXT_TARGET_MS} ms", met=found <= TEXT_TARGET_MS
            )


def from_page_to_page(report: Report, browser: Browser, url: str, rounds: int, pages: Sequence[str]) -> None:
    """Walk through these pages by their "Next" links; the first walk fills the caches."""
    report.section(f"From a click on “Next” to the settled page ({rounds} walks)")
    with visitor(browser) as page:
        walked = Visit(page)
        for _ in range(rounds + 1):
            visit(page, f"{url}/{pages[0]}")
            for name in pages[1:]:
                walked.time(name, page.get_by_role("link", name="Next:").click)
                wait_idle(page)
        for name, times in walked.times.items():
            row(report, f"to {name}", [time.settled for time in times[1:]])


def from_control_to_picture(
    report: Report, browser: Browser, url: str, rounds: int, pages: Sequence[str]
) -> None:
    """Move each page's main control, if it has one; the first clicks fill the caches."""
    report.section(f"From a control that asks the server to the settled page ({rounds} clicks)")
    for name in filter(CONTROLS.__contains__, pages):
        what, click = CONTROLS[name]
        with visitor(browser) as page:
            visit(page, f"{url}/{name}")
            reveal(page)  # most controls are covered with the answer
            moved = Visit(page)
            for number in range(rounds + WARMING):
                moved.time(what, partial(click, page, number))
            row(report, f"{name}: {what}", [time.settled for time in moved.times[what][WARMING:]])


def row(report: Report, name: str, settled: list[float]) -> None:
    """One line of the table."""
    met = statistics.median(settled) <= TARGET_MS
    report.row(name, milliseconds(settled), f"≤ {TARGET_MS} ms", met=met)


def main(*, smoke: bool) -> None:
    """Measure everything and print it."""
    pages = [lesson.name for lesson in LESSONS]
    rounds, pages = (2, pages[:2]) if smoke else (ROUNDS, pages)
    with launched() as browser:
        report = Report("The Learn pages", browser.version)
        with fresh_server() as url:
            from_picture_to_text(report, browser, url, rounds)
            from_page_to_page(report, browser, url, rounds, pages)
            from_control_to_picture(report, browser, url, rounds, pages)
        report.end()


if __name__ == "__main__":
    main(smoke=parser(__doc__).parse_args().smoke)
