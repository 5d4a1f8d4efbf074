"""The button "Copy link" by itself: the clipboard, the older way, and by hand."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.widgets import alone


@pytest.fixture
def widget(page: Page) -> Page:
    """An empty page, without a secure context as on plain http, that holds the button and nothing else."""
    page = alone(page, "copy_link")
    page.evaluate("() => window.show()")
    return page


def test_with_a_clipboard_the_address_goes_there_and_the_button_says_so_for_a_while(widget: Page) -> None:
    widget.evaluate("navigator.clipboard ?? Object.defineProperty(navigator, 'clipboard', { value: {} })")
    widget.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    widget.get_by_role("button", name="Copy link").click()
    expect(widget.get_by_role("button", name="Copied ✓")).to_be_focused()
    expect(widget.locator("[aria-live]")).to_have_text("Link copied")
    assert widget.evaluate("window.copied === location.href")
    expect(widget.get_by_role("button", name="Copy link")).to_be_visible()


def test_without_a_clipboard_it_copies_from_a_text_field(widget: Page) -> None:
    widget.evaluate("document.oncopy = () => { window.copied = true; }")
    widget.evaluate("navigator.clipboard && (navigator.clipboard.writeText = () => Promise.reject())")
    widget.get_by_role("button", name="Copy link").click()
    expect(widget.get_by_role("button", name="Copied ✓")).to_be_visible()
    expect(widget.get_by_label("Link to this view")).to_be_hidden()
    assert widget.evaluate("window.copied")


def test_where_both_are_refused_the_link_waits_selected_for_copying_by_hand(widget: Page) -> None:
    widget.evaluate("document.execCommand = () => false")
    widget.evaluate("navigator.clipboard && (navigator.clipboard.writeText = () => Promise.reject())")
    widget.get_by_role("button", name="Copy link").click()
    field = widget.get_by_label("Link to this view")
    expect(field).to_be_focused()
    expect(widget.get_by_text("Press Ctrl+C").last).to_be_visible()
    assert (
        field.evaluate("field => field.value.slice(field.selectionStart, field.selectionEnd)") == widget.url
    )
    field.press("Escape")
    expect(field).to_be_hidden()
    expect(widget.get_by_role("button", name="Copy link")).to_be_focused()
