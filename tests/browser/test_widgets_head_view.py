"""The head view: lines and matrix with their numbers, by mouse and keyboard, and as saved files."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Locator, Position, expect

from tests.browser.explore import svg as svg_file
from tests.browser.visit import box_of, save
from tests.browser.widgets import Widgets, levels

LAYERS, HEADS, QUERIES, KEYS = 2, 5, 7, 11
SVG = "{http://www.w3.org/2000/svg}"
CAPTION = "“The <b>dog</b> & the road” · minilm · without special tokens, rows rescaled to 100 %. " * 3

Weights = NDArray[np.float32]


def random_weights(queries: int = QUERIES, keys: int = KEYS, layers: int = LAYERS) -> Weights:
    """Return random weights [layer, head, query, key] whose rows sum to 1."""
    scores = np.exp(2 * np.random.default_rng(0).standard_normal((layers, HEADS, queries, keys)))
    return np.asarray(scores / scores.sum(-1, keepdims=True), np.float32)


def tokens(name: str, count: int) -> list[dict[str, Any]]:
    return [
        {"label": f"{name}{i}", "name": f"{name}{i}", "title": "", "special": i == 0} for i in range(count)
    ]


def show(
    widgets: Widgets, weights: Weights, view: str = "lines", heads: tuple[int, ...] = (3,), **changes: Any
) -> dict[str, Any]:
    """Show heads of layer 2; publish all pixels and the numbers of these heads; return the message."""
    all_heads = [[layer + 1, head + 1] for layer, head in np.ndindex(weights.shape[:2])]
    flat = levels(np.abs(weights)).reshape(-1, *weights.shape[2:])
    exact = weights[1, [head - 1 for head in heads]]
    pixels, width = changes.pop("drawn", flat), changes.pop("width", 700)
    high = changes.pop("high", [1.0] * len(all_heads))
    message = {
        "pixels": widgets.publish("pixels", {"pixels": pixels}, heads=all_heads, high=high),
        "exact": widgets.publish("exact", {"values": exact}, heads=[[2, head] for head in heads]),
        "view": view,
        "layer": 2,
        "heads": list(heads),
        "heads_total": 12 if view == "matrix" else HEADS,
        "query_tokens": tokens("q", weights.shape[2]),
        "key_tokens": tokens("k", weights.shape[3]),
        "query": 4,
        "key": None,
        "kind": "sequential",
        "unit": "percent",
        "note": "shared colour scale",
        "caption": CAPTION,
        "filename": "minilm-layer2",
        **changes,
    }
    widgets.mount("head_view", message, width)
    return message


def queries(widgets: Widgets) -> Locator:
    return widgets.page.get_by_role("group", name="from (query)").get_by_role("button")


def keys(widgets: Widgets) -> Locator:
    return widgets.page.get_by_role("group", name="to (key)").get_by_role("button")


def button(widgets: Widgets, name: str) -> Locator:
    return widgets.page.get_by_role("button", name=name, exact=True)


def printed_numbers(row: Weights) -> list[str]:
    """Return the printed number of each key: a whole percentage, or "" below 0.5 %."""
    return [f"{100 * float(value):.0f}\N{NO-BREAK SPACE}%" if value >= 0.005 else "" for value in row]


def percent(value: float) -> str:
    return f"{100 * float(value):.1f} %"


def numbers(widgets: Widgets) -> list[str]:
    return [number.strip() for number in widgets.page.locator(".keys .numbers").all_inner_texts()]


def words(widgets: Widgets) -> Locator:
    return widgets.page.locator("p[aria-live]")


def root(widgets: Widgets) -> Locator:
    return widgets.page.locator("[data-view]")


def largest(row: Weights, count: int = 3) -> str:
    return ", ".join(f"k{j} {percent(row[j])}" for j in np.argsort(row)[::-1][:count])


# Lines


def test_hovering_another_query_shows_its_row_temporarily(widgets: Widgets) -> None:
    weights = random_weights()
    show(widgets, weights)
    row = weights[1, 2]
    assert numbers(widgets) == printed_numbers(row[4])
    expect(words(widgets)).to_have_text(f"q4 attends to {largest(row[4])}")
    queries(widgets).nth(1).hover()
    expect(words(widgets)).to_have_text(f"q1 attends to {largest(row[1])}")
    assert numbers(widgets) == printed_numbers(row[1])
    keys(widgets).nth(5).hover()
    expect(words(widgets)).to_have_text(f"q4 → k5 {percent(row[4, 5])}")
    widgets.page.mouse.move(350, 500)
    expect(words(widgets)).to_have_text(f"q4 attends to {largest(row[4])}")
    assert [event for event, _ in widgets.events() if event != "attnviz:data"] == []


def test_clicking_a_query_keeps_the_key_and_vice_versa(widgets: Widgets) -> None:
    show(widgets, random_weights(), key=8)
    expect(keys(widgets).nth(8)).to_have_attribute("aria-pressed", "true")
    queries(widgets).nth(2).click()
    expect(queries(widgets).nth(2)).to_have_attribute("aria-pressed", "true")
    keys(widgets).nth(10).click()
    expect(keys(widgets).nth(8)).to_have_attribute("aria-pressed", "false")
    assert widgets.events()[-2:] == [["pick", {"query": 2, "key": 8}], ["pick", {"query": 2, "key": 10}]]


def test_another_head_is_drawn_before_its_numbers_arrive(widgets: Widgets) -> None:
    weights = random_weights()
    show(widgets, weights)
    expect(root(widgets)).to_have_attribute("data-head", "2-3")
    button(widgets, "5").click()
    chosen = {"layer": 2, "heads": [5]}
    assert widgets.events()[-2:] == [["attnviz:heads", chosen], ["heads", chosen]]
    expect(root(widgets)).to_have_attribute("data-head", "2-5")
    assert set(numbers(widgets)) == {""}
    show(widgets, weights, heads=(5,))
    assert numbers(widgets) == printed_numbers(weights[1, 4, 4])
    widgets.page.evaluate(
        "window.dispatchEvent(new CustomEvent('attnviz:heads', { detail: { layer: 1, heads: [2] } }))"
    )
    expect(root(widgets)).to_have_attribute("data-head", "1-2")
    assert set(numbers(widgets)) == {""}


def test_lines_of_two_heads_end_side_by_side_at_the_attended_key(widgets: Widgets) -> None:
    weights = np.zeros((LAYERS, HEADS, QUERIES, KEYS), np.float32)
    weights[..., 9] = 1
    show(widgets, weights, heads=(2, 3))
    expect(root(widgets)).to_have_attribute("data-lines", "2")
    canvas = box_of(widgets.page.locator("canvas.curves"))
    boxes = [box_of(key) for key in keys(widgets).all()]
    upper, lower = (
        widgets.pixels(
            "head_view",
            [(box["x"] - canvas["x"] - 2, box["y"] - canvas["y"] + part * box["height"]) for box in boxes],
        )
        for part in (0.27, 0.73)
    )
    # Head 2 is orange, head 3 is green.
    assert [rgb[0] > rgb[1] + 80 for rgb in upper] == [j == 9 for j in range(KEYS)]
    assert [rgb[1] > rgb[0] + 80 for rgb in lower] == [j == 9 for j in range(KEYS)]


def test_all_lines_are_drawn_and_hovering_a_key_lists_its_queries(widgets: Widgets) -> None:
    weights = random_weights()
    show(widgets, weights)
    button(widgets, "All lines").click()
    assert widgets.events()[-1] == ["pick", {"query": None, "key": None}]
    expect(button(widgets, "All lines")).to_have_attribute("aria-pressed", "true")
    visible = int(np.sum((levels(weights[1, 2]) / 254.0) ** 1.4 > 0.004))
    expect(root(widgets)).to_have_attribute("data-lines", str(visible))
    keys(widgets).nth(6).hover()
    column = weights[1, 2, :, 6]
    most = ", ".join(f"q{i} {percent(column[i])}" for i in np.argsort(column)[::-1][:3])
    expect(words(widgets)).to_have_text(f"k6 is attended to most by {most}")
    keys(widgets).nth(6).click()
    assert widgets.events()[-1] == ["pick", {"query": int(column.argmax()), "key": 6}]
    button(widgets, "All lines").click()
    button(widgets, "All lines").click()
    assert widgets.events()[-1] == ["pick", {"query": int(column.argmax()), "key": 6}]


def test_keyboard_selects_tokens_and_escape_returns_to_the_pinned_one(widgets: Widgets) -> None:
    weights = random_weights()
    show(widgets, weights)
    page, row = widgets.page, weights[1, 2]
    page.keyboard.press("Tab")
    expect(button(widgets, "3")).to_be_focused()
    page.keyboard.press("End")
    expect(button(widgets, "5")).to_be_focused()
    for _ in range(3):  # past Several and All lines to the query column
        page.keyboard.press("Tab")
    expect(queries(widgets).nth(4)).to_be_focused()
    page.keyboard.press("ArrowDown")
    assert numbers(widgets) == printed_numbers(row[5])
    page.keyboard.press("Escape")
    assert numbers(widgets) == printed_numbers(row[4])
    for key in ("ArrowDown", "Enter", "ArrowRight"):
        page.keyboard.press(key)
    assert widgets.events()[-1] == ["pick", {"query": 6, "key": None}]
    expect(keys(widgets).nth(6)).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press(" ")
    assert widgets.events()[-1] == ["pick", {"query": 6, "key": 0}]
    page.keyboard.press("ArrowLeft")
    expect(queries(widgets).nth(0)).to_be_focused()


# The matrix


def cells(widgets: Widgets, head: int = 3) -> Locator:
    return widgets.page.get_by_role("application", name=f"Layer 2, head {head},")


def middle(widgets: Widgets, query: int, key: int) -> Position:
    """Return the centre of a cell, relative to the corner of the matrix."""
    box = box_of(cells(widgets))
    return {"x": (key + 0.5) * box["width"] / KEYS, "y": (query + 0.5) * box["height"] / QUERIES}


def colours(widgets: Widgets, places: Sequence[tuple[int, int]], right: int = 0) -> list[list[float]]:
    """Return the colours at the centres of cells, or `right` pixels to their right."""
    picture, box = box_of(widgets.page.locator(".frame canvas").first), box_of(cells(widgets))
    x, y = box["x"] - picture["x"] + right, box["y"] - picture["y"]
    wide, high = box["width"] / KEYS, box["height"] / QUERIES
    points = [(x + (key + 0.5) * wide, y + (query + 0.5) * high) for query, key in places]
    return widgets.pixels("head_view", points)


def test_masked_cell_is_hatched_and_labelled(widgets: Widgets) -> None:
    weights = random_weights()
    drawn = levels(weights).reshape(-1, QUERIES, KEYS)
    weights[1, 2, 0, 1:], drawn[:, 0, 1:] = np.nan, 255
    with np.errstate(invalid="ignore"):
        show(widgets, weights, "matrix", drawn=drawn, query=None)
    cells(widgets).hover(position=middle(widgets, 0, 3))
    expect(words(widgets)).to_have_text("q0 → k3 masked")
    assert len({tuple(*colours(widgets, [(0, 3)], step)) for step in range(8)}) > 1  # stripes


def test_hovering_shows_exact_numbers_and_a_click_pins_the_pair(widgets: Widgets) -> None:
    weights = random_weights()
    show(widgets, weights, "matrix", heads=(1, 2, 3))
    titles = [f"Layer 2 · Head {head}" for head in (1, 2, 3)]
    assert widgets.page.locator(".panel-title").all_inner_texts() == titles
    for query, key in ((0, 0), (6, 10), (2, 7)):
        cells(widgets).hover(position=middle(widgets, query, key))
        numbers_text = ", ".join(
            f"head {head} {percent(weights[1, head - 1, query, key])}" for head in (1, 2, 3)
        )
        expect(words(widgets)).to_have_text(f"q{query} → k{key}: {numbers_text}")
        tip = f"q{query} → k{key} {percent(weights[1, 2, query, key])}"
        expect(widgets.page.locator(".tip")).to_have_text(tip)
    cells(widgets).click(position=middle(widgets, 2, 7))
    assert widgets.events()[-1] == ["pick", {"query": 2, "key": 7}]
    tops = [box_of(cells(widgets, head))["y"] for head in (1, 2, 3)]
    assert tops[0] == tops[1] < tops[2]
    # Missing numbers are not estimated from colours.
    show(widgets, weights, "matrix", exact="not yet")
    cells(widgets).hover(position=middle(widgets, 3, 2))
    expect(words(widgets)).to_have_text("q3 → k2 …")


def test_keyboard_moves_between_cells_and_pins_one(widgets: Widgets) -> None:
    weights = random_weights()
    show(widgets, weights, "matrix", key=9)
    page = widgets.page
    for _ in range(3):  # past the chips and Several to the matrix
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
        expect(words(widgets)).to_have_text(f"q{query} → k{key} {percent(weights[1, 2, query, key])}")
    page.keyboard.press("Enter")
    assert widgets.events()[-1] == ["pick", {"query": 0, "key": 1}]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    expect(words(widgets)).to_have_text(f"q0 → k1 {percent(weights[1, 2, 0, 1])}")


# Files


def texts(svg: ET.Element) -> list[str]:
    return [text.text or "" for text in svg.iter(f"{SVG}text")]


@pytest.mark.parametrize("heads", [(2,), (2, 5)])
def test_lines_are_saved_with_tokens_numbers_and_caption(
    widgets: Widgets, tmp_path: Path, heads: tuple[int, ...]
) -> None:
    weights = random_weights(7, 7)
    show(widgets, weights, heads=heads, query=2)
    svg = svg_file(save(widgets.page, "SVG", tmp_path))
    written = texts(svg)
    assert written[0] == ("Layer 2 · Head 2" if len(heads) == 1 else "Layer 2 · Heads 2, 5")
    named = [text for text in written if re.fullmatch(r"[qk]\d", text)]
    assert named == [f"{side}{i}" for side in "qk" for i in range(7)]
    unit = "\N{NO-BREAK SPACE}%" if len(heads) == 1 else ""
    rows = [weights[1, head - 1, 2] for head in heads]
    expected = [f"{100 * row[key]:.0f}{unit}" for key in range(7) for row in rows]
    shown = [text for text in written[written.index("k0") :] if re.fullmatch(r"\d+(\s%)?", text)]
    assert [text for text in expected if text.split()[0] != "0"] == [
        text for text in shown if text.split()[0] != "0"
    ]
    assert " ".join(written).count(CAPTION.strip()) == 1
    assert "shared colour scale" in written
    width = float(str(svg.get("width")))
    assert all(float(str(text.get("x"))) < width for text in svg.iter(f"{SVG}text"))


def test_saved_matrix_has_a_shape_per_cell_and_hatches_masked_cells(widgets: Widgets, tmp_path: Path) -> None:
    drawn = np.round(np.linspace(0, 254, 49)).astype(np.uint8).reshape(7, 7)
    drawn[0, 1:] = 255
    drawn = np.tile(drawn, (LAYERS * HEADS, 1, 1))
    show(widgets, random_weights(7, 7), "matrix", drawn=drawn)
    svg = svg_file(save(widgets.page, "SVG", tmp_path))
    [group, _swatch] = [group for group in svg.iter(f"{SVG}g") if group.get("shape-rendering")]
    colours = [cell.get("fill") for cell in group]
    assert len(colours) == len(set(colours)) == 43
    assert colours[0] == "#ffffff"
    assert [pattern.get("id") for pattern in svg.iter(f"{SVG}pattern")] == ["masked"]
    assert len([cell for cell in svg.iter(f"{SVG}rect") if cell.get("fill") == "url(#masked)"]) == 2
    assert {"← from (query)", "to (key) →"} <= set(texts(svg))
    show(widgets, random_weights(131, 131), "matrix")  # a large matrix is saved as one image
    path = save(widgets.page, "SVG", tmp_path)
    [image] = svg_file(path).iter(f"{SVG}image")
    assert str(image.get("href")).startswith("data:image/png;base64,")
    assert path.stat().st_size < 200_000
