"""Explore with long texts: an overview that zooms into cells, a search, and a threshold."""

import re
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
from playwright.sync_api import expect

import attnviz
from attnviz.text import percent
from tests.browser.explore import Explore
from tests.browser.visit import COMPUTED_MS, PHONE, axe, fits, visit, wait_idle
from tests.capture.tiny import tiny

TEXT = "red dog cat " * 340 + "red dog the"


def open_model(explore: Explore, folder: Path) -> None:
    """Open a folder's model on the server, and Explore with it."""
    page = explore.page
    visit(page, f"{explore.url}/?{urlencode({'model': folder, 'text': 'red dog'})}")
    page.get_by_role("link", name="on this server …").click()
    page.get_by_role("button", name="Look").click()
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_test_id("stAlert")).to_contain_text("It is open", timeout=COMPUTED_MS)
    page.get_by_role("link", name="Explore with it").first.click()
    expect(page).to_have_url(re.compile("model="))
    wait_idle(page)


def test_a_long_text_zooms_is_searched_and_says_what_it_hides(explore: Explore, tmp_path: Path) -> None:
    page, folder = explore.page, tiny("bloom", tmp_path)
    open_model(explore, folder)
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
    page.keyboard.press("Home")
    expect(explore.words).to_contain_text(f"largest {percent(float(weights[:8, :8].max()), 1)}")

    the = next(at for at, token in enumerate(block.query_tokens) if token.text == "the")
    # The search finds the only "the", at the end, and shows it in cells.
    page.get_by_role("searchbox", name="Find a token").fill("the")
    page.keyboard.press("Enter")
    expect(page.get_by_text(f"1 of 1: {the + 1} the", exact=True)).to_be_visible()
    for _ in range(3):
        page.get_by_role("button", name="Zoom in").click()
        wait_idle(page)
    expect(explore.words).to_contain_text("the attends to")  # it is still in the part
    expect(page.get_by_role("button", name="Whole text")).to_have_attribute("aria-disabled", "false")
    page.get_by_role("button", name="Earlier queries").click()
    wait_idle(page)
    matrix.focus()
    page.keyboard.press("-")
    expect(matrix).to_have_attribute("aria-label", re.compile("128 queries by 128 keys"))
    page.keyboard.press("0")
    expect(page.get_by_role("button", name="Whole text")).to_have_attribute("aria-disabled", "true")

    # A click on a block opens it; then cells are the model's weights.
    matrix.click(position={"x": 2, "y": 2})
    wait_idle(page)
    matrix.click(position={"x": 2, "y": 2})
    wait_idle(page)
    expect(explore.words).not_to_contain_text("largest of")

    # The threshold says how much weight it hides.
    page.get_by_label("Hide weights").select_option("below 1 %")
    wait_idle(page)
    hidden = percent(float(weights[weights < 0.01].sum() / weights.sum()), 1)
    expect(page.get_by_text(f"not drawn: {hidden}")).to_be_visible()
    assert axe(page) == []

    # Lines around a token, with its top keys.
    explore.choose("Picture", "Lines")
    shown = [float(text.removesuffix(" %")) for _, text in explore.rows(explore.keys) if text]
    row = weights[the]
    for name, _ in explore.rows(explore.keys):
        number, label = name.split(" ")
        assert block.key_tokens[int(number) - 1].text == label
    assert max(shown) == np.round(100 * row.max())
    page.set_viewport_size(PHONE)
    fits(page)


def test_a_text_with_too_many_weights_to_keep_is_shown_too(explore: Explore, tmp_path: Path) -> None:
    page, folder = explore.page, tiny("bloom", tmp_path)
    open_model(explore, folder)
    text = "red dog cat " * 800
    explore.type("Sentence", text)
    expect(page.get_by_text("have no filters")).to_be_visible(timeout=COMPUTED_MS)
    block = attnviz.trace(text, str(folder), layers=1, store="vectors").block("decoder", 1)
    cat = max(at for at, token in enumerate(block.query_tokens) if token.text == "cat")
    row = block.row(2, cat)
    explore.open_head(2, 3)
    page.get_by_role("searchbox", name="Find a token").fill("cat")
    page.get_by_role("button", name="Previous").click()
    expect(page.get_by_text(f"800 of 800: {cat + 1} cat", exact=True)).to_be_visible()
    explore.choose("Picture", "Lines")
    wait_idle(page)
    shown = [float(text.removesuffix(" %")) for _, text in explore.rows(explore.keys) if text]
    assert max(shown) == np.round(100 * row.max())
    assert axe(page) == []
