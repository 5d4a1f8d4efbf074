"""The Learn pages as a whole: readable by everybody, one leads to the next, a teacher's view for a wall."""

from typing import Literal
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from attnviz.app.learn.contents import LESSONS
from attnviz.app.learn.english import OPENING
from tests.browser.explore import eventually
from tests.browser.server import Server
from tests.browser.visit import DESKTOP, PHONE, Faults, axe, visit, wait_idle

NAMES = [lesson.name for lesson in LESSONS]

CHOICES = {
    "weighted_average": {"scoring": "Cosine", "temperature": "0.1", "split": "Characters", "query": "3 dog"},
    "scale": {"d": "256", "seed": "3", "layer": "2"},
    "query_key_value": {"step": "5", "convention": "columns", "layer": "2", "head": "7", "query": "3 dog"},
    "many_heads": {"heads_of_384": "6", "layer": "2", "tokens_counted": "64"},
    "masks": {
        "mask": "window",
        "mask_size": "2",
        "mask_after": "1",
        "mask_shows": "change",
        "in_your_model": "true",
        "model": "translator",
        "own_kind": "Cross",
    },
    "positions": {"order": "5", "encoding": "ALiBi", "in_your_model": "true", "model": "translator"},
    "cross_attention": {"vectors": "3", "reads": "8 walk"},
    "block": {"stage_in_block": "5", "layer": "6"},
    "translate": {
        "english": "The goat did not enter the garden because it was too muddy.",
        "french": "12 il",
    },
    "cause": {"edit": "encoder 2-1 9 2>7"},
    "watch_it_learn": {"step": "100"},
    "long_distances": {"clauses": "2", "clauses_seed": "3"},
}

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")

# Everything that is written on the page, inside the widgets too, and what the fields hold.
_WRITTEN = """
() => {
    const found = [];
    const walk = (node) => {
        if (node.shadowRoot) walk(node.shadowRoot);
        if (node.matches?.("style, script, .copy-link")) return;
        if (node.matches?.("input")) found.push(node.value);
        if (node.nodeType === Node.TEXT_NODE && node.data.trim()) found.push(node.data.trim());
        node.childNodes.forEach(walk);
    };
    walk(document.querySelector('[data-testid="stMain"]'));
    return found;
}
"""

_SIDEWAYS = """
() => [document.documentElement, ...document.querySelectorAll('body, .stApp, [data-testid="stMain"]')]
    .filter((one) => one.scrollWidth > one.clientWidth + 1)
    .map((one) => `${one.tagName} ${one.scrollWidth} > ${one.clientWidth}`)
"""


@pytest.mark.parametrize("name", NAMES)
def test_everybody_can_read_a_lesson_and_its_copied_link_opens_the_same_view(
    page: Page, server: Server, browser: Browser, faults: Faults, name: str
) -> None:
    # One visit for all that can be seen on one page: a visit takes longer than to look.
    visit(page, f"{server.url}/{name}?teacher=true")
    assert_the_picture_alone_and_larger(page)
    page.get_by_text("Teacher's view").click()
    wait_idle(page)
    expect(page.get_by_text("What this picture does not show")).to_be_visible()
    assert_readable_everywhere(page)
    opening = page.evaluate(_WRITTEN)

    visit(page, f"{server.url}/{name}?{urlencode(CHOICES[name])}")
    expect(page.get_by_test_id("stAlert").filter(has_text="cannot be")).to_have_count(0)
    assert page.evaluate(_WRITTEN) != opening
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Copied ✓")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    other = browser.new_context(viewport=DESKTOP)
    faults.watch(other)
    visitor = other.new_page()
    visit(visitor, link)

    def check() -> None:  # exact numbers come a moment after the picture
        assert visitor.evaluate(_WRITTEN) == page.evaluate(_WRITTEN)

    eventually(check)
    other.close()


def assert_the_picture_alone_and_larger(page: Page) -> None:
    """What the teacher's view is."""
    expect(page.get_by_text("What this picture does not show")).to_be_hidden()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator(".st-key-for-the-projector")).to_be_visible()
    zoom = page.locator(".st-key-for-the-projector").evaluate("one => Number(getComputedStyle(one).zoom)")
    assert zoom > 1
    assert_readable(page)


def assert_readable_everywhere(page: Page) -> None:
    """In light and dark, wide and narrow; at the end the page is dark and wide."""
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        expect(page.locator(".stApp")).to_have_css("color-scheme", scheme)
        for size in (PHONE, DESKTOP):
            page.set_viewport_size(size)
            wait_idle(page)
            assert_readable(page)


def assert_readable(page: Page) -> None:
    """Axe finds nothing, and nothing stands over the edge."""
    assert axe(page) == []
    assert page.evaluate(_SIDEWAYS) == []


def test_the_pages_lead_through_all_ideas_and_the_sentence_goes_along(page: Page, server: Server) -> None:
    sentence = "Anna gave the ball to Ben, and he gave it back."
    visit(page, f"{server.url}/{NAMES[0]}")
    box = page.get_by_role("textbox", name="Sentence", exact=True)
    box.fill(sentence)
    box.press("Enter")
    wait_idle(page)
    for lesson in LESSONS[1:]:
        link = page.get_by_role("link", name="Next:")
        expect(link).to_contain_text(lesson.title)
        link.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_contain_text(lesson.question)
        wait_idle(page)
        assert page.url.split("?")[0].endswith(f"/{lesson.name}")
        if lesson.sentence.name != "probe":
            label = "Sentence" if lesson.sentence.name == "text" else "English sentence"
            box = page.get_by_role("textbox", name=label, exact=True)
            expect(box).to_have_value(sentence if lesson.sentence.name == "text" else OPENING)
    expect(page.get_by_role("link", name="Next:")).to_have_count(0)
    page.get_by_role("link", name="Explore:").press("Enter")
    wait_idle(page)
    expect(page.get_by_role("textbox", name="Sentence", exact=True)).to_have_value(OPENING)


def test_the_table_of_contents_leads_to_every_lesson(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/learn")
    assert_readable_everywhere(page)
    for number, lesson in enumerate(LESSONS, start=1):
        expect(page.get_by_role("link", name=f"{number} · {lesson.title}")).to_be_visible()
    page.get_by_role("link", name="5 · Masks").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("5 · Who may look at whom?")
    wait_idle(page)


def test_the_menu_leads_to_the_table_of_contents(page: Page, server: Server) -> None:
    visit(page, server.url)
    page.get_by_role("link", name="Learn").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Learn")
    wait_idle(page)


def test_the_address_keeps_the_choices_from_the_first_page_to_the_second(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/query_key_value?layer=6&head=3&query=3+dog")
    page.get_by_role("link", name="Explore:").press("Enter")
    expect(page.get_by_role("button", name="Copy link")).to_be_visible()
    wait_idle(page)
    assert {"layer=6", "head=3", "query=3+dog"} <= set(page.url.split("?")[1].split("&"))
    visit(page, page.url)
    expect(page.get_by_role("heading", name="Layer 6 · Head 3")).to_be_visible()
