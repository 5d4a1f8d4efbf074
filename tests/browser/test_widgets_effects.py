"""The two tables of weights and effects: the same cells, told by pointer and keyboard, and picked."""

from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from attnviz.app.learn.cause.effects import effects
from tests.browser.visit import axe
from tests.browser.widgets import Widgets, sent

WORDS = ["<b>", "dog", "it"]
HEADS = ["1-1", "1-2", "2-1", "2-2"]
LOOKS = (np.arange(12).reshape(3, 4) / 16).astype(np.float32)
CHANGES = (np.arange(12).reshape(3, 4) / 32 - 0.25).astype(np.float32)


@pytest.fixture(params=["light", "dark"])
def widgets(request: pytest.FixtureRequest, page: Page) -> Widgets:
    shown = Widgets.on(page, request.param)
    with sent() as messages:
        effects(
            "e",
            words=WORDS,
            heads=HEADS,
            looks=LOOKS,
            changes=CHANGES,
            whole=CHANGES.min(axis=0),
            looks_title="looks at dog",
            changes_title="il",
            head=2,
            word=2,
            on_pick=lambda _head, _word: None,
        )
    data: dict[str, Any] = messages[0]
    shown.mount("effects", data)
    return shown


def test_both_tables_hold_their_numbers(widgets: Widgets) -> None:
    for number, values in enumerate((LOOKS, CHANGES)):
        cells = widgets.page.get_by_role("table").nth(number).get_by_role("button")
        shown = [float(cell.get_attribute("data-value") or "nan") for cell in cells.all()]
        assert shown == values.ravel().tolist()
    expect(widgets.page.get_by_role("row", name="whole head")).to_contain_text("−25")
    assert axe(widgets.page) == []


def test_a_cell_is_told_and_picked_by_keyboard(widgets: Widgets) -> None:
    page = widgets.page
    chosen = page.get_by_role("table").nth(1).get_by_role("button", pressed=True)
    chosen.press("ArrowUp")
    told = page.locator(".words")
    expect(told).to_have_text("dog in head 2-1 · looks at dog: 37.5 % · il: −6.3 pp")
    expect(page.locator(".pointed")).to_have_count(2)
    page.keyboard.press("Enter")
    assert widgets.said() == [["pick", {"head": 2, "word": 1}]]
