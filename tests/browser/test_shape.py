"""How long a page is, and how many words stand beside its picture."""

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from attnviz.app.heads.contents import TOOLS
from attnviz.app.lessons.contents import LESSONS
from tests.browser.server import Server
from tests.browser.visit import (
    COMPUTED_MS,
    DESKTOP,
    LETTERS,
    PHONE,
    box_of,
    fits,
    letters,
    visit,
    wait_idle,
)

LEARN, HEADS = [each.name for each in LESSONS], [each.name for each in TOOLS]
MAX_WORDS = 120
FIGURE_BEGINS = 240  # pixels from the top
SCREENS = {"wide": 2, "phone": 5}
AT_200_PERCENT: ViewportSize = {"width": DESKTOP["width"] // 2, "height": DESKTOP["height"] // 2}
NARROWEST = 24  # pixels that a number of two digits needs
TARGET = 24  # pixels that a finger needs

_WIDTHS = "all => all.filter(each => each.checkVisibility()).map(each => each.clientWidth)"
_HEIGHTS = "all => all.filter(each => each.checkVisibility()).map(each => each.offsetHeight)"
_GROUND = "one => getComputedStyle(one).backgroundColor"
_HEIGHT = "one => one.scrollHeight"
# A formula is no word; what is chosen beside the picture is none either.
_WORDS = """
one => {
    const text = one.cloneNode(true);
    for (const other of text.querySelectorAll(".katex, input, button")) other.remove();
    return [...text.querySelectorAll("p, li, h2, h3")].map(({ textContent }) => textContent).join(" ");
}
"""


def height(page: Page) -> int:
    return int(page.get_by_test_id("stMain").evaluate(_HEIGHT))


@pytest.mark.parametrize("name", ["query_key_value", "block", "cause", "write", "intervene"])
def test_the_main_part_is_short(page: Page, server: Server, name: str) -> None:
    visit(page, f"{server.url}/{name}")
    if name in LEARN:
        beside = str(page.locator(".st-key-answer-text").evaluate(_WORDS))
        assert len(beside.split()) <= MAX_WORDS, beside
        assert box_of(page.locator(".st-key-slide-picture"))["y"] <= FIGURE_BEGINS
    else:
        expect(page.locator(".st-key-slide-tool")).to_have_count(1)  # what the teacher's view shows
    assert height(page) <= SCREENS["wide"] * DESKTOP["height"]
    expect(page.get_by_test_id("stProgress")).to_have_count(0, timeout=COMPUTED_MS)
    wait_idle(page)
    assert letters(page) <= LETTERS
    page.set_viewport_size(PHONE)
    wait_idle(page)
    assert height(page) <= SCREENS["phone"] * PHONE["height"]
    assert min(page.locator(".stTooltipIcon button").evaluate_all(_HEIGHTS), default=TARGET) >= TARGET
    page.set_viewport_size(AT_200_PERCENT)
    wait_idle(page)
    assert fits(page)
    widths = page.locator(".st-key-bar :is(.stTextInput, .stSelectbox, .stNumberInput) input").evaluate_all(
        _WIDTHS
    )
    assert all(width >= NARROWEST for width in widths), widths


def test_explore_is_short(page: Page, server: Server) -> None:
    visit(page, server.url)
    for viewport, screens in ((DESKTOP, SCREENS["wide"]), (PHONE, SCREENS["phone"])):
        page.set_viewport_size(viewport)
        wait_idle(page)
        assert height(page) <= screens * viewport["height"]


def test_where_the_system_chooses_all_colours_numbers_keep_theirs(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/score_heads")
    page.emulate_media(forced_colors="active")
    assert page.evaluate("matchMedia('(forced-colors: active)').matches")
    cells = page.get_by_role("gridcell")
    expect(cells).not_to_have_count(0, timeout=COMPUTED_MS)
    assert len({cell.evaluate(_GROUND) for cell in cells.all()[:12]}) > 2
    pressed, other = page.locator(".stButtonGroup").first.get_by_role("radio").all()[:2]
    assert pressed.evaluate(_GROUND) != other.evaluate(_GROUND)
