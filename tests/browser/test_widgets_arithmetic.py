"""The widget "Why this number?" by itself: what it prints is what it was given, and adds up as printed."""

import itertools
import math
import re
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from attnviz.analysis import arithmetic as why
from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.app.explore import why as explained
from attnviz.trace import Floats, Token
from tests.browser.widgets import Widgets
from tests.formula import attending

# What every marked part of the widget says.
_TEXTS = """
() => {
    const parts = [...window.mounted.arithmetic.parentElement.querySelectorAll("[data-part]")];
    return Object.fromEntries(parts.map(({ dataset: { part } }) => [part, parts
        .filter((one) => one.dataset.part === part).map((one) => one.innerText ?? one.textContent)]));
}
"""


def show(widgets: Widgets, message: dict[str, Any]) -> Page:
    widgets.mount("arithmetic", message)
    return widgets.page


def message(
    seed: int = 0,
    d_head: int = 5,
    tokens: int = 7,
    position: int = 3,
    scale: float | None = None,
    with_bias: bool = False,
    cap: float | None = None,
    sink: float | None = None,
    masked_from: int | None = None,
    special: int = 0,
) -> dict[str, Any]:
    """What Explore sends for random vectors; the first `special` tokens are hidden."""
    random = np.random.default_rng(seed)

    def made(*shape: int) -> Floats:
        return random.standard_normal((1, tokens, *shape)).astype(np.float32)

    names = [f"token{number}" for number in range(tokens)]
    read = tuple(Token(name, at, 7 * at, 7 * at + 6, at, at < special) for at, name in enumerate(names))
    block = attending(
        kind="encoder",
        layer=0,
        query_tokens=read,
        key_tokens=read,
        query=np.float32(2.0 ** random.integers(-4, 4)) * made(d_head),
        key=made(d_head),
        value=made(d_head),
        mask=np.tile(np.arange(tokens) < (masked_from or tokens), (tokens, 1)),
        scale=1 / math.sqrt(d_head) if scale is None else scale,
        bias=made(tokens) if with_bias else None,
        cap=cap,
        sinks=None if sink is None else np.array([sink], np.float32),
    )
    shown = DisplayTokens(read, " ".join(names), hide_special=special > 0)
    worked = why.why(block, 0, tokens - 1 - special, position - special, shown)
    return explained.message(worked, block, shown)


def part(where: Page | Locator, name: str) -> Locator:
    return where.locator(f"[data-part={name}]")


def as_typed(text: str) -> str:
    """As printed, with a keyboard's minus sign and without brackets, percent signs and filling spaces."""
    return re.sub(r"[\s()%√]", "", text).replace("−", "-")


def as_printed(number: float, printed: str) -> str:
    """The number with as many decimals as `printed` has; −0.00 is 0.00."""
    decimals = len(printed.partition(".")[2])
    return f"{round(number, decimals) + 0.0:.{decimals}f}"


def agrees(number: float, printed: str) -> bool:
    if printed.startswith(("<", ">")):
        return number < float(printed[1:]) if printed[0] == "<" else number > float(printed[1:])
    return as_printed(number, printed) == printed


CASES: list[dict[str, Any]] = [
    {"d_head": 5},
    {"d_head": 32, "tokens": 15},
    {"d_head": 128, "tokens": 11, "special": 2},
    {"d_head": 7, "scale": 1.0, "with_bias": True},
    {"d_head": 7, "cap": 1.5},
    {"d_head": 5, "with_bias": True, "cap": 50.0},
    {"d_head": 7, "sink": 0.5},
    {"d_head": 7, "sink": 4.0, "masked_from": 5, "special": 1},
    {"d_head": 7, "with_bias": True, "special": 1},
    {"d_head": 3, "scale": 0.3217},
    {"d_head": 13, "masked_from": 5, "position": 4},
]


def test_every_line_gives_its_result_from_the_numbers_as_printed(widgets: Widgets) -> None:
    for case, seed in itertools.product(CASES, range(12)):
        page = show(widgets, given := message(seed, **case))
        parts = page.evaluate(_TEXTS)
        paper = "√" in parts["scale"][0]
        printed = {name: [as_typed(text) for text in texts] for name, texts in parts.items()}
        text = {name: texts[0] for name, texts in printed.items()}

        def value(name: str, text: dict[str, str] = text) -> float:
            return float(text[name].removeprefix("<"))

        product = float(text["dimension-query"]) * float(text["dimension-key"])
        assert agrees(product, text["dimension-product"])
        assert agrees(value("positive-sum") - value("negative-sum"), text["dot-product"])
        scale = 1 / math.sqrt(value("scale")) if paper else value("scale")
        bias = math.copysign(value("bias"), given["bias"]) if given["bias"] is not None else 0
        assert agrees(value("scaled-dot-product") * scale + bias, text.get("scaled", text["score"]))
        if cap := given["cap"]:
            assert agrees(cap * math.tanh(value("scaled") / cap), text["score"])
        assert agrees(math.exp(value("power-score") - value("row-maximum")), text["exponential"])
        assert agrees(100 * value("exponential") / value("divisor"), text["weight"])
        scores = [float(score.replace("∞", "inf")) for score in printed["row-score"]]
        scores += [float(score) for score in printed.get("sink-score", [])]
        assert len(scores) == case.get("tokens", 7) + ("sink" in case)
        exponentials, weights = (
            printed[f"row-{column}"] + printed.get(f"sink-{column}", [])
            for column in ("exponential", "weight")
        )
        for score, exponential in zip(scores, exponentials, strict=True):
            assert agrees(math.exp(score - max(scores)), exponential)
        for share, weight in zip(exponentials, weights, strict=True):
            assert agrees(100 * float(share.removeprefix("<")) / value("row-sum"), weight)
        if given["last_steps"]:
            weight, hidden, result = printed["last-step"]
            assert agrees(float(weight) / (1 - float(hidden)), result)


def test_the_strips_are_one_tab_stop_and_arrows_go_through_the_dimensions(widgets: Widgets) -> None:
    page = show(widgets, given := message(d_head=5))
    slider = page.get_by_role("slider", name="Dimension")
    strongest = int(np.abs(given["products"]).argmax()) + 1
    expect(slider).to_have_attribute("aria-valuenow", str(strongest))
    slider.press("Home")
    slider.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuenow", "2")
    expect(slider).to_have_attribute("aria-valuetext", re.compile(r"^dimension 2: .* × .* = "))
    assert float(str(part(page, "dimension-key").get_attribute("data-value"))) == given["key_vector"][1]


def test_a_row_is_picked_by_mouse_and_by_keyboard_and_a_hidden_one_is_not(widgets: Widgets) -> None:
    page = show(widgets, message(special=1))
    picked_already, other, hidden = 3, 5, 0
    for row in (picked_already, other, hidden):
        part(page, "row").nth(row).click()
    page.get_by_role("button", name=re.compile("^token3")).press("ArrowUp")
    page.keyboard.press("Enter")
    assert widgets.said() == [["pick", {"key": 5}], ["pick", {"key": 2}]]
    show(widgets, message(special=1, position=2))
    expect(page.get_by_role("button", name=re.compile("^token2"))).to_be_focused()


def test_a_long_row_shows_the_largest_weights_and_sums_up_the_rest(widgets: Widgets) -> None:
    page = show(widgets, message(tokens=13))
    assert part(page, "row").locator("bdi").all_inner_texts() == [f"token{i}" for i in range(13)]

    least = int(np.argmin([cell["weight"] for cell in message(tokens=41)["row"]]))
    show(widgets, given := message(tokens=41, position=least))
    weights = [cell["weight"] for cell in given["row"]]
    shown = [int(str(row.get_attribute("data-index"))) for row in part(page, "row").all()]
    assert shown == sorted({*np.argsort(weights)[::-1][:12].tolist(), least})
    expect(part(page, "rest")).to_contain_text("28 more")
    rest = float(str(part(page, "rest-weight").get_attribute("data-value")))
    assert rest == pytest.approx(sum(weight for i, weight in enumerate(weights) if i not in shown))


def test_a_masked_cell_says_so_and_weighs_nothing(widgets: Widgets) -> None:
    page = show(widgets, message(masked_from=5, position=6))
    expect(page.get_by_role("heading", level=3)).to_contain_text("not attend to")
    expect(page.get_by_text("masked: −∞")).to_be_visible()
    texts = page.evaluate(_TEXTS)
    assert [as_typed(text) for text in [*texts["row-weight"][5:], *texts["weight"]]] == ["0", "0", "0"]
