"""A hundred percent to spend: no word gets more than is left, and Python hears what each has."""

from playwright.sync_api import expect

from attnviz.app.learn.spending import spend
from tests.browser.widgets import Widgets, sent_by


def test_no_word_gets_more_than_is_left(widgets: Widgets) -> None:
    message = sent_by(
        spend,
        "s",
        title="What it gives",
        words=["<b>dog</b>", "road", "it"],
        query=2,
        head="head 4-2",
        spent=[70, 0, 0],
        given=None,
        on_change=None,
    )
    widgets.mount("spend", message)
    page = widgets.page
    expect(page.get_by_text("30 % left to spend")).to_be_visible()
    page.get_by_role("slider", name="road").fill("50")
    expect(page.get_by_role("slider", name="road")).to_have_value("30")
    expect(page.get_by_text("All is spent.")).to_be_visible()
    assert widgets.said() == [["change", {"spent": [70, 30, 0]}]]
    page.get_by_role("slider", name="<b>dog</b>").press("ArrowLeft")
    expect(page.get_by_text("1 % left to spend")).to_be_visible()
    assert widgets.said()[-1] == ["change", {"spent": [69, 30, 0]}]
