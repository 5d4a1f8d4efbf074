"""The teacher's view on a projector: large type, no overflow, and the keys of a presentation remote."""

from collections.abc import Sequence
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from attnviz.app.lessons.contents import LESSONS, Lesson
from tests.browser.server import Server
from tests.browser.visit import PROJECTOR, axe, leading, menu, press, visit, wait_idle

MIN_FONT_SIZE = 24  # in pixels, readable from a distance
SIZE = "one => parseFloat(getComputedStyle(one).fontSize) * one.currentCSSZoom"

# Find small type, content below the screen, and clipped content. Rows of a scrolling list may be below the
# screen; subscripts and superscripts may be small.
_LAYOUT = """
minSize => {
    const part = document.querySelector("[data-shown]");
    const name = part.className.match(/st-key-slide-(\\S+)/)[1];
    const end = part.getBoundingClientRect().bottom; // the bottom of the screen, or the top of the room bar
    const found = { part: name, small: [], below: [], cut: [], texts: 0 };
    const look = (root) => root.querySelectorAll("*").forEach((one) => {
        if (one.shadowRoot) look(one.shadowRoot);
        if (one.matches("input") && one.scrollWidth > one.clientWidth + 1) found.cut.push(one.value);
        const { width, height, bottom, right } = one.getBoundingClientRect();
        if (one.matches(".stVegaLiteChart > svg") && right > innerWidth + 1) found.cut.push("chart");
        const hasText = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
        if (!hasText && !one.matches("canvas, svg, [data-rows]")) return;
        if (width < 2 || height < 2 || one.closest(".hidden, style, .katex, sub, sup")) return;
        if (!one.checkVisibility({ visibilityProperty: true })) return;
        const name = `${one.tagName} ${one.textContent.slice(0, 30)}`;
        if (!one.parentElement?.closest("[data-rows]") && bottom > end + 1) found.below.push(name);
        if (!hasText) return;
        found.texts += 1;
        const size = parseFloat(getComputedStyle(one).fontSize) * one.currentCSSZoom;
        if (size < minSize - 0.1) found.small.push(`${size} ${name}`);
    });
    const controls = ".st-key-asking, .st-key-teacher, .st-key-link, .teachers-moves";
    document.querySelectorAll(`[data-shown], ${controls}`).forEach(look);
    return found;
}
"""


def visible_part(page: Page) -> str:
    """Return the name of the visible part; check its font sizes, and that all of it is on the screen."""
    found = page.evaluate(_LAYOUT, MIN_FONT_SIZE)
    assert (found["small"], found["below"], found["cut"]) == ([], [], []), page.url
    assert found["texts"] > 2
    return str(found["part"])


def page_name(page: Page) -> str:
    return urlsplit(page.url).path.strip("/")


@pytest.mark.parametrize("lessons", [LESSONS[:3], pytest.param(LESSONS, marks=pytest.mark.everything)])
def test_remote_steps_through_large_lessons(page: Page, server: Server, lessons: Sequence[Lesson]) -> None:
    """The teacher is in a room, because the room bar reduces the space."""
    page.set_viewport_size(PROJECTOR)
    with leading(page, server.url):
        visit(page, f"{server.url}/{LESSONS[0].name}?teacher=true")
        for number, lesson in enumerate(lessons):
            assert page_name(page) == lesson.name
            assert visible_part(page) == "question"
            expect(page.locator(".st-key-slide-picture")).to_be_hidden()
            press(page, "PageDown")  # reveal the answer
            expect(page.get_by_role("button", name="Cover the answer")).to_be_visible()
            wait_idle(page)
            assert visible_part(page) == "question"
            press(page, "ArrowRight")
            expect(page.locator(".st-key-slide-picture[data-shown]")).to_be_visible()
            for _ in range(30):  # the lesson's steps and screens
                wait_idle(page)
                assert visible_part(page) == "picture"
                pictures = page.locator("[data-shown] :is(.stBidiComponent, .stVegaLiteChart):visible")
                expect(pictures, f"{page.url} has a screen without a picture").not_to_have_count(0)
                if number + 1 == len(lessons):
                    return
                press(page, "PageDown")
                wait_idle(page)
                if page_name(page) != lesson.name:
                    break


def test_remote_steps_back_and_blanks_the_screen_except_in_text_boxes(page: Page, server: Server) -> None:
    page.set_viewport_size(PROJECTOR)
    visit(page, f"{server.url}/scale?teacher=true")
    html = page.locator("html")
    press(page, ".")
    assert html.get_attribute("data-black") is not None
    press(page, "PageDown")  # this key only turns the screen on again
    assert html.get_attribute("data-black") is None
    expect(page.get_by_role("button", name="Reveal", exact=True)).to_be_visible()
    assert axe(page) == []
    press(page, "PageDown")
    wait_idle(page)
    page.get_by_role("button", name="Next", exact=True).click()
    expect(page.locator(".st-key-slide-picture[data-shown]")).to_be_visible()
    assert axe(page) == []
    press(page, "PageUp")
    expect(page.locator(".st-key-slide-question[data-shown]")).to_be_visible()
    press(page, "PageUp")
    previous = LESSONS[[lesson.name for lesson in LESSONS].index("scale") - 1]
    expect(page.get_by_role("heading", level=1)).to_contain_text(previous.title)
    wait_idle(page)
    box = page.get_by_role("textbox", name="Sentence")
    box.focus()
    press(page, "End", ".", "ArrowLeft", "PageDown")
    expect(box).to_have_value("The dog did not cross the road as it was too tired..")
    assert html.get_attribute("data-black") is None
    assert page_name(page) == previous.name
    page.get_by_text("Teacher's view").click()
    wait_idle(page)
    assert html.get_attribute("data-teacher") is None
    expect(page.get_by_role("navigation", name="App pages")).to_be_visible()


def test_explore_is_split_into_screens_in_large_type(page: Page, server: Server) -> None:
    """Screens in a room: sentence, all heads, tokens, one head's lines, and two with the arithmetic."""
    page.set_viewport_size(PROJECTOR)
    with leading(page, server.url):
        visit(page, f"{server.url}/?teacher=true")
        for part in ("sentences", "heads", "tokens", "head", "arithmetic", "arithmetic"):
            expect(page.locator(f".st-key-slide-{part}[data-shown]")).to_be_visible()
            wait_idle(page)
            assert visible_part(page) == part
            if part == "head":
                for token in page.get_by_role("group", name="from (query)").get_by_role("button").all():
                    expect(token).to_be_in_viewport(ratio=0.95)
            press(page, "PageDown")
        expect(page.locator("[data-shown] table:visible")).to_have_count(1)
        expect(page.locator("[data-shown] .katex:visible").last).to_be_in_viewport()  # the quotient
        expect(page.get_by_role("status").filter(has_text="5 of 5 (2/2)")).to_be_visible()
        menu_button = page.get_by_role("button", name="Menu", exact=True)
        menu_button.click()
        menu(page).filter(has_text="Learn").click()  # the teacher's view stays on
        expect(page.get_by_role("status").filter(has_text="1 of")).to_be_visible()
        page.go_back()
        expect(page.get_by_role("status").filter(has_text="1 of 5")).to_be_visible()
        wait_idle(page)
        menu_button.click()
        for entry in menu(page).all():
            assert entry.evaluate(SIZE) >= MIN_FONT_SIZE - 0.1
        for move in ("Back", "Next"):
            page.get_by_role("button", name=move, exact=True).click(trial=True)  # nothing covers the button
        menu(page).filter(has_text="Heads").click()
        expect(page.locator(".st-key-slide-tools[data-shown]")).to_be_visible()
