"""One walk through each Learn page: its main control by keyboard or mouse, its numbers and its link.

`tests/app/lessons` checks the computed numbers.
"""

import re
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from attnviz.app.folded import EVERYTHING
from attnviz.app.lessons.block import values as block
from attnviz.app.lessons.compute import tokens
from attnviz.app.lessons.induction.values import measured
from attnviz.app.lessons.query_key_value import values as query_key_value
from attnviz.app.lessons.write.page import PROMPTS as STORIES
from attnviz.app.state.choices import OPEN
from attnviz.text import head_name
from attnviz.trained.snapshots import stored
from tests.browser.explore import Explore, value, values
from tests.browser.server import Server
from tests.browser.visit import assert_accessible, box_of, open_page, press, wait_idle

TIRED = "The dog did not cross the road as it was too tired."
STORY = STORIES["repeated_word"]
HOSTILE = "The <u>dog</u> saw it too."  # short enough for every picture to show all tokens


ANIMATED = ("query_key_value", "block", "cause")


def lesson(page: Page, server: Server, name: str, **choices: Any) -> Locator:
    """Open a lesson by a link, with all sections open; return the page's main element."""
    if name in ANIMATED:
        page.emulate_media(reduced_motion="no-preference")
    everything = {"open": EVERYTHING} if name in OPEN.pages else {}
    return open_page(page, server, name, **everything, **choices)


def labels(text: str) -> list[str]:
    """Return BERT's tokens of a text, as strings."""
    return [token.text for token in tokens(text)]


def assert_in_url(page: Page, **choices: str) -> None:
    """Check that the page's URL has these parameters."""
    for name, chosen in choices.items():
        expect(page).to_have_url(re.compile(re.escape(urlencode({name: chosen}))))


def step_values(page: Page, part: str) -> list[float]:
    """Return the unrounded numbers of one part of the steps widget."""
    return values(page.locator(".root.steps"), part)


def test_weighted_average(page: Page, server: Server) -> None:
    main = lesson(page, server, "weighted_average", text=HOSTILE, scoring="Cosine", split="Characters")
    slider = page.get_by_role("slider", name="Temperature T")
    slider.press("Home")
    wait_idle(page)
    assert_in_url(page, softmax_temperature="0")
    picture = page.locator(".root.steps")
    picture.locator('[data-name="output"]').focus()
    press(page, "End")
    expect(picture.locator(".detail")).to_have_attribute("data-cell", "output 0 31")
    [result] = step_values(page, "result")
    assert sum(step_values(page, "product")) == pytest.approx(result, abs=1e-6)
    assert main.locator("u").count() == 0
    assert_accessible(page)


def test_scale(page: Page, server: Server) -> None:
    main = lesson(page, server, "scale", d=64, vectors_seed=5, text=HOSTILE)

    slider = page.get_by_role("slider", name="d: size")
    slider.press("ArrowRight")
    wait_idle(page)
    page.get_by_role("button", name="New random vectors").press("Enter")
    wait_idle(page)
    assert_in_url(page, d="128", vectors_seed="6")
    assert main.locator("u").count() == 0
    assert_accessible(page)


def test_query_key_value(page: Page, server: Server) -> None:
    main = lesson(page, server, "query_key_value", text=HOSTILE)
    expect(page.locator('.root.steps[data-step="2"]')).to_be_visible()
    page.locator('.root.steps [data-move="-1"]').focus()
    for number in range(3, 7):
        press(page, "ArrowRight")
        expect(page.locator(f'.root.steps[data-step="{number}"]')).to_be_visible()
    wait_idle(page)
    assert_in_url(page, step_of_six="6")
    weights = query_key_value.walk(HOSTILE, 3, 1, labels(HOSTILE).index("it")).weights
    np.testing.assert_allclose(step_values(page, "weights-cell"), weights, atol=1e-4)
    page.get_by_role("radiogroup", name="Convention").get_by_text("columns").click()
    expect(page.get_by_role("grid", name="every column is one query")).to_be_visible()
    assert main.locator("u").count() == 0
    assert_accessible(page)


def test_many_heads(page: Page, server: Server) -> None:
    main = lesson(page, server, "many_heads", text=HOSTILE, layer=4, head=8)
    cells = page.locator(".st-key-heads-of-a-token").get_by_role("application")

    cells.focus()
    press(page, "ArrowUp", "Enter")
    expect(page.get_by_role("spinbutton", name="Head", exact=True)).to_have_value("7")
    wait_idle(page)
    assert_in_url(page, head="7")
    assert main.locator("u").count() == 0
    assert_accessible(page)


def test_masks(page: Page, server: Server) -> None:
    lesson(page, server, "masks", mask="window", mask_size=2, mask_after=1)
    picture = page.locator(".st-key-weights-masked")
    cells = picture.get_by_role("application")
    it, dog = 9, 2
    cells.focus()
    press(page, *dog * ["ArrowRight"], "Enter")
    assert_in_url(page, mask="window", cells="10>3")
    wait_idle(page)
    box = box_of(cells)
    x, y = (box["width"] * (dog + 0.5) / 15, box["height"] * (it + 0.5) / 15)
    cells.hover(position={"x": x, "y": y})
    expect(picture.locator(".words")).to_contain_text(re.compile(r"it → dog \d"))
    cells.click(position={"x": x, "y": y})
    page.wait_for_url(lambda url: "cells=" not in url)
    wait_idle(page)
    assert_accessible(page)


def test_positions(page: Page, server: Server) -> None:
    main = open_page(page, server, "positions", open=EVERYTHING, text=HOSTILE, order=3)
    box = box_of(page.locator('[aria-label^="Sinusoidal positions"]'))
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator("#vg-tooltip-element")).to_contain_text("/64)) = ")
    page.get_by_role("button", name="Shuffle").press("Enter")
    wait_idle(page)
    assert_in_url(page, order="4")
    page.get_by_role("radio", name="ALiBi").press("Enter")
    wait_idle(page)
    assert_in_url(page, encoding="alibi")
    assert main.locator("u").count() == 0
    assert_accessible(page)


def test_cross_attention(page: Page, server: Server) -> None:
    reader = "A <u>hound</u> was too tired to walk over the street."
    lesson(page, server, "cross_attention", text=TIRED, reader=reader)
    page.get_by_role("radio", name="Lines").press("Space")
    wait_idle(page)
    queries = Explore(page, "").queries
    queries.first.press("End")
    page.keyboard.press("Enter")
    wait_idle(page)
    assert_in_url(page, cross_query=f"{queries.count()} [SEP]")
    assert page.get_by_role("main").locator("u").count() == 0
    assert_accessible(page)


STEPS = (
    "layer_input",
    "attention",
    "first_sum",
    "after_attention",
    "feed_forward",
    "second_sum",
    "layer_output",
)


def test_block(page: Page, server: Server) -> None:
    main = lesson(page, server, "block", layer=5, text=HOSTILE, stage_in_block=1)

    def part(name: str) -> Locator:
        return main.locator(f"[data-part={name}]")

    expect(part("attention")).to_be_hidden()
    page.get_by_role("button", name="1 Input").press("ArrowRight")
    expect(page.get_by_role("button", name="2 Attention")).to_be_focused()
    expect(part("attention")).to_be_visible()
    expect(part("first_sum")).to_be_hidden()
    press(page, *4 * ["ArrowDown"])
    expect(page.get_by_role("button", name="6 Add")).to_have_attribute("aria-current", "step")
    wait_idle(page)
    assert_in_url(page, stage_in_block="6")
    press(page, "ArrowDown")
    expect(part("layer_output")).to_be_visible()
    wait_idle(page)
    part("layer_output").focus()
    press(page, "Control+End")
    vectors = block.walk(HOSTILE, 4, labels(HOSTILE).index("it")).vectors
    shown = [value(main, f"{name}-result") for name in STEPS]
    assert shown == pytest.approx([vectors[name].values[383] for name in STEPS], abs=2e-4)
    assert main.locator("u").count() == 0
    assert_accessible(page)


def test_translate(page: Page, server: Server) -> None:
    lesson(page, server, "translate")
    expect(page.get_by_role("heading", name="il était trop fatigué.")).to_be_visible()
    french, english = (page.locator(f".st-key-translation-{name}") for name in ("cross", "encoder"))
    expect(french.locator(".words")).to_contain_text("il attends to it")
    expect(english.locator(".words")).to_contain_text("it attends to dog")
    page.get_by_role("radio", name="too narrow").press("Space")
    wait_idle(page)
    expect(page.get_by_role("heading", name="elle était trop étroite.")).to_be_visible()
    expect(english.locator(".words")).to_contain_text("it attends to road")
    french.get_by_text("car", exact=True).click()
    assert_in_url(page, french="9 car")
    wait_idle(page)
    assert_accessible(page)


def test_cause(page: Page, server: Server) -> None:
    lesson(page, server, "cause", edits="dog to road")
    expect(page.get_by_text("“dog to road” is not a valid change")).to_be_visible()
    page.get_by_role("radio", name="7 road", exact=True).press("Space")
    translation = page.locator(".st-key-slide-picture p").filter(has_text="Now:")
    expect(translation).to_contain_text("car elle était")
    assert_in_url(page, edits="encoder 2-1 9 2>7")
    page.get_by_role("button", name="Undo all changes").click()
    expect(translation).to_have_count(0)
    wait_idle(page)
    assert_accessible(page)


def test_write(page: Page, server: Server) -> None:
    lesson(page, server, "write", write=2, temperature="0.8", seed=4)
    story = page.locator(".root.passage")

    written = story.locator("button.generated")
    expect(written).to_have_count(3)
    expect(story.locator(".place")).to_have_text("token 1 of 2")  # the next word is not a token yet
    page.get_by_role("button", name="Generate a token").click()
    expect(written).to_have_count(4)
    assert_in_url(page, write="3", written_word="3")
    story.get_by_role("button", name="Previous token").click()
    assert_in_url(page, written_word="2")
    expect(page.locator(".st-key-heads-of-the-word")).to_be_visible()
    wait_idle(page)
    assert_accessible(page)


def test_induction(page: Page, server: Server) -> None:
    lesson(page, server, "induction", repeated_word="3 basket")
    name = f"decoder {head_name(*measured().induction_heads[0])}"
    ablated = page.get_by_role("combobox", name="Ablated heads")
    ablated.press("ArrowDown")
    ablated.press_sequentially(name)
    page.get_by_role("option", name=name).click()
    page.keyboard.press("Escape")
    assert_in_url(page, edits=name)
    expect(page.get_by_role("cell", name=f"{name} ablated", exact=True)).to_be_visible()
    wait_idle(page)
    assert_accessible(page)


def test_watch_it_learn(page: Page, server: Server) -> None:
    steps = stored("guided").steps
    lesson(page, server, "watch_it_learn", training_step=steps[6])
    slider = page.get_by_role("slider", name="Training steps so far")
    for key, step in (("ArrowRight", steps[7]), ("Home", steps[0])):
        slider.press(key)
        wait_idle(page)
        expect(page.get_by_role("heading", name=f"Encoder 2-1 after {step:,} steps")).to_be_visible()
        assert_in_url(page, training_step=str(step))
    assert_accessible(page)
