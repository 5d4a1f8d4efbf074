"""A larger text size in the browser, phones, and forced colours."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import chromium
from tests.browser.server import Server
from tests.browser.visit import COMPUTED_MS, DESKTOP, PHONE, fits, menu, reveal, visit, wait_idle

LARGE = 32  # pixels: twice the default
_FONT_SIZE = "one => parseFloat(getComputedStyle(one).fontSize)"
_ZOOM = "one => one.currentCSSZoom"
_TRUNCATED = """
all => all.filter((one) => [one, ...one.querySelectorAll("div, p")].some((part) =>
    getComputedStyle(part).textOverflow === "ellipsis" && part.scrollWidth > part.clientWidth + 1)).length
"""
_BACKGROUND = "one => getComputedStyle(one).backgroundColor"
_SMALL_BOXES = """
() => {
    const all = (root) =>
        [...root.querySelectorAll("*")].flatMap(one => one.shadowRoot ? [one, ...all(one.shadowRoot)] : one);
    return all(document)
        .filter((one) => one.matches("textarea, input") && !/checkbox|radio|range|file/.test(one.type))
        .map((one) => parseFloat(getComputedStyle(one).fontSize))
        .filter((size) => size < 16);
}
"""


@pytest.fixture(scope="module")
def large_text_browser(browser: Browser) -> Iterator[Browser]:
    """Chromium with twice the default text size."""
    arguments = [*chromium.QUIET, f"--blink-settings=defaultFontSize={LARGE}"]
    other = browser.browser_type.launch(executable_path=chromium.find(), args=arguments)
    yield other
    other.close()


@pytest.mark.parametrize("name", ["explore", "weighted_average"])
def test_page_uses_the_browser_text_size(large_text_browser: Browser, server: Server, name: str) -> None:
    page = large_text_browser.new_page(viewport=DESKTOP, reduced_motion="reduce")
    page.add_init_script("window.lastInput = 0")
    page.goto(f"{server.url}/{name}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    wait_idle(page)
    assert page.locator("body").evaluate(_FONT_SIZE) == LARGE
    if page.get_by_role("button", name="Reveal", exact=True).count():
        reveal(page)
    assert fits(page)
    for picture in page.locator(".root").filter(visible=True).all():
        assert picture.evaluate(_ZOOM) == LARGE / 16
    assert (
        page.locator(".stMain .stButtonGroup button, .stMain .stButton button").evaluate_all(_TRUNCATED) == 0
    )
    page.close()


@pytest.mark.parametrize("viewport", [PHONE])
@pytest.mark.parametrize("name", ["explore", "models"])
def test_no_text_box_makes_a_phone_zoom(page: Page, server: Server, name: str) -> None:
    visit(page, f"{server.url}/{name}")
    assert page.evaluate(_SMALL_BOXES) == []


def test_focus_is_visible_in_the_menu(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/about")
    for _ in range(3):
        page.keyboard.press("Tab")
    link = menu(page).nth(1)
    expect(link).to_be_focused()
    expect(link).to_have_css("outline-style", "solid")
    expect(link).to_have_css("outline-width", "2px")


def test_forced_colours_keep_the_colours_of_numbers(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/score_heads?test=previous+token")
    page.emulate_media(forced_colors="active")
    assert page.evaluate("matchMedia('(forced-colors: active)').matches")
    cells = page.get_by_role("gridcell", name=re.compile("%"))
    expect(cells).not_to_have_count(0, timeout=COMPUTED_MS)
    wait_idle(page)
    assert len({cell.evaluate(_BACKGROUND) for cell in cells.all()[:12]}) > 2
    pressed, other = page.locator(".stButtonGroup").first.get_by_role("radio").all()[:2]
    assert pressed.evaluate(_BACKGROUND) != other.evaluate(_BACKGROUND)
