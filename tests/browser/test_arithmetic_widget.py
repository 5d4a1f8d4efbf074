"""The widget "Why this number?" by itself: what it prints is what it was given, and adds up as printed."""

import math
import re
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.widgets import alone


@pytest.fixture
def widget(page: Page) -> Page:
    """An empty page that holds the widget and nothing else; `show` gives it a message."""
    return alone(page, "arithmetic")


def show(page: Page, message: dict[str, Any]) -> None:
    page.evaluate("message => window.show(message)", message)


def message(
    seed: int = 0,
    d_head: int = 5,
    tokens: int = 7,
    position: int = 3,
    scale: float | None = None,
    with_bias: bool = False,
    masked_from: int | None = None,
    special: int = 0,
) -> dict[str, Any]:
    """The message for random vectors, in float32 as a model would; the first `special` tokens are hidden."""
    random = np.random.default_rng(seed)
    size = 2.0 ** random.integers(-4, 4)
    query = (size * random.standard_normal(d_head)).astype(np.float32)
    keys = random.standard_normal((tokens, d_head)).astype(np.float32)
    scale = 1 / math.sqrt(d_head) if scale is None else scale
    bias = random.standard_normal(tokens).astype(np.float32) if with_bias else np.zeros(tokens, np.float32)
    open_cells = np.arange(tokens) < (tokens if masked_from is None else masked_from)
    dot_products = keys @ query
    scores = dot_products * np.float32(scale) + bias
    largest = scores[open_cells].max()
    exponentials = np.where(open_cells, np.exp(scores - largest), np.float32(0))
    weights = exponentials / exponentials.sum()
    weight, hidden = float(weights[position]), float(weights[:special].sum())
    result = weight / (1 - hidden)
    rescaled = [
        {"value": weight, "as": "percent"},
        {"value": hidden, "as": "number"},
        {"value": result, "as": "percent"},
    ]
    return {
        "query_label": "it",
        "key_label": f"token{position}",
        "query_vector": query.tolist(),
        "key_vector": keys[position].tolist(),
        "products": (query * keys[position]).tolist(),
        "dot_product": float(dot_products[position]),
        "d_head": d_head,
        "scale": scale,
        "bias": float(bias[position]) if with_bias else None,
        "score": float(scores[position]),
        "masked": not open_cells[position],
        "position": position,
        "row": [
            {
                "label": f"token{i}",
                "score": float(scores[i]),
                "exponential": float(exponentials[i]),
                "weight": float(weights[i]),
                "masked": not open_cells[i],
                "hidden": i < special,
            }
            for i in range(tokens)
        ],
        "row_maximum": float(largest),
        "row_sum": float(exponentials.sum()),
        "weight": weight,
        "last_steps": [[rescaled[0], " ÷ (1 − ", rescaled[1], ") = ", rescaled[2]]] if special else [],
        "result": result,
    }


def part(where: Page | Locator, name: str) -> Locator:
    return where.locator(f"[data-part={name}]")


def text(where: Page | Locator, name: str) -> str:
    """As printed, with a keyboard's minus sign and without brackets, percent signs and filling spaces."""
    return re.sub(r"[\s()%√]", "", part(where, name).inner_text()).replace("−", "-")


def value(where: Page | Locator, name: str) -> float:
    return float(text(where, name))


def as_printed(number: float, printed: str) -> str:
    """The number with as many decimals as `printed` has; −0.00 is 0.00."""
    decimals = len(printed.partition(".")[2])
    return f"{round(number, decimals) + 0.0:.{decimals}f}"


def agrees(number: float, printed: str) -> bool:
    if printed.startswith(("<", ">")):
        return number < float(printed[1:]) if printed[0] == "<" else number > float(printed[1:])
    return as_printed(number, printed) == printed


CASES = [
    {"d_head": 5},
    {"d_head": 32, "tokens": 15},
    {"d_head": 128, "tokens": 11, "special": 2},
    {"d_head": 7, "scale": 1.0, "with_bias": True},
    {"d_head": 7, "with_bias": True, "special": 1},
    {"d_head": 3, "scale": 0.3217},
    {"d_head": 13, "masked_from": 5, "position": 4},
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_line_gives_its_result_from_the_numbers_as_printed(widget: Page, case: dict[str, Any]) -> None:
    for seed in range(12):
        show(widget, given := message(seed, **case))
        products = [text(widget, f"dimension-{role}") for role in ("query", "key", "product")]
        assert agrees(float(products[0]) * float(products[1]), products[2])
        assert agrees(
            value(widget, "positive-sum") - value(widget, "negative-sum"), text(widget, "dot-product")
        )
        paper = "√" in part(widget, "scale").inner_text()
        scale = 1 / math.sqrt(value(widget, "scale")) if paper else value(widget, "scale")
        bias = math.copysign(value(widget, "bias"), given["bias"]) if given["bias"] is not None else 0
        assert agrees(value(widget, "scaled-dot-product") * scale + bias, text(widget, "score"))
        assert agrees(
            math.exp(value(widget, "power-score") - value(widget, "row-maximum")), text(widget, "exponential")
        )
        exponential = text(widget, "exponential").removeprefix("<")
        assert agrees(100 * float(exponential) / value(widget, "divisor"), text(widget, "weight"))
        total = value(widget, "row-sum")
        for row in part(widget, "row").all():
            share = float(text(row, "row-exponential").removeprefix("<"))
            assert agrees(100 * share / total, text(row, "row-weight"))
        if given["last_steps"]:
            weight, hidden, result = (
                re.sub(r"[\s%]", "", shown) for shown in part(widget, "last-step").all_inner_texts()
            )
            assert agrees(float(weight) / (1 - float(hidden)), result)


def test_every_number_stands_unrounded_beside_its_text(widget: Page) -> None:
    show(widget, given := message(d_head=7, tokens=11, with_bias=True))
    widget.get_by_text("Show all 7 numbers").click()

    def unrounded(name: str) -> list[float]:
        return [float(str(shown.get_attribute("data-value"))) for shown in part(widget, name).all()]

    for strip, name in (("query", "query_vector"), ("key", "key_vector"), ("products", "products")):
        bars = part(widget, strip).locator("rect")
        assert bars.evaluate_all("all => all.map(one => Number(one.dataset.value))") == given[name]
        assert unrounded(f"all-{strip.removesuffix('s')}") == given[name]
    for column in ("score", "exponential", "weight"):
        assert unrounded(f"row-{column}") == [cell[column] for cell in given["row"]]
    for name in ("dot-product", "scale", "bias", "score", "weight", "row-sum", "row-maximum", "result"):
        assert unrounded(name) == [given[name.replace("-", "_")]]


def test_the_strips_are_one_tab_stop_and_arrows_go_through_the_dimensions(widget: Page) -> None:
    show(widget, given := message(d_head=5))
    slider = widget.get_by_role("slider", name="Dimension")
    strongest = int(np.abs(given["products"]).argmax()) + 1
    expect(slider).to_have_attribute("aria-valuenow", str(strongest))
    slider.press("Home")
    slider.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuenow", "2")
    expect(slider).to_have_attribute("aria-valuetext", re.compile(r"^dimension 2: .* × .* = "))
    assert float(str(part(widget, "dimension-key").get_attribute("data-value"))) == given["key_vector"][1]


def test_a_row_is_picked_by_mouse_and_by_keyboard_and_a_hidden_one_is_not(widget: Page) -> None:
    show(widget, message(special=1))
    picked_already, other, hidden = 3, 5, 0
    for row in (picked_already, other, hidden):
        part(widget, "row").nth(row).click()
    widget.get_by_role("button", name=re.compile("^token3")).press("ArrowUp")
    widget.keyboard.press("Enter")
    assert widget.evaluate("window.events") == [["pick", {"key": 5}], ["pick", {"key": 2}]]
    show(widget, message(special=1, position=2))
    expect(widget.get_by_role("button", name=re.compile("^token2"))).to_be_focused()


def test_rows_are_in_the_order_of_the_sentence_or_largest_first(widget: Page) -> None:
    show(widget, given := message(tokens=13))
    weights = [cell["weight"] for cell in given["row"]]
    labels = part(widget, "row").locator("bdi")
    assert labels.all_inner_texts() == [f"token{i}" for i in range(13)]
    widget.get_by_role("button", name="Largest first").click()
    assert labels.all_inner_texts() == [f"token{i}" for i in np.argsort(weights)[::-1]]


def test_a_long_row_shows_the_largest_and_the_sum_of_the_rest(widget: Page) -> None:
    given = message(tokens=41)
    least = int(np.argmin([cell["weight"] for cell in given["row"]]))
    show(widget, given := message(tokens=41, position=least))
    shown = {int(str(row.get_attribute("data-index"))) for row in part(widget, "row").all()}
    largest = np.argsort([cell["weight"] for cell in given["row"]])[::-1][:12]
    assert shown == {*largest.tolist(), least}
    expect(part(widget, "rest")).to_contain_text("28 more")
    rest = float(str(part(widget, "rest-weight").get_attribute("data-value")))
    assert rest == pytest.approx(sum(cell["weight"] for i, cell in enumerate(given["row"]) if i not in shown))
    widget.get_by_role("button", name="Show all 41 tokens").click()
    expect(part(widget, "row")).to_have_count(41)
    expect(part(widget, "rest")).to_have_count(0)


def test_a_masked_cell_says_so_and_weighs_nothing(widget: Page) -> None:
    show(widget, message(masked_from=5, position=6))
    expect(widget.get_by_role("heading", level=3)).to_contain_text("not look at")
    expect(widget.get_by_text("masked: −∞")).to_be_visible()
    assert [text(part(widget, "row").nth(i), "row-weight") for i in (5, 6)] == ["0", "0"]
    assert text(widget, "weight") == "0"


def test_a_token_is_text_whatever_it_says(widget: Page) -> None:
    markup = '<img src=x onerror="window.events.push(1)">'
    given = message()
    given["query_label"] = given["key_label"] = given["row"][3]["label"] = markup
    show(widget, given | {"note": markup})
    expect(widget.get_by_role("heading", level=3)).to_contain_text(markup)
    assert widget.locator("img").count() == 0
    assert widget.evaluate("window.events") == []
