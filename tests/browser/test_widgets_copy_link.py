"""The button "Copy link" by itself: copied at once, or by hand."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.widgets import Widgets


@pytest.fixture
def copying(widgets: Widgets) -> Page:
    """A page, without a secure context as on plain http, that holds the button and nothing else."""
    widgets.mount("copy_link", {})
    return widgets.page


def test_what_is_copied_has_the_address_at_which_others_reach_the_app(widgets: Widgets) -> None:
    page = widgets.page
    assert page.url.endswith(":blank")
    widgets.mount("copy_link", {"others": "http://192.168.0.7:85/a"})
    page.evaluate("document.execCommand = () => false")
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_label("Link to this view")).to_have_value("http://192.168.0.7:85/a/blank")


def test_where_that_is_refused_the_link_waits_selected_for_copying_by_hand(copying: Page) -> None:
    copying.evaluate("document.execCommand = () => false")
    copying.evaluate("navigator.clipboard && (navigator.clipboard.writeText = () => Promise.reject())")
    copying.get_by_role("button", name="Copy link").click()
    field = copying.get_by_label("Link to this view")
    expect(field).to_be_focused()
    expect(copying.get_by_text("Press Ctrl+C").last).to_be_visible()
    assert (
        field.evaluate("field => field.value.slice(field.selectionStart, field.selectionEnd)") == copying.url
    )
    field.press("Escape")
    expect(field).to_be_hidden()
    expect(copying.get_by_role("button", name="Copy link")).to_be_focused()
