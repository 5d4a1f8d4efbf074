"""The report in a browser: a file without a network, every number the trace's, for mouse, keys and paper."""

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from attnviz.analysis.display_tokens import DisplayTokens, shown_weights
from attnviz.analysis.picture import sequential
from attnviz.export.report.page import InitialView, report
from attnviz.trace import Kind, Trace
from tests.browser.visit import DESKTOP, LETTERS, PHONE, Faults, axe, fits, letters
from tests.export.report.held import weights_in
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


def expected(trace: Trace, kind: Kind, hide: bool) -> tuple[Any, Any]:
    """The weights as they are shown, and where a query may look."""
    block = trace.of_kind(kind)[0]
    texts = {"encoder": (TEXT, TEXT), "decoder": (TARGET, TARGET), "cross": (TARGET, TEXT)}[kind]
    shown = [
        DisplayTokens(tokens, text, hide_special=hide)
        for tokens, text in zip((block.query_tokens, block.key_tokens), texts, strict=True)
    ]
    return shown_weights(trace.stack(kind), *shown), block.mask[np.ix_(*(side.visible for side in shown))]


def numbers(page: Page) -> list[list[str]]:
    """What the table of all numbers says."""
    page.locator("summary", has_text="All numbers").click()
    rows = page.locator("details table tbody tr")
    rows.first.wait_for()
    return [row.locator("td").all_text_contents() for row in rows.all()]


def head_title(page: Page) -> Locator:
    return page.locator("section.one h2")


@pytest.mark.parametrize(("kind", "hide"), [("encoder", True), ("decoder", False), ("cross", True)])
def test_every_number_is_the_trace_s(open_file: Open, kind: Kind, hide: bool) -> None:
    trace = translator()
    page = open_file(report(trace), f"#kind={kind}&layer=2&head=3&view=matrix&hide={int(hide)}")
    weights, allowed = expected(trace, kind, hide)
    assert numbers(page) == [
        [tenths(share) if seen else "–masked" for share, seen in zip(*row, strict=True)]
        for row in zip(weights[1, 2], allowed, strict=True)
    ]
    way = "hidden" if hide else "plain"
    values = page.evaluate(f"[...window.attnviz.get('1 {kind} {way} layer 2').arrays.values.values]")
    held = weights_in(report(trace), kind, way)[1]
    np.testing.assert_array_equal(np.array(values, float).reshape(held.shape), held)
    found = page.evaluate(f"[...window.attnviz.get('1 {kind} {way} pixels').arrays.pixels.values]")
    drawn = sequential(weights, mask=allowed).levels
    # The browser rounds in double precision.
    assert np.abs(np.array(found).reshape(drawn.shape) - drawn.astype(int)).max() <= 1
    assert (np.array(found).reshape(drawn.shape) == 255).sum() == (drawn == 255).sum()


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
def test_on_paper_stand_the_open_head_its_numbers_and_the_caption(open_file: Open) -> None:
    trace = encoder()
    page = open_file(report(trace, FIRST))
    assert page.pdf().startswith(b"%PDF")
    page.emulate_media(media="print")
    expect(page.locator(".parts")).to_be_hidden()
    paper = page.locator(".paper")
    expect(paper.locator(".open svg")).to_be_visible()
    expect(paper.locator("svg text").first).to_have_text("Layer 2 · Head 3")
    expect(paper.locator(".open svg")).to_contain_text(f"“{TEXT}” · made · head 2-3 · weights")
    rows = [row.locator("td").all_text_contents() for row in paper.locator("tbody tr").all()]
    assert rows == [[tenths(share) for share in row] for row in trace.stack("encoder")[1, 2]]
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"

    page = open_file(report(translator(), InitialView(kind="cross")))
    page.emulate_media(media="print")  # without an event before printing
    paper = page.locator(".paper")
    expect(paper.locator("svg text").first).to_have_text("Cross-attention · Layer 1 · Head 1")
    expect(paper.locator("caption")).to_contain_text("Cross-attention · Layer 1 · Head 1, in percent")
    expect(paper.locator(".overview image")).to_have_count(6)
    paper.evaluate("paper => paper.replaceChildren()")
    expect(page.locator(".parts")).to_be_visible()
