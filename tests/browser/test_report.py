"""The report in a browser: offline, its numbers, use by mouse and keyboard, and printing."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from attnviz.export.report import notebook
from attnviz.export.report.page import InitialView, report
from attnviz.text import percent
from tests.browser.visit import DESKTOP, FONT_SIZES, PHONE, Faults, axe, fits, font_sizes
from tests.export.report.small_traces import TARGET, TEXT, encoder, translator

FIRST = InitialView(layer=1, head=2, query=2)
Open = Callable[..., Page]


@pytest.fixture
def open_file(context: BrowserContext, faults: Faults, tmp_path: Path) -> Open:
    """A function that opens a report as a file, offline; the browser must request no other URL."""
    faults.hosts.add("")  # the host of file: URLs
    context.set_offline(True)
    requested: list[str] = []
    context.on("request", lambda request: requested.append(request.url))

    def open_report(text: str, link: str = "") -> Page:
        file = tmp_path / "report.html"
        file.write_text(text, "utf-8")
        page = context.new_page()
        page.goto(f"{file.as_uri()}{link}")
        page.wait_for_selector("html[data-drawn]")
        assert [url for url in requested if not url.startswith(("blob:", "data:"))] == [file.as_uri()]
        requested.clear()
        return page

    return open_report


def percent_number(weight: float) -> str:
    return percent(weight, 1).replace("\N{NO-BREAK SPACE}", " ").removesuffix(" %")


def head_title(page: Page) -> Locator:
    return page.locator("section.one h2")


def test_keyboard_selects_heads_and_the_url_keeps_them(open_file: Open) -> None:
    page = open_file(report(translator()), "#kind=decoder")
    expect(head_title(page)).to_have_text("Decoder · Layer 1 · Head 1")
    page.locator(".grid button").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".fact")).to_contain_text("Layer 2 · Head 2: on average")
    expect(head_title(page)).to_have_text("Decoder · Layer 1 · Head 1")
    page.keyboard.press("Enter")
    expect(head_title(page)).to_have_text("Decoder · Layer 2 · Head 2")
    page.get_by_role("radio", name="Decoder").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("radio", name="Cross-attention")).to_be_checked()
    page.get_by_role("checkbox", name="Hide special tokens").press("Space")
    page.locator(".queries button").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    link = "#text=1&kind=cross&layer=2&query=3&key=none&view=lines&head=2&hide=1"
    assert page.evaluate("location.hash") == link
    reopened = open_file(report(translator()), link)
    expect(head_title(reopened)).to_have_text("Cross-attention · Layer 2 · Head 2")
    expect(reopened.locator(".queries button.pinned")).to_have_text("chien")
    expect(reopened.locator(".queries button")).to_have_text(TARGET.split())
    expect(reopened.locator(".keys button .label")).to_have_text(TEXT.split())
    expect(reopened.locator(".words")).to_contain_text("chien attends to")


@pytest.mark.parametrize(
    ("viewport", "colour_scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["wide light", "narrow dark"]
)
def test_page_is_accessible(open_file: Open) -> None:
    page = open_file(report([translator(), encoder()], InitialView(kind="cross", query=1)))
    page.locator("summary", has_text="All numbers").click()
    assert axe(page) == []
    page.get_by_role("radio", name="Matrix").check(force=True)
    assert axe(page) == []
    assert fits(page)
    assert font_sizes(page) <= FONT_SIZES


@pytest.mark.parametrize("colour_scheme", ["dark"])
def test_print_has_pictures_and_all_numbers_on_white(open_file: Open) -> None:
    trace = encoder()
    page = open_file(report(trace, FIRST))
    assert page.pdf().startswith(b"%PDF")
    page.emulate_media(media="print")
    expect(page.locator(".top > .tools")).to_be_hidden()
    expect(head_title(page)).to_be_visible()
    for canvas in page.locator(".parts canvas").all():
        expect(canvas).to_be_visible()
    rows = [row.locator("td").all_text_contents() for row in page.locator("tbody tr").all()]
    assert rows == [[percent_number(weight) for weight in row] for row in trace.stack("encoder")[1, 2]]
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator(".root").first.evaluate("root => root.dataset.theme") == "light"
    page.emulate_media(media="screen")
    expect(page.locator(".top > .tools")).to_be_visible()


# A pinch with two fingers.
PINCH = """cells => {
  const { left, top } = cells.getBoundingClientRect();
  for (const [type, pointerId, x] of [
    ["pointerdown", 1, 10], ["pointerdown", 2, 90], ["pointermove", 2, 40],
    ["pointerup", 1, 10], ["pointerup", 2, 40],
  ]) {
    const finger = { pointerId, pointerType: "touch", clientX: left + x, clientY: top + 9 };
    cells.dispatchEvent(new PointerEvent(type, finger));
  }
}"""


@pytest.mark.parametrize("complete", [True, False])
def test_long_text_can_be_zoomed(open_file: Open, monkeypatch: pytest.MonkeyPatch, complete: bool) -> None:
    """A `complete` file has all weights of a text of 300 tokens; others have the 32 largest per token."""
    trace = encoder(" ".join(f"w{n}" for n in range(298)), layers=1)
    if not complete:
        monkeypatch.setattr(notebook, "MAX_WEIGHTS", 1000)
    page = open_file(notebook.show(trace, head=1, view="matrix").page)
    weights, words = trace.block().weights[1], page.locator("p.words")
    expect(words).to_contain_text("the largest of 3 × 3 weights")
    matrix = page.get_by_role("application")
    matrix.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    largest = weights[3:6, 3:6].max()
    expect(words).to_contain_text(f"largest {percent_number(float(largest))} %")

    # Ctrl with the mouse wheel zooms in at the pointer.
    matrix.hover(position={"x": 1, "y": 1})
    page.keyboard.down("Control")
    for _ in range(4):
        page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    expect(matrix).to_have_attribute("aria-label", re.compile("19 queries by 19 keys"))
    for name in ("Earlier queries", "Earlier keys"):  # labels of a different width have shifted the matrix
        page.get_by_role("button", name=name).click()
    matrix.focus()
    page.keyboard.press("Control+Home")
    order = np.argsort(-weights[0])
    for key in range(3):
        text = f"{percent_number(float(weights[0, key]))} %"
        if not complete and key not in order[:32]:
            text = f"at most {percent_number(float(weights[0, order[31]]))} %"
        expect(words).to_contain_text(text)
        page.keyboard.press("ArrowRight")

    page.get_by_role("searchbox", name="Find a token").fill("w297")
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 of 1: 299 w297", exact=True)).to_be_visible()
    matrix.evaluate(PINCH)
    expect(matrix).to_have_attribute("aria-label", re.compile("38 queries by 38 keys"))
    page.get_by_label("Hide weights").select_option("below 1 %")
    share = weights[weights < 0.01].sum() / weights.sum()
    expect(page.locator(".hidden-weight")).to_have_text(
        f"not drawn: {percent_number(float(share))} % of the head’s weight"
    )
    assert axe(page) == []
