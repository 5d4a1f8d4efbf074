"""The head view's lines: which head, which token, and every number beside it."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Locator, Page, ViewportSize, expect

from tests.browser.visit import DESKTOP, PHONE, axe
from tests.browser.widgets import Widgets, levels

LAYERS, HEADS, QUERIES, KEYS = 2, 5, 7, 11


@pytest.fixture
def widgets(page: Page) -> Widgets:
    return Widgets.on(page)


def random_weights(queries: int = QUERIES, keys: int = KEYS, seed: int = 0) -> NDArray[np.float32]:
    """[layer, head, query, key]; every row sums to 1, as after a softmax."""
    scores = np.exp(2 * np.random.default_rng(seed).standard_normal((LAYERS, HEADS, queries, keys)))
    return np.asarray(scores / scores.sum(-1, keepdims=True), np.float32)


def tokens(name: str, count: int) -> list[dict[str, Any]]:
    return [
        {"label": f"{name}{i}", "name": f"{name}{i}", "title": f"token {i + 1}", "special": i == 0}
        for i in range(count)
    ]


def publish(
    widgets: Widgets, weights: NDArray[np.float32], layer: int = 2, heads: tuple[int, ...] = (3,)
) -> dict[str, str]:
    """All pixels, and the exact numbers of these heads."""
    flat = levels(weights).reshape(-1, *weights.shape[2:])
    everywhere = [[at + 1, head + 1] for at in range(LAYERS) for head in range(HEADS)]
    return {
        "pixels": widgets.publish("pixels", {"pixels": flat}, heads=everywhere),
        "exact": widgets.publish(
            "exact",
            {"values": weights[layer - 1, [head - 1 for head in heads]]},
            heads=[[layer, head] for head in heads],
        ),
    }


def message(ids: dict[str, str], queries: int = QUERIES, keys: int = KEYS, **changes: Any) -> dict[str, Any]:
    return {
        **ids,
        "view": "lines",
        "layer": 2,
        "heads": [3],
        "heads_total": HEADS,
        "query_tokens": tokens("q", queries),
        "key_tokens": tokens("k", keys),
        "query": 4,
        "key": None,
        "kind": "sequential",
        "unit": "percent",
        "note": "",
        "caption": "",
        "filename": "f",
        **changes,
    }


def column(widgets: Widgets, name: str) -> Locator:
    return widgets.page.get_by_role("group", name=name).get_by_role("button")


def queries(widgets: Widgets) -> Locator:
    return column(widgets, "query (looks)")


def keys(widgets: Widgets) -> Locator:
    return column(widgets, "key (is looked at)")


def chip(widgets: Widgets, head: int) -> Locator:
    return widgets.page.get_by_role("button", name=str(head), exact=True)


def printed(row: NDArray[np.float32]) -> list[str]:
    """What stands beside each key: whole percents, nothing below a half."""
    return [f"{100 * float(value):.0f} %" if value >= 0.005 else "" for value in row]


def numbers(widgets: Widgets) -> list[str]:
    return [number.strip() for number in widgets.page.locator(".keys .numbers").all_inner_texts()]


def words(widgets: Widgets) -> Locator:
    return widgets.page.locator("p[aria-live]")


def root(widgets: Widgets) -> Locator:
    return widgets.page.locator("[data-view]")


def largest(row: NDArray[np.float32], count: int = 3) -> str:
    return ", ".join(f"k{j} {100 * float(row[j]):.1f} %" for j in np.argsort(row)[::-1][:count])


def test_the_pinned_query_has_its_row_and_another_has_its_own_while_pointed_at(widgets: Widgets) -> None:
    weights = random_weights()
    widgets.mount("head_view", message(publish(widgets, weights)))
    row = weights[1, 2]
    assert numbers(widgets) == printed(row[4])
    expect(words(widgets)).to_have_text(f"q4 looks at {largest(row[4])}")
    queries(widgets).nth(1).hover()
    expect(words(widgets)).to_have_text(f"q1 looks at {largest(row[1])}")
    assert numbers(widgets) == printed(row[1])
    keys(widgets).nth(5).hover()
    expect(words(widgets)).to_have_text(f"q4 → k5 {100 * float(row[4, 5]):.1f} %")
    widgets.page.mouse.move(350, 500)
    expect(words(widgets)).to_have_text(f"q4 looks at {largest(row[4])}")
    assert numbers(widgets) == printed(row[4])
    assert [event for event, _ in widgets.said() if event != "attnviz:data"] == []


@pytest.mark.parametrize(
    ("unit", "value", "beside", "in_words"),
    [
        ("percent", 0.6584, "66 %", "65.8 %"),
        ("percent", 0.0049, "", "0.5 %"),
        ("score", -3.14159, "−3.14", "−3.14"),
        ("score", 0.0, "0.00", "0.00"),
        ("signed percent", 0.1234, "+12 pp", "+12.3 pp"),
        ("signed percent", -0.4, "−40 pp", "−40.0 pp"),
    ],
)
def test_a_number_is_written_in_its_unit(
    widgets: Widgets, unit: str, value: float, beside: str, in_words: str
) -> None:
    weights = random_weights()
    weights[1, 2, 4, 6] = value
    kind = "sequential" if unit == "percent" else "diverging"
    ids = publish(widgets, random_weights())
    ids["exact"] = widgets.publish("exact", {"values": weights[1, [2]]}, heads=[[2, 3]])
    widgets.mount("head_view", message(ids, unit=unit, kind=kind))
    assert numbers(widgets)[6] == beside
    keys(widgets).nth(6).hover()
    expect(words(widgets)).to_have_text(f"q4 → k6 {in_words}")


def test_a_click_pins_a_query_keeps_the_key_and_a_key_keeps_the_query(widgets: Widgets) -> None:
    widgets.mount("head_view", message(publish(widgets, random_weights()), key=8))
    expect(keys(widgets).nth(8)).to_have_attribute("aria-pressed", "true")
    queries(widgets).nth(2).click()
    expect(queries(widgets).nth(2)).to_have_attribute("aria-pressed", "true")
    keys(widgets).nth(10).click()
    expect(keys(widgets).nth(8)).to_have_attribute("aria-pressed", "false")
    assert widgets.said()[-2:] == [["pick", {"query": 2, "key": 8}], ["pick", {"query": 2, "key": 10}]]


def test_another_head_is_drawn_at_once_and_its_numbers_stay_blank_until_they_come(widgets: Widgets) -> None:
    weights = random_weights()
    ids = publish(widgets, weights)
    widgets.mount("head_view", message(ids))
    expect(root(widgets)).to_have_attribute("data-head", "2-3")
    chip(widgets, 5).click()
    assert widgets.said()[-2:] == [
        ["attnviz:heads", {"layer": 2, "heads": [5]}],
        ["heads", {"layer": 2, "heads": [5]}],
    ]
    expect(root(widgets)).to_have_attribute("data-head", "2-5")
    assert set(numbers(widgets)) == {""}
    ids = publish(widgets, weights, heads=(5,))
    widgets.show("head_view", message(ids, heads=[5]))
    assert numbers(widgets) == printed(weights[1, 4, 4])
    widgets.page.evaluate(
        "window.dispatchEvent(new CustomEvent('attnviz:heads', { detail: { layer: 1, heads: [2] } }))"
    )
    expect(root(widgets)).to_have_attribute("data-head", "1-2")
    assert set(numbers(widgets)) == {""}


def test_it_waits_for_pixels_and_shows_nothing_that_belongs_to_other_tokens(widgets: Widgets) -> None:
    weights = random_weights()
    ids = publish(widgets, weights)
    widgets.mount("head_view", message({"pixels": "later", "exact": "later"}))
    expect(root(widgets)).to_have_attribute("data-waiting", "")
    widgets.show("head_view", message(ids, keys=KEYS + 1))
    expect(root(widgets)).to_have_attribute("data-waiting", "")
    assert set(numbers(widgets)) == {""}
    widgets.show("head_view", message(ids))
    expect(root(widgets)).not_to_have_attribute("data-waiting", "")
    expect(widgets.page.locator(".keys .numbers")).to_have_text(printed(weights[1, 2, 4]))


def test_an_answer_to_an_earlier_click_does_not_take_back_a_later_one(widgets: Widgets) -> None:
    ids = publish(widgets, random_weights())
    widgets.mount("head_view", message(ids))
    chip(widgets, 1).click()
    chip(widgets, 4).click()
    widgets.show("head_view", message(ids, heads=[1]))
    expect(root(widgets)).to_have_attribute("data-head", "2-4")
    widgets.show("head_view", message(ids, heads=[4]))
    widgets.show("head_view", message(ids, heads=[1]))
    expect(root(widgets)).to_have_attribute("data-head", "2-1")


def test_several_heads_are_added_and_taken_away_and_each_has_its_numbers(widgets: Widgets) -> None:
    weights = random_weights()
    widgets.mount("head_view", message(publish(widgets, weights)))
    several = widgets.page.get_by_role("button", name="Several")
    several.click()
    expect(several).to_have_attribute("aria-pressed", "true")
    chip(widgets, 3).click()  # the only one stays
    chip(widgets, 1).click()
    assert widgets.said()[-1] == ["heads", {"layer": 2, "heads": [1, 3]}]
    widgets.show("head_view", message(publish(widgets, weights, heads=(1, 3)), heads=[1, 3]))
    shown = [text.split() for text in numbers(widgets)]
    first, second = (printed(weights[1, head, 4]) for head in (0, 2))
    expected = [
        [a.removesuffix(" %") or "·", b.removesuffix(" %") or "·"] for a, b in zip(first, second, strict=True)
    ]
    assert [pair or ["·", "·"] for pair in shown] == expected
    expect(words(widgets)).to_have_text(
        f"q4 looks in head 1 at {largest(weights[1, 0, 4], 2)}; in head 3 at {largest(weights[1, 2, 4], 2)}"
    )
    chip(widgets, 3).click()
    assert widgets.said()[-1] == ["heads", {"layer": 2, "heads": [1]}]


def test_lines_end_where_the_query_looks_and_nowhere_else(widgets: Widgets) -> None:
    weights = np.zeros((LAYERS, HEADS, QUERIES, KEYS), np.float32)
    weights[..., 9] = 1
    widgets.mount("head_view", message(publish(widgets, weights)))
    canvas = widgets.page.locator("canvas.curves").bounding_box()
    boxes = [key.bounding_box() for key in keys(widgets).all()]
    assert canvas
    landing = [
        widgets.pixel("head_view", box["x"] - canvas["x"] - 3, box["y"] + box["height"] / 2 - canvas["y"])
        for box in boxes
        if box
    ]
    assert [max(rgb) - min(rgb) > 60 for rgb in landing] == [j == 9 for j in range(KEYS)]
    expect(root(widgets)).to_have_attribute("data-lines", "1")


def test_two_heads_that_look_at_the_same_token_are_both_seen(widgets: Widgets) -> None:
    weights = np.zeros((LAYERS, HEADS, QUERIES, KEYS), np.float32)
    weights[..., 9] = 1
    widgets.mount("head_view", message(publish(widgets, weights, heads=(2, 3)), heads=[2, 3]))
    canvas, box = widgets.page.locator("canvas.curves").bounding_box(), keys(widgets).nth(9).bounding_box()
    assert canvas
    assert box
    x, y = box["x"] - canvas["x"] - 2, box["y"] - canvas["y"]
    upper, lower = (widgets.pixel("head_view", x, y + share * box["height"]) for share in (0.27, 0.73))
    assert upper[0] > upper[1] + 80  # head 2 is orange, head 3 is green
    assert lower[1] > lower[0] + 80


def test_without_a_pinned_query_all_lines_are_drawn_and_a_key_shows_who_looks_at_it(widgets: Widgets) -> None:
    weights = random_weights()
    widgets.mount("head_view", message(publish(widgets, weights)))
    all_lines = widgets.page.get_by_role("button", name="All lines")
    all_lines.click()
    assert widgets.said()[-1] == ["pick", {"query": None, "key": None}]
    expect(all_lines).to_have_attribute("aria-pressed", "true")
    visible = int(np.sum((levels(weights[1, 2]) / 254.0) ** 1.4 > 0.004))
    expect(root(widgets)).to_have_attribute("data-lines", str(visible))
    keys(widgets).nth(6).hover()
    by = weights[1, 2, :, 6]
    most = ", ".join(f"q{i} {100 * float(by[i]):.1f} %" for i in np.argsort(by)[::-1][:3])
    expect(words(widgets)).to_have_text(f"k6 is looked at most by {most}")
    keys(widgets).nth(6).click()
    assert widgets.said()[-1] == ["pick", {"query": int(by.argmax()), "key": 6}]
    all_lines.click()
    all_lines.click()
    assert widgets.said()[-1] == ["pick", {"query": int(by.argmax()), "key": 6}]


def test_too_many_lines_are_thinned_out_and_the_number_kept_is_told(widgets: Widgets) -> None:
    weights = random_weights(61, 61)
    ids = publish(widgets, weights)
    widgets.mount("head_view", message(ids, 61, 61, query=None))
    expect(root(widgets)).to_have_attribute("data-lines", "600")
    expect(words(widgets)).to_contain_text("The 600 strongest of 3,721 lines.")


def test_the_longest_text_scrolls_in_a_box_that_the_keyboard_reaches(widgets: Widgets) -> None:
    tall = random_weights(512, 512)[:1, :1]
    ids = {
        "pixels": widgets.publish("pixels", {"pixels": levels(tall)[0]}, heads=[[2, 3]]),
        "exact": widgets.publish("exact", {"values": tall[0]}, heads=[[2, 3]]),
    }
    widgets.mount("head_view", message(ids, 512, 512, query=511))
    box = widgets.page.get_by_role("region", name="All tokens")
    box.focus()
    expect(box).to_be_focused()
    height = box.bounding_box()
    assert height
    assert height["height"] <= 640
    queries(widgets).nth(500).hover()
    expect(words(widgets)).to_contain_text(f"q500 looks at {largest(tall[0, 0, 500])}")
    expect(root(widgets)).to_have_attribute("data-lines", "24")


def test_tokens_are_reached_by_keyboard_and_escape_returns_to_the_pinned_one(widgets: Widgets) -> None:
    weights = random_weights()
    widgets.mount("head_view", message(publish(widgets, weights)))
    page, row = widgets.page, weights[1, 2]
    page.keyboard.press("Tab")
    expect(chip(widgets, 3)).to_be_focused()
    page.keyboard.press("End")
    expect(chip(widgets, 5)).to_be_focused()
    for _ in range(5):  # Several, All lines, PNG, SVG, the query column
        page.keyboard.press("Tab")
    expect(queries(widgets).nth(4)).to_be_focused()
    page.keyboard.press("ArrowDown")
    assert numbers(widgets) == printed(row[5])
    page.keyboard.press("Escape")
    assert numbers(widgets) == printed(row[4])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert widgets.said()[-1] == ["pick", {"query": 6, "key": None}]
    page.keyboard.press("ArrowRight")
    expect(keys(widgets).nth(6)).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press(" ")
    assert widgets.said()[-1] == ["pick", {"query": 6, "key": 0}]
    page.keyboard.press("ArrowLeft")
    expect(queries(widgets).nth(0)).to_be_focused()


def test_a_token_is_text_in_its_own_direction_whatever_it_says(widgets: Widgets) -> None:
    markup = '<img src=x onerror="window.said.push(1)">'
    labels = [markup, "שלום", "![x](http://nowhere.invalid/)", "a\u0301", "x" * 90]
    shown = [{"label": label, "name": label, "title": label, "special": False} for label in labels]
    weights = random_weights(5, 5)
    ids = publish(widgets, weights)
    widgets.mount("head_view", message(ids, query_tokens=shown, key_tokens=shown, query=0))
    assert queries(widgets).all_inner_texts() == labels
    expect(words(widgets)).to_contain_text(f"{markup} looks at")
    assert words(widgets).locator("bdi").count() == 4
    assert widgets.page.locator("img").count() == 0
    expect(queries(widgets).nth(4)).to_have_attribute("title", "x" * 90)
    assert widgets.page.locator(".label").nth(1).evaluate("it => getComputedStyle(it).direction") == "rtl"
    assert widgets.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE])
@pytest.mark.parametrize("heads", [(3,), (1, 2, 3, 4, 5)])
def test_no_accessibility_rule_is_broken(
    page: Page, theme: str, viewport: ViewportSize, heads: tuple[int, ...]
) -> None:
    widgets = Widgets.on(page, theme)
    ids = publish(widgets, random_weights(), heads=heads)
    width = min(700, viewport["width"] - 64)
    widgets.mount("head_view", message(ids, heads=list(heads), heads_total=12, key=2), width)
    keys(widgets).nth(3).focus()
    assert axe(widgets.page) == []
    assert widgets.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
