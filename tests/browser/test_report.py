"""The report in a browser: a file without a network, every number the trace's, for mouse, keys and paper."""

import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from attnviz.export.report import notebook
from attnviz.export.report.page import InitialView, report
from tests.browser.visit import DESKTOP, LETTERS, PHONE, Faults, axe, fits, letters
from tests.export.report.made import TARGET, TEXT, encoder, translator

FIRST = InitialView(layer=1, head=2, query=2)
Open = Callable[..., Page]


@pytest.fixture
def open_file(context: BrowserContext, faults: Faults, tmp_path: Path) -> Open:
    """Opens a page as a file, with no network; the file is all that the browser may ask for."""
    faults.hosts.add("")  # of files
    context.set_offline(True)
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))

    def open_it(text: str, link: str = "") -> Page:
        file = tmp_path / "report.html"
        file.write_text(text, "utf-8")
        page = context.new_page()
        page.goto(f"{file.as_uri()}{link}")
        page.wait_for_selector("html[data-drawn]")
        assert [url for url in asked if not url.startswith(("blob:", "data:"))] == [file.as_uri()]
        asked.clear()
        return page

    return open_it


def tenths(share: float) -> str:
    printed = str((Decimal(float(share)) * 100).quantize(Decimal("0.1"), ROUND_HALF_UP))
    if share > 0 and printed == "0.0":
        return "< 0.1"
    return "> 99.9" if share < 1 and printed == "100.0" else printed


def head_title(page: Page) -> Locator:
    return page.locator("section.one h2")


def test_heads_are_chosen_with_the_keyboard_and_stand_in_the_address(open_file: Open) -> None:
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
    again = open_file(report(translator()), link)
    expect(head_title(again)).to_have_text("Cross-attention · Layer 2 · Head 2")
    expect(again.locator(".queries button.pinned")).to_have_text("chien")
    expect(again.locator(".queries button")).to_have_text(TARGET.split())
    expect(again.locator(".keys button .label")).to_have_text(TEXT.split())
    expect(again.locator(".words")).to_contain_text("chien attends to")


@pytest.mark.parametrize(
    ("viewport", "colour_scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["wide light", "narrow dark"]
)
def test_the_page_is_accessible(open_file: Open) -> None:
    page = open_file(report([translator(), encoder()], InitialView(kind="cross", query=1)))
    page.locator("summary", has_text="All numbers").click()
    assert axe(page) == []
    page.get_by_role("radio", name="Matrix").check(force=True)
    assert axe(page) == []
    assert fits(page)
    assert letters(page) <= LETTERS


@pytest.mark.parametrize("colour_scheme", ["dark"])
def test_on_paper_are_the_pictures_and_all_numbers_on_white(open_file: Open) -> None:
    trace = encoder()
    page = open_file(report(trace, FIRST))
    assert page.pdf().startswith(b"%PDF")
    page.emulate_media(media="print")
    expect(page.locator(".top > .tools")).to_be_hidden()
    expect(head_title(page)).to_be_visible()
    for canvas in page.locator(".parts canvas").all():
        expect(canvas).to_be_visible()
    rows = [row.locator("td").all_text_contents() for row in page.locator("tbody tr").all()]
    assert rows == [[tenths(share) for share in row] for row in trace.stack("encoder")[1, 2]]
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator(".root").first.evaluate("root => root.dataset.theme") == "light"
    page.emulate_media(media="screen")
    expect(page.locator(".top > .tools")).to_be_visible()


# Two fingers that come together.
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


@pytest.mark.parametrize("whole", [True, False])
def test_a_long_text_zooms_from_blocks_to_its_weights(
    open_file: Open, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    """Of a text of 300 tokens all weights are in the file, or the largest 32 of each token."""
    trace = encoder(" ".join(f"w{n}" for n in range(298)), layers=1)
    if not whole:
        monkeypatch.setattr(notebook, "MAX_WEIGHTS", 1000)
    page = open_file(notebook.show(trace, head=1, view="matrix").page)
    weights, words = trace.block().weights[1], page.locator("p.words")
    expect(words).to_contain_text("the largest of 3 × 3 weights")
    matrix = page.get_by_role("application")
    matrix.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    largest = weights[3:6, 3:6].max()
    expect(words).to_contain_text(f"largest {tenths(float(largest))} %")

    # A wheel with Ctrl held zooms where the pointer is, as the keyboard does.
    matrix.hover(position={"x": 1, "y": 1})
    page.keyboard.down("Control")
    for _ in range(4):
        page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    expect(matrix).to_have_attribute("aria-label", re.compile("19 queries by 19 keys"))
    for name in ("Earlier queries", "Earlier keys"):  # labels of other lengths have moved the matrix a little
        page.get_by_role("button", name=name).click()
    matrix.focus()
    page.keyboard.press("Control+Home")
    order = np.argsort(-weights[0])
    for key in range(3):
        text = f"{tenths(float(weights[0, key]))} %"
        if not whole and key not in order[:32]:
            text = f"at most {tenths(float(weights[0, order[31]]))} %"
        expect(words).to_contain_text(text)
        page.keyboard.press("ArrowRight")

    page.get_by_role("searchbox", name="Find a token").fill("w297")
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 of 1: 299 w297", exact=True)).to_be_visible()
    matrix.evaluate(PINCH)
    expect(matrix).to_have_attribute("aria-label", re.compile("38 queries by 38 keys"))
    page.get_by_label("Hide weights").select_option("below 1 %")
    share = weights[weights < 0.01].sum() / weights.sum()
    expect(page.locator(".hides")).to_have_text(f"not drawn: {tenths(float(share))} % of the head’s weight")
    assert axe(page) == []
