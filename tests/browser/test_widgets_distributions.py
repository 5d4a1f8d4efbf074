"""The table of measures: each with its mean, its bars and what even attention gives, at their places."""

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from attnviz.app.heads.behaviour.distributions import Measured, distributions
from tests.browser.visit import DESKTOP, PHONE, axe
from tests.browser.widgets import Widgets, sent

ROWS = [
    Measured(
        "previous",
        "the token before",
        0.75,
        0.25,
        [0.0, 0.25, 0.75, 0.0],
        "75 % ± 8",
        "25 %",
        ("0", "100 %"),
        chosen=True,
    ),
    Measured("<b>", "<i>", 1.5, 0.0, [], "60.0 tokens", "<1 %", ("0", "40+")),
    Measured("broad", "how evenly", 0.0, 1.0, [1.0, 0.0], "0 %", "100 %", ("0", "40+")),
]


def along(mark: Locator, picture: Locator) -> float:
    """Where a mark stands on its picture, 0 to 1."""
    at, whole = mark.bounding_box(), picture.bounding_box()
    assert at
    assert whole
    return (at["x"] + at["width"] / 2 - whole["x"]) / whole["width"]


@pytest.mark.parametrize(
    ("viewport", "theme"), [(DESKTOP, "dark"), (PHONE, "light")], ids=["desktop-dark", "phone-light"]
)
def test_rows_marks_and_bars(page: Page, viewport: ViewportSize, theme: str) -> None:
    widgets = Widgets.on(page, theme)
    with sent() as messages:
        distributions("rules", ROWS, heading="How its sentences score", caption="Dashed: even attention.")
    widgets.mount("distributions", messages[0], width=viewport["width"] - 60)
    page = widgets.page
    rows = page.get_by_role("row")
    # The axis is written below the last row that has it.
    assert [row.inner_text().split() for row in rows.all()[1:]] == [
        ["previous", "the", "token", "before", "75", "%", "±", "8", "25", "%", "0", "100", "%"],
        ["<b>", "<i>", "60.0", "tokens", "<1", "%"],
        ["broad", "how", "evenly", "0", "%", "100", "%", "0", "40+"],
    ]
    expect(page.locator("tr.chosen")).to_have_count(1)
    first = rows.nth(1)
    assert along(first.locator(".at"), first.locator(".axis")) == pytest.approx(0.75, abs=0.02)
    assert along(first.locator(".baseline"), first.locator(".axis")) == pytest.approx(0.25, abs=0.02)
    heights = [float(bar.get_attribute("height") or "nan") for bar in first.locator("rect").all()]
    assert heights[2] == pytest.approx(3 * heights[1])
    # What is beyond the axis stands at its end.
    assert along(rows.nth(2).locator(".at"), rows.nth(2).locator(".axis")) == pytest.approx(1, abs=0.02)
    assert axe(page) == []
