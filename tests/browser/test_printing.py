"""Pages print completely, in one column, and in light colours even from the dark theme."""

import re
from urllib.parse import urlencode

from playwright.sync_api import Page, expect

from tests.browser.server import Server
from tests.browser.visit import reveal, visit

MILLIMETRE = 96 / 25.4  # in CSS pixels
WIDE, TALL = 180 * MILLIMETRE, (297 - 2 * 14) * MILLIMETRE  # A4 without its margins
LONG = "The judge asked the young lawyer whether the witness that she had called would come. " * 2

# Elements that are too wide, clipped elements, buttons, and the widgets' themes.
_ON_PAPER = """
() => {
    const main = document.querySelector(".stMainBlockContainer");
    const { right, width, height } = main.getBoundingClientRect();
    const found = { width, height, wide: [], cut: [], buttons: [], themes: [] };
    const look = (root) => root.querySelectorAll("*").forEach((one) => {
        if (one.shadowRoot) look(one.shadowRoot);
        const box = one.getBoundingClientRect();
        if (box.width < 2 || box.height < 2 || one.closest("svg, .katex")) return;
        const { overflowX, overflowY } = getComputedStyle(one);
        const name = `${one.tagName} ${one.className} ${one.textContent.slice(0, 40)}`;
        if (box.right > right + 5) found.wide.push(name); // scrollable boxes have focus rings at their edges
        const hides = one.matches(":has(> [data-typed])") ? /hidden|auto|scroll/ : /auto|scroll/;
        if (hides.test(overflowX) && one.scrollWidth > one.clientWidth + 1) found.cut.push(name);
        if (hides.test(overflowY) && one.scrollHeight > one.clientHeight + 1) found.cut.push(name);
        if (!root.host && one.matches("button:not([role='radio'])")) found.buttons.push(name);
        if (one.dataset.theme) found.themes.push(one.dataset.theme);
    });
    look(main);
    return found;
}
"""


def printed_sheets(page: Page) -> float:
    """Return the printed height in sheets; check that no element is clipped, dark or a button."""
    sheets = len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))
    page.emulate_media(media="print")
    expect(page.locator(".stApp")).to_have_css("color", "rgb(28, 28, 40)")
    expect(page.locator(".stApp")).to_have_css("background-color", "rgb(255, 255, 255)")
    expect(page.get_by_role("heading").first).to_have_css("color", "rgb(28, 28, 40)")
    found = page.evaluate(_ON_PAPER)
    page.emulate_media(media="null")
    assert abs(found["width"] - WIDE) < 1
    assert (found["wide"], found["cut"], found["buttons"], set(found["themes"]) - {"light"}) == (
        [],
        [],
        [],
        set(),
    )
    height: float = found["height"] / TALL
    assert sheets >= height
    return height


def test_pages_print_completely_and_in_light_colours(page: Page, server: Server) -> None:
    page.emulate_media(color_scheme="dark")
    for view in (
        "beyond_weights?open=Everything",
        "models",
        f"?{urlencode({'view': 'Matrix', 'text': LONG})}",
        "?view=Heatmap",
    ):
        visit(page, f"{server.url}/{view}")
        assert printed_sheets(page) > 1
        expect(page.locator(".stApp")).to_have_css("color-scheme", "dark")
    for lesson in ("weighted_average", "query_key_value", "translate"):
        visit(page, f"{server.url}/{lesson}?open=Everything&predict=1")
        assert printed_sheets(page) < 1, "the answer is visible"
        reveal(page)
        page.emulate_media(media="print")
        # Without this style, a picture that does not fit on the sheet leaves an empty frame.
        expect(page.locator(".st-key-slide-picture")).to_have_css("break-inside", "avoid")
        page.emulate_media(media="null")
        assert printed_sheets(page) > 2
