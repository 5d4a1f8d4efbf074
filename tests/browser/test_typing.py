"""What a visitor types or picks stays, whatever menus were opened before."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.explore import Explore
from tests.browser.server import Server
from tests.browser.visit import visit, wait_idle

BERT = [
    "The cat saw the dog.",
    "Birds sing in the morning.",
    "She lost her keys again.",
    "He went to the bank.",
    "Rain fell on the old roof.",
]
TRANSLATED = [
    "The dog crossed the road.",
    "The black dog crossed the road.",
    "The dog did not cross the road.",
    "The dog did not cross the road as it was too narrow.",
    "The small dog crossed the road.",
]
TOLD = ["the keys near", "the lamp was", "Mary called John", "near the river lived", "the key near the lamp"]
BOXES = {
    **dict.fromkeys(
        ["explore", "weighted_average", "many_heads", "query_key_value"],
        ("Sentence", BERT),
    ),
    **dict.fromkeys(["masks", "positions", "block", "cross_attention"], ("Sentence", BERT)),
    **dict.fromkeys(["beyond_weights", "find", "intervene"], ("Sentence", BERT)),
    **dict.fromkeys(["compare"], ("First sentence", BERT)),
    **dict.fromkeys(["cause", "translate"], ("English", TRANSLATED)),
    "write": ("The story begins", TOLD),
    "induction": ("Said twice", TOLD),
}
"""For each page, the label of its text box, and texts that can be typed there."""


@pytest.mark.parametrize("name", BOXES)
def test_five_texts_stay_after_every_menu_was_opened(page: Page, server: Server, name: str) -> None:
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


def test_heads_that_are_picked_stay_after_their_menu_was_opened(explore: Explore) -> None:
    explore.open()
    menu = explore.page.get_by_role("button", name="By number")
    menu.click()
    expect(explore.page.get_by_role("spinbutton", name="Layer")).to_be_visible()
    explore.page.keyboard.press("Escape")
    for layer, head in ((2, 9), (5, 3), (1, 12), (6, 6)):
        explore.open_head(layer, head)
        wait_idle(explore.page)
        heading = explore.page.get_by_role("heading", name=f"Layer {layer} · Head {head}")
        expect(heading).to_be_visible()
    menu.click()
    expect(explore.page.get_by_role("spinbutton", name="Layer")).to_have_value("6")
