"""A visitor opens a model of their own and explores it; the page on models can be read by everybody."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.server import Server
from tests.browser.visit import DESKTOP, PHONE, axe, visit, wait_idle
from tests.capture.tiny import tiny

OPENS_MS = 60_000  # transformers is imported first


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small encoder–decoder."""
    return tiny("bart", tmp_path_factory.mktemp("models") / "bart")


def look(page: Page, server: Server, name: str | Path) -> None:
    visit(page, f"{server.url}/models")
    page.get_by_role("textbox", name="Folder or Hugging Face id").fill(str(name))
    page.get_by_role("button", name="Look").click()
    wait_idle(page)


def test_a_folder_is_looked_at_opened_and_explored(page: Page, server: Server, folder: Path) -> None:
    visit(page, f"{server.url}/?model={folder}&text=The+old+dog+saw+a+fish+.")
    expect(page.get_by_test_id("stAlert")).to_contain_text(f"model cannot be {str(folder)[:60]}")
    page.get_by_role("link", name="on this server …").click()
    box = page.get_by_role("textbox", name="Folder or Hugging Face id")
    expect(box).to_have_value(str(folder))
    page.get_by_role("button", name="Look").click()
    expect(page.get_by_text("3 + 2 layers × 3 heads").first).to_be_visible()
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_test_id("stAlert")).to_contain_text("It is open", timeout=OPENS_MS)
    wait_idle(page)
    assert axe(page) == []
    page.get_by_role("link", name="Explore with it").first.click()
    expect(page).to_have_url(re.compile("model="))
    wait_idle(page)
    page.get_by_role("radiogroup", name="Attention").get_by_role("radio", name="cross").click()
    wait_idle(page)
    expect(page.get_by_role("heading", name="All 6 heads at a glance")).to_be_visible()
    expect(page.get_by_role("textbox", name="Sentence")).to_have_value("The old dog saw a fish .")


@pytest.mark.parametrize(
    ("viewport", "colour_scheme"), [(DESKTOP, "dark"), (PHONE, "light")], ids=["desktop", "phone"]
)
def test_axe_finds_nothing(page: Page, server: Server, viewport: ViewportSize, colour_scheme: str) -> None:
    look(page, server, "<script>alert(1)</script> *no* [model](http://example.org)")
    expect(page.get_by_test_id("stAlert")).to_be_visible()
    page.get_by_text("Refused families, and why").click()
    wait_idle(page)
    assert axe(page) == [], (viewport, colour_scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
