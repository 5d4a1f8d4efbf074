"""The page about a block: its numbers are those of transformers' own BERT, and add up as they are printed."""

import math
import re
from collections.abc import Mapping
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.app.learn.block_reference import Array, Blocks, blocks, cosine
from tests.browser.server import Server
from tests.browser.visit import axe, visit, wait_idle

TIRED = "The dog did not cross the road as it was too tired."
IT = 9
NORM = ("sum", "sum-mean", "sum-variance", "gain", "offset")
STEPS = ("came_in", "attention", "first_sum", "attended", "feed_forward", "second_sum", "came_out")


def part(page: Page, name: str) -> Locator:
    return page.locator(f"[data-part={name}]")


def value(page: Page, name: str) -> float:
    """The unrounded number beside the printed one."""
    return float(str(part(page, name).get_attribute("data-value")))


def printed(page: Page, name: str) -> float:
    return float(re.sub(r"[()]", "", part(page, name).inner_text()).replace("−", "-"))


def close(number: float) -> object:
    return pytest.approx(number, abs=2e-4)


def check_facts(page: Page, vectors: Mapping[str, Array], names: tuple[str, ...]) -> None:
    """Length, mean and cosine of these vectors."""
    for name in names:
        vector = vectors[name]
        assert value(page, f"{name}-length") == close(math.sqrt(vector @ vector))
        assert value(page, f"{name}-mean") == close(vector.mean())
        if name != "came_in":
            assert value(page, f"{name}-cosine") == close(cosine(vector, vectors["came_in"]))


def check_dimension(page: Page, read: Blocks, layer: int, token: int, dimension: int) -> None:
    """All that is said of one dimension: the numbers, and that they add up as they are printed."""
    vectors = {name: matrix[token] for name, matrix in read.vectors[layer].items()}
    for name in STEPS:
        assert value(page, f"{name}-result") == close(vectors[name][dimension])
    for name, old, update in (
        ("first_sum", "came_in", "attention"),
        ("second_sum", "attended", "feed_forward"),
    ):
        assert value(page, f"{name}-old") == close(vectors[old][dimension])
        assert value(page, f"{name}-update") == close(vectors[update][dimension])
        total = printed(page, f"{name}-old") + printed(page, f"{name}-update")
        assert total == pytest.approx(printed(page, f"{name}-result"), abs=0.005001)
    for name, summed, norm in (
        ("attended", "first_sum", "attention.output.LayerNorm"),
        ("came_out", "second_sum", "output.LayerNorm"),
    ):
        assert value(page, f"{name}-sum") == close(vectors[summed][dimension])
        assert value(page, f"{name}-sum-mean") == close(vectors[summed].mean())
        assert value(page, f"{name}-sum-variance") == close(vectors[summed].var())
        assert value(page, f"{name}-gain") == close(read.parameters[layer][f"{norm}.weight"][dimension])
        assert value(page, f"{name}-offset") == close(read.parameters[layer][f"{norm}.bias"][dimension])
        shown = [printed(page, f"{name}-{number}") for number in NORM]
        found = (shown[0] - shown[1]) / math.sqrt(shown[2]) * shown[3] + shown[4]
        assert found == pytest.approx(printed(page, f"{name}-result"), abs=0.005001)


def check_neuron(page: Page, vectors: Mapping[str, Array], neuron: int) -> None:
    before, after = (vectors[name][neuron] for name in ("expanded", "activated"))
    assert value(page, "expanded-result") == close(before)
    assert value(page, "activated-result") == close(after)
    assert value(page, "activated-share") == close((1 + math.erf(before / math.sqrt(2))) / 2)
    product = printed(page, "activated-before") * printed(page, "activated-share")
    assert product == pytest.approx(printed(page, "activated-result"), abs=0.005001)


def test_a_walk_by_keyboard(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/block?layer=5")
    read = blocks(TIRED)
    vectors = {name: matrix[IT] for name, matrix in read.vectors[4].items()}
    check_facts(page, vectors, ("came_in",))
    expect(part(page, "attention")).to_be_hidden()
    page.get_by_role("button", name="1 The token comes in").press("ArrowRight")
    expect(page.get_by_role("button", name="2 Attention")).to_be_focused()
    expect(part(page, "attention")).to_be_visible()
    expect(part(page, "first_sum")).to_be_hidden()
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    step = page.get_by_role("spinbutton", name="Step")
    expect(step).to_have_value("6")
    expect(page.get_by_role("button", name="6 Add")).to_have_attribute("aria-current", "step")
    step.focus()
    step.press("ArrowUp")
    step.press("Enter")
    expect(part(page, "came_out")).to_be_visible()
    wait_idle(page)
    expect(page).to_have_url(re.compile(re.escape("stage_in_block=7")))
    check_facts(page, vectors, STEPS)
    assert value(page, "firing") == (vectors["activated"] > 0).sum()
    expect(page.get_by_text("Layer 5, step 7.")).to_be_visible()
    page.get_by_role("button", name="Back").press("Enter")
    expect(part(page, "came_out")).to_be_hidden()
    expect(step).to_have_value("6")


def test_every_dimension_and_neuron_is_worked_out(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/block?stage_in_block=7&layer=3&query=3+dog")
    read = blocks(TIRED)
    vectors = {name: matrix[2] for name, matrix in read.vectors[2].items()}
    slider = page.get_by_role("slider", name="Dimension")
    strongest = int(abs(vectors["attention"]).argmax())
    expect(slider).to_have_attribute("aria-valuenow", str(strongest + 1))
    check_dimension(page, read, 2, 2, strongest)
    slider.press("Control+Home")
    for dimension, key in ((0, None), (1, "ArrowRight"), (97, "ArrowDown"), (383, "Control+End")):
        if key:
            slider.press(key)
        expect(slider).to_have_attribute("aria-valuenow", str(dimension + 1))
        check_dimension(page, read, 2, 2, dimension)
    check_neuron(page, vectors, int(vectors["activated"].argmax()))
    neurons = page.get_by_role("slider", name="Neuron")
    neurons.press("Control+End")
    check_neuron(page, vectors, 1535)
    second = page.get_by_role("button", name=re.compile(r"^\d+: ")).nth(1)
    second.click()
    expect(second).to_have_attribute("aria-pressed", "true")
    check_neuron(page, vectors, int(vectors["activated"].argsort()[-2]))
    part(page, "feed_forward").hover(position={"x": 1, "y": 1})
    expect(slider).to_have_attribute("aria-valuenow", "1")
    assert axe(page) == []


def test_what_goes_out_of_a_layer_comes_into_the_next(page: Page, server: Server) -> None:
    text = "<b>Ann</b> gave **it** $back$."
    read = blocks(text)
    token = read.tokens.index("gave")
    link = urlencode({"stage_in_block": 7, "layer": 5, "text": text, "query": f"{token + 1} gave"})
    visit(page, f"{server.url}/block?{link}")
    expect(page.get_by_role("combobox", name="Token")).to_have_value(f"{token + 1} gave")
    out = value(page, "came_out-length")
    assert out == close(math.sqrt((read.hidden_states[5, token] ** 2).sum()))
    page.get_by_role("button", name="On to layer 6").click()
    expect(page.get_by_role("spinbutton", name="Layer")).to_have_value("6")
    expect(part(page, "attention")).to_be_hidden()
    wait_idle(page)
    assert value(page, "came_in-length") == out
    page.get_by_role("button", name="7 Norm").click()
    expect(part(page, "came_out")).to_be_visible()
    expect(page.get_by_role("button", name="On to layer")).to_be_hidden()
    assert value(page, "came_out-length") == close(math.sqrt((read.hidden_states[6, token] ** 2).sum()))
