"""The map of all heads: every number's colour and name, told by pointer and keyboard, and picked."""

from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, ViewportSize, expect

from attnviz.app.components.head_map import head_map
from tests.browser.visit import DESKTOP, PHONE, axe
from tests.browser.widgets import Widgets, sent

LAYERS, HEADS = 3, 5
VALUES = (np.arange(LAYERS * HEADS).reshape(LAYERS, HEADS) / 16).astype(np.float32)
VALUES[1, 2] = np.nan
TEXTS = ["no value" if np.isnan(value) else f"<b>{100 * value:.2f} %</b>" for value in VALUES.ravel()]


def message(**changes: Any) -> dict[str, Any]:
    """What reaches the browser."""
    given: dict[str, Any] = {
        "title": "to the token before",
        "values": VALUES,
        "texts": TEXTS,
        "low": (0.0, "0 %"),
        "high": (0.875, "88 %"),
        "printed": [f"{100 * value:.0f}" if np.isfinite(value) else "" for value in VALUES.ravel()],
        "selected": (2, 4),
    }
    with sent() as messages:
        head_map("map", **{**given, **changes})
    data: dict[str, Any] = messages[0]
    return data


@pytest.mark.parametrize(
    ("viewport", "theme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desktop-light", "phone-dark"]
)
def test_every_head_has_its_number_its_colour_and_its_name(
    page: Page, viewport: ViewportSize, theme: str
) -> None:
    widgets = Widgets.on(page, theme)
    widgets.mount("head_map", message(), width=viewport["width"] - 40)
    cells = widgets.page.get_by_role("gridcell")
    expect(cells).to_have_count(LAYERS * HEADS)
    shown = [float(cell.get_attribute("data-value") or "nan") for cell in cells.all()]
    np.testing.assert_array_equal(np.array(shown, np.float32), VALUES.ravel())
    expect(widgets.page.get_by_role("gridcell", name="Head 2-4: <b>50.00 %</b>", exact=True)).to_have_text(
        "50"
    )
    expect(widgets.page.get_by_role("gridcell", name="Head 2-3: no value", exact=True)).to_have_class("none")
    lightness = cells.evaluate_all(
        "cells => cells.filter(cell => cell.dataset.value).map(cell =>"
        " getComputedStyle(cell).backgroundColor.match(/\\d+/g).reduce((sum, one) => sum + +one, 0))"
    )
    assert lightness == sorted(lightness, reverse=theme == "light")
    assert len(set(lightness)) == LAYERS * HEADS - 1
    assert axe(widgets.page) == []


def test_a_head_is_told_and_picked_by_keyboard_and_pointer(page: Page) -> None:
    widgets = Widgets.on(page)
    widgets.mount("head_map", message())
    page, fact = widgets.page, widgets.page.locator(".fact")
    expect(fact).to_have_text("Head 2-4: <b>50.00 %</b>")
    page.get_by_role("gridcell", selected=True).press("ArrowUp")
    expect(fact).to_have_text("Head 1-4: <b>18.75 %</b>")
    page.keyboard.press("Enter")
    page.get_by_role("gridcell", name="Head 3-1:").click()
    assert widgets.said() == [["pick", {"layer": 1, "head": 4}], ["pick", {"layer": 3, "head": 1}]]
    # The answer to the first pick is late, and must not move the ring back.
    widgets.show("head_map", message(selected=(1, 4)))
    expect(page.get_by_role("gridcell", selected=True)).to_have_accessible_name("Head 3-1: <b>62.50 %</b>")


def test_a_diverging_scale_has_the_ground_at_zero_and_one_colour_on_each_side(
    page: Page,
) -> None:
    widgets = Widgets.on(page)
    values = np.array([[-0.25, 0.0, 0.25, 0.5, 9.0]], np.float32)
    diverging = message(
        values=values,
        texts=["a"] * 5,
        printed=None,
        selected=None,
        low=(-0.25, "−25 pp"),
        high=(0.5, "+50 pp"),
        kind="diverging",
    )
    widgets.mount("head_map", diverging)
    colours = widgets.page.get_by_role("gridcell").evaluate_all(
        "cells => cells.map(cell => getComputedStyle(cell).backgroundColor.match(/\\d+/g).map(Number))"
    )
    below, zero, above, high, beyond = colours
    assert zero == [255, 255, 255]
    assert below[2] > below[0]
    assert above[0] > above[2]
    assert sum(high) < sum(above)
    assert beyond == high


def test_as_many_texts_as_heads() -> None:
    with pytest.raises(ValueError, match="14 texts for 3 × 5 heads"):
        message(texts=TEXTS[:-1])
