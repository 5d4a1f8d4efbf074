"""The encoding: a colour for each number, read by pointer and keyboard."""

from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from attnviz.app.learn.positions.encoding import encoding
from tests.browser.visit import axe
from tests.browser.widgets import Widgets, sent

VECTORS = np.array([[0.0, 1.0, -1.0, 0.5], [0.84147, 0.5403, -0.25, 0.125], [-0.9, 0.9, 0.1, -0.1]])


def mount(widgets: Widgets) -> None:
    with sent() as messages:
        encoding("e", VECTORS, ["a", "<b>"], position=1, pair=1, alt="Stripes.", filename="waves")
    data: dict[str, Any] = messages[0]
    widgets.mount("encoding", data)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_keyboard_reads_every_cell(page: Page, theme: str) -> None:
    widgets = Widgets.on(page, theme)
    mount(widgets)
    slider = widgets.page.get_by_role("slider")
    expect(slider).to_have_attribute("aria-valuetext", "position 1 (<b>), dimension 3: −0.250")
    slider.focus()
    assert axe(widgets.page) == []
    for keys, said in (
        (["ArrowDown"], "position 2, dimension 3: 0.100"),
        (["Home", "ArrowUp"], "position 1 (<b>), dimension 1: 0.841"),
        (["ArrowUp", "End"], "position 0 (a), dimension 4: 0.500"),
    ):
        for key in keys:
            widgets.page.keyboard.press(key)
        expect(slider).to_have_attribute("aria-valuetext", said)
        expect(widgets.page.locator(".words")).to_have_text(said)


def test_above_0_is_orange_and_below_blue(page: Page) -> None:
    widgets = Widgets.on(page)
    mount(widgets)
    box = widgets.page.locator("canvas").bounding_box()
    assert box
    for row, column in np.ndindex(VECTORS.shape):
        x, y = (column + 0.5) * box["width"] / 4, (row + 0.5) * box["height"] / 3
        red, _, blue = widgets.pixel("encoding", x, y)
        assert np.sign(red - blue) == np.sign(VECTORS[row, column])
        widgets.page.mouse.move(box["x"] + x, box["y"] + y)
        number = f"{VECTORS[row, column]:.3f}".replace("-", "−")
        expect(widgets.page.locator(".words")).to_contain_text(f"dimension {column + 1}: {number}")


def test_the_picture_is_saved(page: Page) -> None:
    widgets = Widgets.on(page)
    mount(widgets)
    for ending in ("svg", "png"):
        with widgets.page.expect_download() as download:
            widgets.page.get_by_role("button", name=ending.upper(), exact=True).click()
        assert download.value.suggested_filename == f"attnviz-waves.{ending}"


def test_larger_numbers_are_drawn_to_their_own_limit_and_without_a_pair(page: Page) -> None:
    widgets = Widgets.on(page)
    with sent() as messages:
        encoding("e", 20 * VECTORS, ["a"], limit=20, alt="A table.", filename="table")
    widgets.mount("encoding", messages[0])
    expect(widgets.page.locator(".legend")).to_contain_text("blue: −20, orange: 20")
    expect(widgets.page.locator(".outline:visible")).to_have_count(1)  # the row's
    box = widgets.page.locator("canvas").bounding_box()
    assert box
    strongest = widgets.pixel("encoding", 1.5 * box["width"] / 4, 0.5 * box["height"] / 3)
    middling = widgets.pixel("encoding", 3.5 * box["width"] / 4, 0.5 * box["height"] / 3)
    assert strongest != middling
    expect(widgets.page.get_by_role("slider")).to_have_attribute(
        "aria-valuetext", "position 0 (a), dimension 1: 0.000"
    )
