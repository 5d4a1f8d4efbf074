"""The teacher's view on a projector: large type, nothing below the screen, and the keys of a clicker."""

from collections.abc import Sequence
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from attnviz.app.lessons.contents import LESSONS, Lesson
from tests.browser.server import Server
from tests.browser.visit import (
    PROJECTOR,
    axe,
    leading,
    menu,
    press,
    visit,
    wait_idle,
)

LEAST = 24  # pixels of type that is read from afar
SIZE = "one => parseFloat(getComputedStyle(one).fontSize) * one.currentCSSZoom"

# On the screen: type that is too small, what lies below it, and what is cut. A window of rows shows some; an
# index or exponent is part of what it stands at.
_SEEN = """
least => {
    const part = document.querySelector("[data-shown]");
    const name = part.className.match(/st-key-slide-(\\S+)/)[1];
    const end = part.getBoundingClientRect().bottom; // of the screen, or where a room's bar begins
    const found = { part: name, small: [], below: [], cut: [], texts: 0 };
    const look = (root) => root.querySelectorAll("*").forEach((one) => {
        if (one.shadowRoot) look(one.shadowRoot);
        if (one.matches("input") && one.scrollWidth > one.clientWidth + 1) found.cut.push(one.value);
        const { width, height, bottom, right } = one.getBoundingClientRect();
        if (one.matches(".stVegaLiteChart > svg") && right > innerWidth + 1) found.cut.push("chart");
        const written = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
        if (!written && !one.matches("canvas, svg, [data-rows]")) return;
        if (width < 2 || height < 2 || one.closest(".hidden, style, .katex, sub, sup")) return;
        if (!one.checkVisibility({ visibilityProperty: true })) return;
        const name = `${one.tagName} ${one.textContent.slice(0, 30)}`;
        if (!one.parentElement?.closest("[data-rows]") && bottom > end + 1) found.below.push(name);
        if (!written) return;
        found.texts += 1;
        const size = parseFloat(getComputedStyle(one).fontSize) * one.currentCSSZoom;
        if (size < least - 0.1) found.small.push(`${size} ${name}`);
    });
    const beside = ".st-key-asking, .st-key-teacher, .st-key-link, .teachers-moves";
    document.querySelectorAll(`[data-shown], ${beside}`).forEach(look);
    return found;
}
"""


def seen(page: Page) -> str:
    """Which part of the page is on show, once it is large enough, and all of it on the screen."""
    found = page.evaluate(_SEEN, LEAST)
    assert (found["small"], found["below"], found["cut"]) == ([], [], []), page.url
    assert found["texts"] > 2
    return str(found["part"])


def address(page: Page) -> str:
    return urlsplit(page.url).path.strip("/")


@pytest.mark.parametrize("lessons", [LESSONS[:3], pytest.param(LESSONS, marks=pytest.mark.everything)])
def test_a_clicker_leads_through_lessons_in_large_type(
    page: Page, server: Server, lessons: Sequence[Lesson]
) -> None:
    """In a room, whose bar takes some of the screen."""
    page.set_viewport_size(PROJECTOR)
    with leading(page, server.url):
        visit(page, f"{server.url}/{LESSONS[0].name}?teacher=true")
        for number, lesson in enumerate(lessons):
            assert address(page) == lesson.name
            assert seen(page) == "question"
            expect(page.locator(".st-key-slide-picture")).to_be_hidden()
            press(page, "PageDown")  # the answer
            expect(page.get_by_role("button", name="Cover the answer")).to_be_visible()
            wait_idle(page)
            assert seen(page) == "question"
            press(page, "ArrowRight")
            expect(page.locator(".st-key-slide-picture[data-shown]")).to_be_visible()
            for _ in range(30):  # its own steps, and its screens
                wait_idle(page)
                assert seen(page) == "picture"
                pictures = page.locator("[data-shown] :is(.stBidiComponent, .stVegaLiteChart):visible")
                expect(pictures, f"{page.url} has a screen of words alone").not_to_have_count(0)
                if number + 1 == len(lessons):
                    return
                press(page, "PageDown")
                wait_idle(page)
                if address(page) != lesson.name:
                    break


def test_a_clicker_steps_back_blanks_the_screen_and_leaves_alone_who_types(
    page: Page, server: Server
) -> None:
    page.set_viewport_size(PROJECTOR)
    visit(page, f"{server.url}/scale?teacher=true")
    html = page.locator("html")
    press(page, ".")
    assert html.get_attribute("data-black") is not None
    press(page, "PageDown")  # any key brings it back, and does no more
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
    before = LESSONS[[lesson.name for lesson in LESSONS].index("scale") - 1]
    expect(page.get_by_role("heading", level=1)).to_contain_text(before.title)
    wait_idle(page)
    box = page.get_by_role("textbox", name="Sentence")
    box.focus()
    press(page, "End", ".", "ArrowLeft", "PageDown")
    expect(box).to_have_value("The dog did not cross the road as it was too tired..")
    assert html.get_attribute("data-black") is None
    assert address(page) == before.name
    page.get_by_text("Teacher's view").click()
    wait_idle(page)
    assert html.get_attribute("data-teacher") is None
    expect(page.get_by_role("navigation", name="App pages")).to_be_visible()


def test_all_of_explore_stands_on_screens_in_large_type(page: Page, server: Server) -> None:
    """In a room: the sentence, all heads, the tokens, one head's lines, and the arithmetic on two screens."""
    page.set_viewport_size(PROJECTOR)
    with leading(page, server.url):
        visit(page, f"{server.url}/?teacher=true")
        for part in ("sentences", "heads", "tokens", "head", "arithmetic", "arithmetic"):
            expect(page.locator(f".st-key-slide-{part}[data-shown]")).to_be_visible()
            wait_idle(page)
            assert seen(page) == part
            if part == "head":
                for token in page.get_by_role("group", name="from (query)").get_by_role("button").all():
                    expect(token).to_be_in_viewport(ratio=0.95)
            press(page, "PageDown")
        expect(page.locator("[data-shown] table:visible")).to_have_count(1)
        expect(page.locator("[data-shown] .katex:visible").last).to_be_in_viewport()  # the quotient
        expect(page.get_by_role("status").filter(has_text="5 of 5 (2/2)")).to_be_visible()
        menu_button = page.get_by_role("button", name="Menu", exact=True)
        menu_button.click()
        menu(page).filter(has_text="Learn").click()  # the view stays
        expect(page.get_by_role("status").filter(has_text="1 of")).to_be_visible()
        page.go_back()
        expect(page.get_by_role("status").filter(has_text="1 of 5")).to_be_visible()
        wait_idle(page)
        menu_button.click()
        for entry in menu(page).all():
            assert entry.evaluate(SIZE) >= LEAST - 0.1
        for move in ("Back", "Next"):
            page.get_by_role("button", name=move, exact=True).click(trial=True)  # nothing lies over it
        menu(page).filter(has_text="Heads").click()
        expect(page.locator(".st-key-slide-tools[data-shown]")).to_be_visible()
