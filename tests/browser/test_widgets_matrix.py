"""The head view's matrix: each colour and each number in its own cell, by mouse and by keyboard."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Locator, Page, Position, ViewportSize, expect

from tests.browser.visit import DESKTOP, PHONE, axe
from tests.browser.widgets import Widgets, levels

QUERIES, KEYS = 7, 11


@pytest.fixture
def widgets(page: Page) -> Widgets:
    return Widgets.on(page)


def random_weights(heads: int = 1, queries: int = QUERIES, keys: int = KEYS) -> NDArray[np.float32]:
    scores = np.exp(2 * np.random.default_rng(0).standard_normal((heads, queries, keys)))
    return np.asarray(scores / scores.sum(-1, keepdims=True), np.float32)


def tokens(name: str, count: int) -> list[dict[str, Any]]:
    return [
        {"label": f"{name}{i}", "name": f"{name}{i}", "title": "", "special": False} for i in range(count)
    ]


def show(
    widgets: Widgets, values: NDArray[np.float32], pixels: NDArray[np.uint8], width: int = 700, **changes: Any
) -> None:
    """The matrix of heads 1, 2, … of layer 1."""
    heads = [[1, head + 1] for head in range(len(values))]
    whole = {
        "pixels": widgets.publish("pixels", {"pixels": pixels}, heads=heads, **changes.pop("facts", {})),
        "exact": widgets.publish("exact", {"values": values}, heads=heads),
        "view": "matrix",
        "layer": 1,
        "heads": [head for _, head in heads],
        "heads_total": 12,
        "query_tokens": tokens("q", values.shape[1]),
        "key_tokens": tokens("k", values.shape[2]),
        "query": 4,
        "key": None,
        "kind": "sequential",
        "unit": "percent",
        "note": "",
        "caption": "",
        "filename": "f",
    }
    widgets.mount("head_view", {**whole, **changes}, width)


def cells(widgets: Widgets, head: int = 1) -> Locator:
    return widgets.page.get_by_role("application", name=f"Layer 1, head {head},")


def words(widgets: Widgets) -> Locator:
    return widgets.page.locator("p[aria-live]")


def middle(widgets: Widgets, query: int, key: int, queries: int = QUERIES, keys: int = KEYS) -> Position:
    """Where a cell's middle is, from the corner of the matrix."""
    box = cells(widgets).bounding_box()
    assert box
    return {"x": (key + 0.5) * box["width"] / keys, "y": (query + 0.5) * box["height"] / queries}


def colour(widgets: Widgets, query: int, key: int) -> list[float]:
    picture, box = widgets.page.locator(".frame canvas").first.bounding_box(), cells(widgets).bounding_box()
    assert picture
    assert box
    at = middle(widgets, query, key)
    return widgets.pixel("head_view", box["x"] - picture["x"] + at["x"], box["y"] - picture["y"] + at["y"])


def percent(value: float) -> str:
    return f"{100 * float(value):.1f} %"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_cell_has_its_level_s_colour_from_background_to_contrast(page: Page, theme: str) -> None:
    widgets = Widgets.on(page, theme)
    steps = np.random.default_rng(1).permutation(QUERIES * KEYS).reshape(1, QUERIES, KEYS)
    show(widgets, random_weights(), np.round(steps * 254 / (steps.size - 1)).astype(np.uint8), query=None)
    brightness = np.empty(steps.size)
    for query in range(QUERIES):
        for key in range(KEYS):
            brightness[steps[0, query, key]] = np.dot(colour(widgets, query, key), (0.21, 0.72, 0.07))
    run = np.diff(brightness) if theme == "dark" else -np.diff(brightness)
    assert run.min() > 0
    background = (14, 17, 23) if theme == "dark" else (255, 255, 255)
    where = np.argwhere(steps[0] == 0)[0]
    assert colour(widgets, *where) == pytest.approx(background, abs=2)


def test_a_change_of_nothing_has_the_background_s_colour_and_rise_and_fall_differ(widgets: Widgets) -> None:
    pixels = np.full((1, QUERIES, KEYS), 127, np.uint8)
    pixels[0, 1, 2], pixels[0, 3, 5] = 254, 0
    show(widgets, random_weights(), pixels, kind="diverging", unit="signed percent", query=None)
    assert colour(widgets, 5, 5) == pytest.approx((255, 255, 255), abs=1)
    rise, fall = colour(widgets, 1, 2), colour(widgets, 3, 5)
    assert rise[0] > rise[2] + 50  # orange to brown
    assert fall[2] > fall[0] + 50  # blue


def test_a_masked_cell_is_hatched_and_says_so(widgets: Widgets) -> None:
    weights, pixels = random_weights(), levels(random_weights())
    weights[0, 0, 1:], pixels[0, 0, 1:] = np.nan, 255
    show(widgets, weights, pixels, query=None)
    cells(widgets).hover(position=middle(widgets, 0, 3))
    expect(words(widgets)).to_have_text("q0 → k3 masked")
    box, picture = cells(widgets).bounding_box(), widgets.page.locator(".frame canvas").first.bounding_box()
    assert box
    assert picture
    at = middle(widgets, 0, 3)
    corner = (box["x"] - picture["x"] + at["x"], box["y"] - picture["y"] + at["y"])
    seen = {tuple(widgets.pixel("head_view", corner[0] + step, corner[1])) for step in range(8)}
    assert len(seen) > 1  # stripes


def test_pointing_reads_the_exact_number_and_a_click_pins_the_pair(widgets: Widgets) -> None:
    weights = random_weights()
    show(widgets, weights, levels(weights))
    for query, key in ((0, 0), (6, 10), (2, 7)):
        cells(widgets).hover(position=middle(widgets, query, key))
        expect(words(widgets)).to_have_text(f"q{query} → k{key} {percent(weights[0, query, key])}")
        expect(widgets.page.locator(".tip")).to_have_text(
            f"q{query} → k{key} {percent(weights[0, query, key])}"
        )
    cells(widgets).click(position=middle(widgets, 2, 7))
    assert widgets.said()[-1] == ["pick", {"query": 2, "key": 7}]
    widgets.page.mouse.move(2, 2)
    expect(widgets.page.locator(".tip")).to_be_hidden()
    expect(words(widgets)).to_have_text(f"q2 → k7 {percent(weights[0, 2, 7])}")


def test_numbers_that_have_not_come_are_not_guessed_from_colours(widgets: Widgets) -> None:
    weights = random_weights()
    show(widgets, weights, levels(weights), exact="not yet")
    cells(widgets).hover(position=middle(widgets, 3, 2))
    expect(words(widgets)).to_have_text("q3 → k2 …")


def test_the_keyboard_goes_from_cell_to_cell_and_keeps_one(widgets: Widgets) -> None:
    weights = random_weights()
    show(widgets, weights, levels(weights), key=9)
    page = widgets.page
    for _ in range(5):  # chips, Several, PNG, SVG, the matrix
        page.keyboard.press("Tab")
    expect(cells(widgets)).to_be_focused()
    path = [
        (None, (4, 9)),
        ("ArrowRight", (4, 10)),
        ("ArrowRight", (4, 10)),
        ("ArrowDown", (5, 10)),
        ("Home", (5, 0)),
        ("Control+Home", (0, 0)),
        ("ArrowUp", (0, 0)),
        ("ArrowRight", (0, 1)),
    ]
    for pressed, (query, key) in path:
        if pressed:
            page.keyboard.press(pressed)
        expect(words(widgets)).to_have_text(f"q{query} → k{key} {percent(weights[0, query, key])}")
    page.keyboard.press("Enter")
    assert widgets.said()[-1] == ["pick", {"query": 0, "key": 1}]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    expect(words(widgets)).to_have_text(f"q0 → k1 {percent(weights[0, 0, 1])}")


def test_several_heads_stand_side_by_side_and_are_read_together(widgets: Widgets) -> None:
    weights = random_weights(3)
    show(widgets, weights, levels(weights))
    assert widgets.page.locator(".panel-title").all_inner_texts() == [
        f"Layer 1 · Head {head}" for head in (1, 2, 3)
    ]
    cells(widgets, 2).hover(position=middle(widgets, 3, 2))
    numbers = ", ".join(f"head {head + 1} {percent(weights[head, 3, 2])}" for head in range(3))
    expect(words(widgets)).to_have_text(f"q3 → k2: {numbers}")
    expect(widgets.page.locator(".tip")).to_have_text(f"q3 → k2 {percent(weights[1, 3, 2])}")
    tops = [box["y"] for head in (1, 2, 3) if (box := cells(widgets, head).bounding_box())]
    assert tops[0] == tops[1] < tops[2]


@pytest.mark.parametrize(
    ("kind", "unit", "limits", "curve", "expected"),
    [
        ("sequential", "percent", [[0, 0.5], [0, 0.5]], "sqrt", "0 %, 12.5 %, 50.0 %"),
        ("sequential", "percent", [[0, 0.5], [0, 0.5]], "linear", "0 %, 25.0 %, 50.0 %"),
        ("diverging", "score", [[-8, 8], [-8, 8]], "linear", "−8.00, 0.00, 8.00"),
        ("sequential", "percent", [[0, 0.5], [0, 0.8]], "sqrt", "0 %, , each head’s highest"),
    ],
)
def test_the_legend_gives_the_values_of_its_colours(
    widgets: Widgets, kind: str, unit: str, limits: list[list[float]], curve: str, expected: str
) -> None:
    weights = random_weights(2)
    facts = {"limits": limits, "curve": curve}
    show(widgets, weights, levels(weights), kind=kind, unit=unit, facts=facts)
    expect(widgets.page.get_by_role("img")).to_have_accessible_name(f"Colour scale: {expected}")


def test_the_longest_text_fits_and_its_last_cell_is_read(widgets: Widgets) -> None:
    weights = random_weights(1, 512, 512)
    show(widgets, weights, levels(weights), query=None)
    cells(widgets).focus()
    widgets.page.keyboard.press("Control+End")
    expect(words(widgets)).to_have_text(f"q511 → k511 {percent(weights[0, 511, 511])}")
    assert widgets.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE])
@pytest.mark.parametrize("heads", [1, 3])
def test_no_accessibility_rule_is_broken(page: Page, theme: str, viewport: ViewportSize, heads: int) -> None:
    widgets = Widgets.on(page, theme)
    weights = random_weights(heads)
    show(widgets, weights, levels(weights), min(700, viewport["width"] - 64), key=3)
    cells(widgets).hover(position=middle(widgets, 1, 1))
    assert axe(widgets.page) == []
    assert widgets.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
