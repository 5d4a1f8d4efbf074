"""The page on causes in a browser: *il* becomes *elle*, and the numbers are those of a network in numpy."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.server import Server
from tests.browser.visit import visit, wait_idle
from tests.translator_reference import Change, move, nothing, reference, silence

ENGLISH = ["the", "dog", "did", "not", "cross", "the", "road", "as", "it", "was", "too", "tired"]
DOG, ROAD, IT = 1, 6, 8
TAUGHT = "encoder.layers.1.attention"
BY_HAND = move(TAUGHT, 0, IT, DOG, ROAD)


def picture(page: Page) -> Locator:
    """The first of the page's three pictures with arrows."""
    return page.locator(".root.arrow").first


def check(page: Page, change: Change) -> None:
    """The translation and both probabilities are those of the network in numpy."""
    expect(page.locator("[data-pending]")).to_have_count(0)
    wait_idle(page)
    by_hand = reference()
    before, now = by_hand.translate(ENGLISH), by_hand.translate(ENGLISH, change)
    written = page.locator(".writes.now p").first
    words = (written.text_content() or "").lower().rstrip(".").replace("'", "' ").split()
    assert words == list(now)
    marked = [mark.text_content() for mark in written.locator("mark").all()]
    assert marked == [word for word, was in zip(now, before, strict=True) if word != was]
    for word, exact in zip(("il", "elle"), by_hand.choice(ENGLISH, before, change), strict=True):
        shown = picture(page).locator(f'[data-word="{word}"] .is[data-value]').get_attribute("data-value")
        assert float(shown or "nan") == pytest.approx(exact, abs=1e-5)


def test_by_keyboard_he_becomes_she_and_the_link_keeps_it(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/cause")
    check(page, nothing)
    pin = picture(page).get_by_role("slider")
    expect(pin).to_have_attribute("aria-valuetext", re.compile("^dog, "))
    for _ in range(ROAD - DOG):
        pin.press("ArrowRight")
    pin.press("Enter")
    check(page, BY_HAND)
    expect(picture(page).locator(".now mark").first).to_have_text("elle")
    expect(page.get_by_text("il became elle")).to_be_visible()
    other = page.context.new_page()
    visit(other, page.url)
    check(other, BY_HAND)


def test_by_mouse_silenced_and_let_go(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/cause?edit=dog+to+road")
    expect(page.get_by_text("“dog to road” is no edit")).to_be_visible()
    check(page, nothing)
    pin, road = picture(page).get_by_role("slider"), picture(page).locator(".word").nth(ROAD)
    pin.scroll_into_view_if_needed()
    pin.hover()
    page.mouse.down()
    box = road.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"], steps=5)
    page.mouse.up()
    check(page, BY_HAND)
    for name, change in (
        ("Silence the row of it", silence(TAUGHT, 0, IT)),
        ("Silence the whole head", silence(TAUGHT, 0)),
        ("Let it go back", nothing),
    ):
        picture(page).get_by_role("button", name=name).click()
        check(page, change)
