"""What a visitor types or picks stays, whatever menus were opened before."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.server import Server
from tests.browser.visit import visit, wait_idle

BOXES = {
    "explore": ("Sentence", ["The cat saw the dog.", "Birds sing in the morning."]),
    "translate": ("English", ["The black dog crossed the road.", "The small dog crossed the road."]),
    "write": ("The story begins", ["the keys near", "Mary called John"]),
}
"""For each page, the label of its text box, and texts that can be typed there."""


@pytest.mark.parametrize("name", BOXES)
def test_texts_stay_after_every_menu_was_opened(page: Page, server: Server, name: str) -> None:
    label, texts = BOXES[name]
    visit(page, f"{server.url}/{name}")
    menus = page.get_by_role("main").get_by_test_id("stPopoverButton").filter(visible=True)
    for menu in menus.all():
        menu.click()
        expect(page.get_by_test_id("stPopoverBody")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)
        wait_idle(page)
    box = page.get_by_role("textbox", name=label, exact=True)
    for text in texts:
        box.fill(text)
        box.press("Enter")
        wait_idle(page)
        expect(box).to_have_value(text)
