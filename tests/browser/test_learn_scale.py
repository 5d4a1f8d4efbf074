"""The page on √d in a browser: its numbers are those of numpy and of transformers' own BERT."""

import re
from typing import cast

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator, Page, expect

from tests.browser.reference import Array, forward
from tests.browser.server import Server
from tests.browser.visit import visit, wait_idle

SIZES = [2**power for power in range(11)]
DRAWS, KEYS = 200, 8


def softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max())
    return cast("Array", powers / powers.sum())


def entropy(weights: Array) -> float:
    return float(-sum(w * np.log2(w) for w in weights if w > 0))


def gradient(weights: Array) -> float:
    return float(np.sqrt(((np.diag(weights) - np.outer(weights, weights)) ** 2).sum()))


def measured_variance(d: int, seed: int) -> float:
    """Of the same random numbers: the draws of one seed follow each other, size by size."""
    generator = torch.Generator().manual_seed(seed)
    for size in SIZES[: SIZES.index(d) + 1]:
        query, key = torch.randn(2, DRAWS, size, generator=generator).double().numpy()
    return float((query * key).sum(axis=1).var(ddof=1))


def random_row(d: int, seed: int) -> Array:
    """q · k of one query and several keys."""
    vectors = torch.randn(1 + KEYS, SIZES[-1], generator=torch.Generator().manual_seed(seed)).double().numpy()
    return cast("Array", vectors[1:, :d] @ vectors[0, :d])


def check_table(table: Locator, products: Array, d: int) -> None:
    """Every dot product, both weights of every key, and the measures below."""
    rows = table.locator("tbody tr")
    expect(rows).to_have_count(len(products))
    numbers = rows.evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td')].map(cell => Number(cell.dataset.value)))"
    )
    columns = [softmax(products), softmax(products / np.sqrt(d))]
    expected = np.column_stack([products, *columns])
    np.testing.assert_allclose(numbers, expected, rtol=1e-3, atol=2e-5)
    printed = table.locator("tfoot td").all_inner_texts()
    assert printed == [f"{entropy(column):.2f}" for column in columns] + [
        f"{gradient(column):.3f}" for column in columns
    ]


def check_picture(page: Page, d: int, seed: int) -> None:
    check_table(page.get_by_role("table", name="random keys"), random_row(d, seed), d)
    told = page.get_by_text(re.compile(f"{DRAWS} random dot products have variance")).inner_text()
    assert f"variance {measured_variance(d, seed):.2f}" in told


def test_the_slider_moves_by_keyboard_and_the_numbers_are_right(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/scale?d=16&seed=5")
    check_picture(page, 16, 5)
    slider = page.get_by_role("slider", name="d: how many entries")
    slider.press("ArrowRight")
    wait_idle(page)
    assert slider.get_attribute("aria-valuetext") == "32"
    check_picture(page, 32, 5)
    slider.press("End")
    wait_idle(page)
    check_picture(page, 1024, 5)
    expect(page).to_have_url(re.compile(re.escape("d=1024")))


def test_draw_again_by_keyboard(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/scale?d=64&seed=5")
    page.get_by_role("button", name="Draw again").press("Enter")
    wait_idle(page)
    check_picture(page, 64, 6)
    expect(page).to_have_url(re.compile(re.escape("seed=6")))


@pytest.mark.parametrize(("layer", "head", "place", "token"), [(4, 2, 9, "it"), (1, 3, 2, "dog")])
def test_the_real_row_is_that_of_transformers(
    page: Page, server: Server, layer: int, head: int, place: int, token: str
) -> None:
    visit(page, f"{server.url}/scale?layer={layer}&head={head}&query={place + 1}+{token}")
    model = forward("The dog did not cross the road as it was too tired.")
    products = model.dot_products[layer - 1, head - 1]
    table = page.get_by_role("table", name=f"the query {token} in head {layer}-{head}")
    check_table(table, products[place], 32)
    assert table.locator("tbody th bdi").all_inner_texts() == list(model.labels)
    expect(page.get_by_text(f"has variance {products.var(ddof=1):.1f}.")).to_be_visible()


def test_what_a_visitor_types_stays_text(page: Page, server: Server) -> None:
    typed = "<script>x</script> **dog**"
    visit(page, f"{server.url}/scale")
    box = page.get_by_role("textbox", name="Sentence", exact=True)
    box.fill(typed)
    box.press("Enter")
    wait_idle(page)
    labels = page.get_by_role("table", name="in head 4-2").locator("tbody th bdi")
    assert {"<", "script", "*"} <= set(labels.all_inner_texts())
