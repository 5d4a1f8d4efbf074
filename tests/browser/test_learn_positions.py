"""The page on positions: a shuffle by keyboard, against transformers' own BERT with and without its table."""

import math
import re
from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from playwright.sync_api import Locator, Page, expect

from tests import reference_bert
from tests.browser.explore import eventually
from tests.browser.server import Server
from tests.browser.visit import PHONE, axe, visit, wait_idle

TIRED = "The dog did not cross the road as it was too tired."
IT = 9
LABELS = ["[CLS]", *TIRED.lower().removesuffix(".").split(), ".", "[SEP]"]

Outputs = NDArray[np.float64]


@cache
def model(with_positions: bool) -> tuple[Any, Any]:
    """The bundled BERT in float64, whose table of positions may be set to zero."""
    bert = deepcopy(reference_bert.model()).double()
    if not with_positions:
        bert.embeddings.position_embeddings.weight.data.zero_()
    return reference_bert.tokenizer(), bert


def outcomes(order: Sequence[int], with_positions: bool) -> tuple[Outputs, Outputs]:
    """Each token's largest difference and cosine between its outputs in the two orders."""
    tokenizer, bert = model(with_positions)
    ids = tokenizer(TIRED, return_tensors="pt").input_ids
    with torch.no_grad():
        before = bert(ids).last_hidden_state[0][list(order)].numpy()
        after = bert(ids[:, list(order)]).last_hidden_state[0].numpy()
    lengths = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    return np.abs(before - after).max(axis=1), (before * after).sum(axis=1) / lengths


def rows(page: Page) -> Locator:
    return page.locator("tr[data-token]")


def order_of(page: Page) -> list[int]:
    """Which token stands at each place, from 0."""
    numbers: list[int] = rows(page).evaluate_all("all => all.map(row => Number(row.dataset.token))")
    return [number - 1 for number in numbers]


def shown(page: Page, name: str, column: int) -> list[float]:
    """The unrounded numbers of a column."""
    cells = rows(page).locator(f"td:nth-of-type({column + 1}) .verdict")
    found: list[float] = cells.evaluate_all(f"all => all.map(cell => Number(cell.dataset.{name}))")
    return found


def check(page: Page) -> None:
    """Every number of the picture, and its sentence."""
    order = order_of(page)
    assert sorted(order) == list(range(15))
    assert [text.strip() for text in rows(page).locator("bdi").all_inner_texts()] == [
        LABELS[token] for token in order
    ]
    bare, placed = (outcomes(order, choice) for choice in (False, True))
    assert bare[0].max() < 1e-9  # in float64 the sets are equal to the last digits
    assert max(shown(page, "difference", 0)) < 1e-5
    assert shown(page, "cosine", 0) == pytest.approx(np.ones(15), abs=1e-5)
    assert shown(page, "difference", 1) == pytest.approx(placed[0], abs=1e-4)
    assert shown(page, "cosine", 1) == pytest.approx(placed[1], abs=1e-5)
    row = order.index(IT)
    said = page.get_by_text(re.compile("^Without positions, it \\(token 10")).inner_text()
    assert f"now token {row + 1}) comes out the same" in said
    assert f"differ by up to {placed[0][row]:.2f} (cosine {placed[1][row]:.2f})" in said


def test_a_shuffle_by_keyboard(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/positions?order=3")
    check(page)
    first = order_of(page)
    number = page.get_by_role("spinbutton", name="Order")
    number.press("ArrowUp")
    number.press("Enter")
    expect(number).to_have_value("4")

    def shuffled(order: str, before: list[int]) -> None:
        expect(page).to_have_url(re.compile(re.escape(f"order={order}")))
        assert order_of(page) != before
        check(page)

    eventually(lambda: shuffled("4", first))
    second = order_of(page)
    page.get_by_role("button", name="Shuffle").press("Enter")
    expect(number).to_have_value("5")
    eventually(lambda: shuffled("5", second))


def test_a_token_is_followed_by_keyboard(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/positions?order=3")
    order = order_of(page)
    chosen = rows(page).get_by_role("button").nth(order.index(IT))
    expect(chosen).to_have_attribute("aria-pressed", "true")
    chosen.press("End")
    page.keyboard.press("ArrowUp")
    expect(rows(page).get_by_role("button").nth(13)).to_be_focused()
    page.keyboard.press("Enter")
    wait_idle(page)
    expect(
        page.get_by_text(re.compile(f"^Without positions, .* \\(token {order[13] + 1}, now token 14\\)"))
    ).to_be_visible()
    expect(rows(page).get_by_role("button").nth(13)).to_be_focused()


def test_four_kinds_by_keyboard_with_numbers_to_check(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/positions?pair=3")
    angle = IT / 10_000 ** (4 / 64)
    sine, cosine = (f"{wave(angle):.3f}".replace("-", "−") for wave in (math.sin, math.cos))
    expect(page.get_by_text(f"sine {sine}, cosine {cosine}")).to_be_visible()
    table = model(True)[1].embeddings.position_embeddings.weight.detach().numpy()
    for kind, told in (
        ("Learned", f"its length is {np.linalg.norm(table[0]):.2f}"),
        ("Rotary", "Only the distance counts."),
        ("ALiBi", "0.5, 0.25, 0.125, 0.0625"),
    ):
        page.get_by_role("radio", checked=True).last.press("ArrowRight")
        page.keyboard.press("Enter")
        wait_idle(page)
        expect(page.get_by_text(told)).to_be_visible()
        expect(page).to_have_url(re.compile(re.escape(f"encoding={kind}")))


@pytest.mark.parametrize("viewport", [PHONE])
def test_markup_stays_text_and_a_phone_does_not_scroll_sideways(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/positions?text=%3Cimg+src%3Dx%3E+**bold**+%24x%24&encoding=Rotary")
    expect(rows(page).locator("bdi").first).to_have_text("[CLS]")
    assert page.locator("img[src=x]").count() == 0
    wide = page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
    assert wide <= PHONE["width"]


def test_the_section_on_a_model_opens_by_keyboard_with_that_models_numbers(
    page: Page, server: Server
) -> None:
    visit(page, f"{server.url}/positions")
    told = page.get_by_text("The vector of the first place has the length")
    expect(told).to_have_count(0)
    page.locator("summary").filter(has_text="Choose a model").press("Enter")
    expect(told).to_be_visible()
    wait_idle(page)
    expect(page).to_have_url(re.compile(re.escape("in_your_model=true")))
    table = model(True)[1].embeddings.position_embeddings.weight.detach().numpy()
    expect(told).to_contain_text(f"{np.linalg.norm(table[0]):.2f}")
    slider = page.get_by_role("slider", name="Read off").last
    slider.focus()
    page.keyboard.press("ArrowDown")
    number = f"{table[1, 0]:.3f}".replace("-", "−")
    expect(slider).to_have_attribute("aria-valuetext", f"position 1 (the), dimension 1: {number}")
    assert axe(page) == []
    page.set_viewport_size(PHONE)
    wait_idle(page)
    assert axe(page) == []
    wide = page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
    assert wide <= PHONE["width"]
