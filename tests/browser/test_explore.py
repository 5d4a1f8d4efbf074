"""A user's own model on Explore: opening it, generating tokens, and its link."""

import re
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import expect

from tests.browser.explore import Explore
from tests.browser.visit import PHONE, assert_link_reproduces, axe, fits, inspect_and_open, visit, wait_idle
from tests.capture.tiny import tiny


def test_own_model_is_opened_and_generates_tokens(explore: Explore, tmp_path: Path) -> None:
    page, prompt = explore.page, "The capital of France is"
    folder = tiny("gpt2", tmp_path)
    visit(page, f"{explore.url}/?{urlencode({'model': folder, 'text': prompt, 'layer': 2, 'head': 3})}")
    expect(page.get_by_test_id("stAlert")).to_contain_text(f"model = {str(folder)[:60]}")
    page.get_by_role("link", name="on this server …").click()
    expect(page.get_by_role("textbox", name=re.compile("^Your own model"))).to_have_value(str(folder))
    inspect_and_open(page)
    page.get_by_role("link", name="Explore with this model").first.click()
    expect(page).to_have_url(re.compile("model="))
    wait_idle(page)
    expect(page.get_by_role("textbox", name="Sentence")).to_have_value(prompt)
    page.get_by_role("spinbutton", name="Tokens to write").fill("4")
    page.get_by_role("spinbutton", name="Tokens to write").press("Enter")
    expect(page).to_have_url(re.compile("write=4"))
    explore.open_head(2, 3)

    written = page.get_by_role("button", name=re.compile("generated token"))
    expect(written).to_have_count(4)
    expect(written.first).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Next token").click()
    expect(written.nth(1)).to_have_attribute("aria-pressed", "true")
    wait_idle(page)
    assert_link_reproduces(page)
    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme="dark")
    expect(page.locator(".stApp")).to_have_css("color-scheme", "dark")
    assert axe(page) == []
    assert fits(page)
