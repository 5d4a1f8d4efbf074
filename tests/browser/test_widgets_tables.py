"""The map of heads: numbers, cells and keyboard."""

from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

from attnviz.app.components.head_map import head_map
from tests.browser.widgets import Widgets, message_from

LAYERS, HEADS = 3, 5
VALUES = (np.arange(LAYERS * HEADS).reshape(LAYERS, HEADS) / 16).astype(np.float32)
VALUES[1, 2] = np.nan
TEXTS = ["no value" if np.isnan(value) else f"<b>{100 * value:.2f} %</b>" for value in VALUES.ravel()]


def map_message(**changes: Any) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "title": "to the token before",
        "values": VALUES,
        "texts": TEXTS,
        "low": (0.0, "0 %"),
        "high": (0.875, "88 %"),
        "printed": [f"{100 * value:.0f}" if np.isfinite(value) else "" for value in VALUES.ravel()],
        "selected": (1, 3),
    }
    return message_from(head_map, "map", **{**arguments, **changes})


@pytest.mark.parametrize("colour_scheme", ["light", "dark"])
def test_every_head_has_its_number_colour_and_name(widgets: Widgets, colour_scheme: str) -> None:
    widgets.mount("head_map", map_message())
    cells = widgets.page.get_by_role("gridcell")
    expect(cells).to_have_count(LAYERS * HEADS)
    shown = [float(cell.get_attribute("data-value") or "nan") for cell in cells.all()]
    np.testing.assert_array_equal(np.array(shown, np.float32), VALUES.ravel())
    half = widgets.page.get_by_role("gridcell", name="Head 2-4: <b>50.00 %</b>", exact=True)
    expect(half).to_have_text("50")
    expect(widgets.page.get_by_role("gridcell", name="Head 2-3: no value", exact=True)).to_have_class("none")
    lightness = [sum(colour) for colour in colours(cells) if colour]
    assert lightness == sorted(lightness, reverse=colour_scheme == "light")
    assert len(set(lightness)) == LAYERS * HEADS - 1


def colours(cells: Locator) -> list[list[float]]:
    """Return the background colour (red, green, blue) of each cell; empty for a cell without a value."""
    found: list[list[float]] = cells.evaluate_all(
        "cells => cells.map(cell => cell.dataset.value"
        " ? getComputedStyle(cell).backgroundColor.match(/\\d+/g).map(Number) : [])"
    )
    return found


def test_heads_are_described_and_selected_by_keyboard_and_pointer(widgets: Widgets) -> None:
    widgets.mount("head_map", map_message())
    page, fact = widgets.page, widgets.page.locator(".fact")
    expect(fact).to_have_text("Head 2-4: <b>50.00 %</b>")
    page.get_by_role("gridcell", selected=True).press("ArrowUp")
    expect(fact).to_have_text("Head 1-4: <b>18.75 %</b>")
    page.keyboard.press("Enter")
    page.get_by_role("gridcell", name="Head 3-1:").click()
    assert widgets.events() == [["pick", {"layer": 1, "head": 4}], ["pick", {"layer": 3, "head": 1}]]
    # The late answer to the first selection must not move the ring back.
    widgets.show("head_map", map_message(selected=(0, 3)))
    expect(page.get_by_role("gridcell", selected=True)).to_have_accessible_name("Head 3-1: <b>62.50 %</b>")


def test_token_rows_and_columns_have_headers(widgets: Widgets) -> None:
    labels = {"row_labels": ["<b>", "dog", "it"], "column_labels": ["a", "b", "c", "d", "e"]}
    widgets.mount("head_map", map_message(**labels))
    expect(widgets.page.get_by_role("rowheader")).to_have_text(labels["row_labels"])
    expect(widgets.page.get_by_role("gridcell", name="dog, d: <b>50.00 %</b>")).to_have_text("50")
