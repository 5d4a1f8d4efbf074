"""Explore with long texts: an overview that zooms in, a search, and a threshold."""

import re
from pathlib import Path

from playwright.sync_api import expect

import attnviz
from attnviz.text import percent
from tests.browser.explore import Explore
from tests.browser.visit import PHONE, axe, fits, open_model, wait_idle
from tests.capture.tiny import tiny

TEXT = "red dog cat " * 340 + "red dog the"


def test_long_text_can_be_zoomed_searched_and_thresholded(explore: Explore, tmp_path: Path) -> None:
    page, folder = explore.page, tiny("bloom", tmp_path)
    open_model(page, explore.url, folder)
    page.get_by_role("link", name="Explore with this model").first.click()
    expect(page).to_have_url(re.compile("model="))
    wait_idle(page)
    explore.type("Sentence", TEXT)
    explore.choose("Picture", "Matrix")
    explore.open_head(2, 3)
    matrix = page.get_by_role("application")
    block = attnviz.trace(TEXT, str(folder)).block("decoder", 1)
    weights = block.weights[2]
    assert weights.shape == (1024, 1024)

    # An overview of 128 × 128 blocks of 8 × 8 weights.
    expect(matrix).to_have_attribute("aria-label", re.compile("128 queries by 128 keys"))
    matrix.focus()
    page.keyboard.press("Control+Home")
    expect(explore.words).to_contain_text(f"largest {percent(float(weights[:8, :8].max()), 1)}")

    position = next(at for at, token in enumerate(block.query_tokens) if token.text == "the")
    # The search finds the only "the", at the end, and zooms to its cells.
    page.get_by_role("searchbox", name="Find a token").fill("the")
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"1 of 1: {position + 1} the", exact=True)).to_be_visible()
    for _ in range(3):
        page.get_by_role("button", name="Zoom in").click()
        wait_idle(page)
    expect(explore.words).to_contain_text("the attends to")  # the token is still in view
    expect(page.get_by_role("button", name="Whole text")).to_have_attribute("aria-disabled", "false")
    page.get_by_role("button", name="Earlier queries").click()
    wait_idle(page)
    matrix.focus()
    page.keyboard.press("-")
    expect(matrix).to_have_attribute("aria-label", re.compile("128 queries by 128 keys"))
    page.keyboard.press("0")
    expect(page.get_by_role("button", name="Whole text")).to_have_attribute("aria-disabled", "true")

    # A click on a block zooms in; then each cell is one weight.
    matrix.click(position={"x": 2, "y": 2})
    wait_idle(page)
    matrix.click(position={"x": 2, "y": 2})
    wait_idle(page)
    expect(explore.words).not_to_contain_text("largest of")

    page.get_by_label("Hide weights").select_option("below 1 %")
    wait_idle(page)
    expect(page.get_by_text("not drawn: ")).to_be_visible()
    assert axe(page) == []

    explore.choose("Picture", "Lines")
    page.set_viewport_size(PHONE)
    assert fits(page)
