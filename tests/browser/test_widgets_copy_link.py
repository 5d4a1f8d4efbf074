"""The button "Copy link" without the app: the link is copied automatically or manually."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.widgets import Widgets


@pytest.fixture
def button_page(widgets: Widgets) -> Page:
    """A page with only the button, in an insecure context like an http page."""
    widgets.mount("copy_link", {})
    return widgets.page


def test_copied_link_has_the_public_address_of_the_app(widgets: Widgets) -> None:
    page = widgets.page
    assert page.url.endswith(":blank")
    widgets.mount("copy_link", {"shared_url": "http://192.168.0.7:85/a"})
    page.evaluate("document.execCommand = () => false")
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_label("Link to this view")).to_have_value("http://192.168.0.7:85/a/blank")


def test_link_is_selected_for_copying_by_hand_if_the_browser_refuses(button_page: Page) -> None:
    button_page.evaluate("document.execCommand = () => false")
    button_page.evaluate("navigator.clipboard && (navigator.clipboard.writeText = () => Promise.reject())")
    button_page.get_by_role("button", name="Copy link").click()
    field = button_page.get_by_label("Link to this view")
    expect(field).to_be_focused()
    expect(button_page.get_by_text("Press Ctrl+C").last).to_be_visible()
    assert (
        field.evaluate("field => field.value.slice(field.selectionStart, field.selectionEnd)")
        == button_page.url
    )
    field.press("Escape")
    expect(field).to_be_hidden()
    expect(button_page.get_by_role("button", name="Copy link")).to_be_focused()
