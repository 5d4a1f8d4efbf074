"""What changes: the three pictures and their numbers, links, bad input, and nothing for axe to find."""

import re

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, Position, ViewportSize, expect

import attnviz
from attnviz.app.examples import OPENING
from attnviz.trace import Floats
from tests.browser.server import Server
from tests.browser.visit import DESKTOP, PHONE, axe, visit, wait_idle

LONGER = "The old dog did not cross the road as it was too tired."
IT, DOG = 9, 2
SIDES = ("first sentence", "second sentence", "second − first")


def weights(text: str) -> Floats:
    return attnviz.trace(text).stack("encoder")


def open_compare(page: Page, server: Server, query: str = "") -> None:
    visit(page, f"{server.url}/compare?{query}")


def pictures(page: Page) -> Locator:
    """The three matrices: first, second, difference."""
    return page.get_by_role("application")


def point(page: Page, picture: int, row: int, column: int, size: int, click: bool = False) -> None:
    """Point at a cell of a picture of `size` × `size` words."""
    cells = pictures(page).nth(picture)
    cells.scroll_into_view_if_needed()
    box = cells.bounding_box()
    assert box
    position: Position = {
        "x": (column + 0.5) * box["width"] / size,
        "y": (row + 0.5) * box["height"] / size,
    }
    if click:
        cells.click(position=position)
        wait_idle(page)
    else:
        cells.hover(position=position)


def test_all_three_pictures_tell_the_cell_pointed_at_and_heads_are_opened(page: Page, server: Server) -> None:
    open_compare(page, server)
    first, second = weights(OPENING.text), weights(OPENING.other)
    told = page.locator("p.words")
    for picture in range(3):
        point(page, picture, IT, DOG, size=15)
        one, other = (100 * float(each[3, 1, IT, DOG]) for each in (first, second))
        expect(told).to_have_text(
            f"it → dog {one:.1f} % in the first sentence, {other:.1f} % in the second sentence: "
            f"−{one - other:.1f} pp"
        )
    pictures(page).nth(1).focus()
    page.keyboard.press("ArrowRight")
    expect(told).to_contain_text(re.compile(r"^it → the .*%"))

    moved = np.abs(second - first).sum(axis=-1).mean(axis=-1) / 2
    heads = page.get_by_role("gridcell")
    expect(heads.nth(5 * 12 + 8)).to_have_accessible_name(f"Head 6-9: {100 * moved[5, 8]:.0f} %")
    heads.nth(5 * 12 + 8).click()
    wait_idle(page)
    expect(page.get_by_role("spinbutton", name="Layer")).to_have_value("6")
    row = (second - first)[5, 8, IT]
    expect(page.get_by_text("Of 72 heads, 6-9 changes second most")).to_contain_text(
        re.compile(f"it gives .* {round(100 * abs(row.min()))} percentage points? less")
    )
    point(page, 2, 11, DOG, size=15, click=True)
    expect(page).to_have_url(re.compile("query=12\\+too"))
    page.mouse.move(0, 0)
    expect(told).to_contain_text(re.compile("^too → dog "))  # what was clicked is kept
    with page.expect_download() as download:
        page.get_by_role("button", name="SVG", exact=True).click()
    assert download.value.suggested_filename == "attnviz-minilm-two-sentences.svg"
    saved = download.value.path().read_text()
    assert saved.count('<g shape-rendering="crispEdges">') == 3
    for written in (OPENING.text, OPENING.other, *(f"Head 6-9, {side}" for side in SIDES)):
        assert f">{written}</text>" in saved or f"“{written}”" in saved
    order = np.argsort(-moved.ravel(), kind="stable")
    third = f"{order[2] // 12 + 1}-{order[2] % 12 + 1} · {100 * moved.ravel()[order[2]]:.0f} %"
    page.get_by_role("radio", name=third).click()
    wait_idle(page)
    expect(page.get_by_text(f"Of 72 heads, {third.split(maxsplit=1)[0]} changes third most")).to_be_visible()


def test_a_link_brings_gaps_and_two_models(page: Page, server: Server) -> None:
    open_compare(page, server, f"text={OPENING.text}&other={LONGER}&layer=2&head=3&query=10+it")
    old = float(weights(LONGER)[1, 2, IT + 1, 2])
    point(page, 0, IT + 1, 2, size=16)
    told = page.locator("p.words")
    expect(told).to_have_text(
        f"it → + old no such word in the first sentence, {100 * old:.1f} % in the second sentence: "
        "cannot be compared"
    )
    page.get_by_text("Two models", exact=True).click()
    wait_idle(page)
    expect(page.get_by_text("The second model: This model has never seen")).to_have_count(0)
    expect(page.get_by_text("Second model: translator")).to_be_visible()
    expect(page.get_by_role("spinbutton", name="Layer", exact=True)).to_have_value("2")
    point(page, 1, IT, DOG, size=15)
    english = float(weights(OPENING.text)[1, 2, IT, DOG])
    expect(told).to_contain_text(f"it → dog {100 * english:.1f} % in the first model")
    second = page.get_by_role("spinbutton", name="Its head", exact=True)
    second.fill("1")
    second.press("Enter")
    wait_idle(page)
    expect(page).to_have_url(re.compile("alike=false"))
    expect(page.get_by_text(re.compile(r"translator, \d-1$"))).to_be_visible()


def test_what_cannot_be_compared_keeps_what_was_typed(page: Page, server: Server) -> None:
    open_compare(page, server)
    box = page.get_by_role("textbox", name="Second sentence")
    page.get_by_role("radio", name="bank", exact=True).click()
    wait_idle(page)
    page.go_back()
    expect(box).to_have_value(OPENING.other)
    wait_idle(page)
    for typed, told in {
        "<script>alert(1)</script> **x** [a](b)": "no word in common",
        "🦄": "no word in common",
        "so " * 3334: "The second sentence: This text has",
        OPENING.text: "Nothing changes: the two are the same.",
        "": "Type a second sentence",
    }.items():
        box.fill(typed)
        box.press("Enter")
        expect(page.get_by_test_id("stAlert").filter(has_text=told)).to_be_visible()
        wait_idle(page)
        expect(box).to_have_value(typed)
        expect(page.get_by_role("textbox", name="First sentence")).to_have_value(OPENING.text)
    page.get_by_role("radio", name="bank", exact=True).click()
    wait_idle(page)
    expect(page.get_by_text("Of 72 heads, 4-2 changes")).to_be_visible()


def flip_in_place(page: Page) -> None:
    """Where there is room for one picture, each stands where the others do, and a finger is told to tap."""
    page.evaluate(
        "matches => { const all = matchMedia;"
        " window.matchMedia = (query) => (query === '(hover: none)' ? { matches } : all(query)); }",
        True,
    )
    expect(page.get_by_text(f"Head 4-2, {SIDES[2]}")).to_be_visible()
    places = []
    for side in SIDES[:2]:
        page.get_by_role("button", name=side).click()
        expect(page.get_by_text(f"Head 4-2, {side}")).to_be_visible()
        expect(pictures(page)).to_have_count(1)
        places.append(pictures(page).bounding_box())
    assert places[0] == places[1]
    expect(page.locator("p.words")).to_contain_text(re.compile("^Tap a cell"))


@pytest.mark.parametrize(
    ("viewport", "colour_scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desktop", "phone"]
)
def test_everybody_can_use_it(page: Page, server: Server, viewport: ViewportSize, colour_scheme: str) -> None:
    open_compare(page, server, f"text={OPENING.text}&other={LONGER}")
    if viewport == PHONE:
        flip_in_place(page)
    else:
        expect(pictures(page)).to_have_count(3)
        expect(page.get_by_role("button", name="Difference")).to_have_count(0)
    assert axe(page) == [], colour_scheme
    page.get_by_text("How words are aligned").click()
    page.get_by_text("Two models", exact=True).click()
    wait_idle(page)
    expect(page.get_by_role("grid")).to_have_count(2)
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
