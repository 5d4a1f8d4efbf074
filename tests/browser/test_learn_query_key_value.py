"""The six steps in a real browser: walked with the keyboard, checked with a calculator and another BERT."""

import re
from collections.abc import Callable
from urllib.parse import quote

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect

from attnviz.app.examples import OPENING
from attnviz.app.learn.english import OPENING as ENGLISH
from attnviz.capture import loading
from attnviz.models.catalogue import TRANSLATOR
from tests import reference_bert
from tests.browser.reference import Array, forward
from tests.browser.server import Server
from tests.browser.visit import axe, visit, wait_idle

LAYER, HEAD, IT = 3, 1, 9  # from 0
LONG = " ".join(f"The dog number {n} did not cross the road as it was tired." for n in range(1, 8))


def head_output(text: str, layer: int, head: int) -> Array:
    """What transformers' BertModel reads with one head, [token, d_head]: its weights times its values."""
    tokenizer, model = reference_bert.tokenizer(), reference_bert.model()
    inputs = tokenizer(text, return_tensors="pt")
    with torch.inference_mode():
        outputs = model(**inputs, output_attentions=True, output_hidden_states=True)
        values = model.encoder.layer[layer].attention.self.value(outputs.hidden_states[layer])[0]
        size = values.shape[-1] // model.config.num_attention_heads
        of_head = outputs.attentions[layer][0, head] @ values[:, head * size : (head + 1) * size]
    return np.asarray(of_head.double())


def values(page: Page, part: str) -> list[float]:
    """The unrounded numbers of this part of the picture."""
    found: list[str] = page.locator(f'.walk [data-part="{part}"]').evaluate_all(
        "nodes => nodes.map((node) => node.dataset.value)"
    )
    return [float(number) for number in found]


def printed(page: Page, part: str) -> list[str]:
    """The same as printed."""
    texts = page.locator(f'.walk [data-part="{part}"]').all_inner_texts()
    return [text.replace("\u2007", "").strip() for text in texts]


def as_number(text: str) -> float:
    return float(text.strip("()").replace("−", "-"))


def step(page: Page, number: int) -> None:
    expect(page.locator(f'.walk[data-step="{number}"]')).to_be_visible()


def focus(page: Page, matrix: str) -> None:
    page.locator(f'.walk [data-name="{matrix}"]').focus()


def test_six_steps_by_keyboard_on_a_fresh_server_end_at_the_models_output(
    page: Page, fresh_server: Callable[[], Server]
) -> None:
    visit(page, f"{fresh_server().url}/query_key_value?text={quote(OPENING.text)}")
    step(page, 1)
    for number in range(2, 7):
        page.keyboard.press("ArrowRight")
        step(page, number)
    expect(page).to_have_url(re.compile("step_of_six=6"))
    wait_idle(page)
    read = forward(OPENING.text)
    for part, expected in (
        ("dot_products-cell", read.dot_products[LAYER, HEAD, IT]),
        ("scores-cell", read.scores[LAYER, HEAD, IT]),
        ("weights-cell", read.weights[LAYER, HEAD, IT]),
    ):
        np.testing.assert_allclose(values(page, part), expected, atol=1e-4, err_msg=part)
    focus(page, "output")
    page.keyboard.press("Home")
    output = []
    for number in range(1, 33):
        expect(page.locator(".walk .detail h3")).to_contain_text(f"Number {number} of the output")
        output += values(page, "result")
        page.keyboard.press("ArrowRight")
    np.testing.assert_allclose(output, head_output(OPENING.text, LAYER, HEAD)[IT], atol=1e-5)
    page.locator('.walk [data-move="-1"]').focus()
    page.keyboard.press("ArrowLeft")
    step(page, 5)
    expect(page).to_have_url(re.compile("step_of_six=5"))
    wait_idle(page)


@pytest.mark.parametrize("text", [OPENING.text, LONG], ids=["short", "long"])
def test_every_printed_sum_can_be_checked_with_a_calculator(page: Page, server: Server, text: str) -> None:
    visit(page, f"{server.url}/query_key_value?step=6&text={quote(text)}")
    for matrix in ("query", "keys", "values", "dot_products", "output"):
        focus(page, matrix)
        for key in ("Home", "ArrowRight", "ArrowDown", "End"):
            page.keyboard.press(key)
            expect(page.locator(".walk .detail")).to_have_attribute("data-cell", re.compile(f"^{matrix} "))
            lefts, rights, products = (printed(page, part) for part in ("left", "right", "product"))
            for left, right, product in zip(lefts, rights, products, strict=True):
                decimals = len(product.partition(".")[2])
                multiplied = as_number(left) * as_number(right)
                assert abs(multiplied - as_number(product)) <= 0.5000001 * 10**-decimals, (left, right)
            terms = [*products, *printed(page, "others"), *printed(page, "bias")]
            [result] = printed(page, "result")
            assert abs(sum(map(as_number, terms)) - as_number(result)) <= 0.00050001, (matrix, key)


def test_a_score_and_a_weight_can_be_checked_too(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/query_key_value?step=6")
    focus(page, "scores")
    for _ in range(3):
        [dot_product], [score] = printed(page, "dot-product"), printed(page, "result")
        assert abs(as_number(dot_product) / np.sqrt(32) - as_number(score)) <= 0.0006
        page.keyboard.press("ArrowDown")
    focus(page, "weights")
    for _ in range(3):
        exponentials = [as_number(number) for number in printed(page, "exponential")]
        [own], [total], [weight] = (printed(page, p) for p in ("own-exponential", "sum", "result"))
        decimals = len(total.partition(".")[2])
        assert abs(sum(exponentials) - as_number(total)) <= 0.5000001 * 10**-decimals
        share = f"{100 * as_number(own) / as_number(total):.1f}\u202f%"
        assert weight in (share, "<\u202f0.1\u202f%")
        page.keyboard.press("ArrowDown")


def test_the_control_and_the_picture_move_each_other(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/query_key_value")
    page.get_by_role("radiogroup", name="Step").get_by_text("4", exact=True).click()
    step(page, 4)
    page.get_by_text("You come with a question").click()
    page.keyboard.press("ArrowRight")
    step(page, 5)
    page.get_by_role("button", name="Next →").click()
    page.keyboard.press("Enter")  # there is no step 7
    step(page, 6)
    wait_idle(page)
    expect(page.get_by_role("radiogroup", name="Step").get_by_role("radio", name="6")).to_be_checked()
    step(page, 6)


def test_a_pointer_tells_what_made_a_cell(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/query_key_value?step=2")
    matrix = page.locator('.walk [data-name="keys"]')
    box = matrix.bounding_box()
    assert box is not None
    # Column 5 of 32, row 3 of 15: number 5 of the key of "dog".
    matrix.hover(position={"x": 4.5 * box["width"] / 32, "y": 2.5 * box["height"] / 15})
    expect(page.locator(".walk .detail h3")).to_have_text("Number 5 of the key of dog")
    assert values(page, "result") == pytest.approx([forward(OPENING.text).key[LAYER, HEAD, 2, 4]], abs=1e-5)


def test_the_conventions_are_the_same_numbers_transposed(page: Page, server: Server) -> None:
    def table() -> Array:
        cells: list[list[str]] = page.locator(".weights-table tbody tr").evaluate_all(
            "rows => rows.map((row) => [...row.querySelectorAll('td:not(.sum)')].map((c) => c.dataset.value))"
        )
        return np.array([[float(cell) for cell in row] for row in cells if row])

    visit(page, f"{server.url}/query_key_value")
    rows = table()
    np.testing.assert_allclose(rows, forward(OPENING.text).weights[LAYER, HEAD], atol=1e-5)
    expect(page.locator(".weights-table .corner")).to_have_text("key (is looked at) →query (looks) ↓")
    page.get_by_role("radiogroup", name="Convention").get_by_text("columns").click()
    expect(page.locator(".weights-table .corner")).to_have_text("query (looks) →key (is looked at) ↓")
    np.testing.assert_array_equal(table(), rows.T)


def test_a_long_text_shows_the_largest_weights_and_the_sum_of_the_others(page: Page, server: Server) -> None:
    it = 11
    visit(page, f"{server.url}/query_key_value?step=5&query={it + 1}%20it&text={quote(LONG)}")
    row = forward(LONG).weights[LAYER, HEAD, it]
    others = sorted(np.delete(row, it))[:-23]
    assert values(page, "rest-weight") == pytest.approx([sum(others)], abs=1e-5)
    shown = values(page, "weights-cell")
    np.testing.assert_allclose(sorted([*shown, *others]), sorted(row), atol=1e-5)
    expect(page.get_by_text(f"This text has {len(row)}:")).to_be_visible()


def test_what_a_visitor_types_is_text(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/query_key_value?step=6&text={quote('<img src=x> **it**')}")
    expect(page.locator(".walk .label").nth(1)).to_have_text("<")
    assert page.locator(".walk img, .weights-table img").count() == 0


def test_the_translator_reads_across_and_never_ahead(page: Page, server: Server) -> None:
    trace = loading.load_translator(TRANSLATOR).trace(ENGLISH)
    car = [token.text for token in trace.block("cross", 0).query_tokens].index("car")

    def open_step(number: int, kind: str) -> None:
        chosen = f"six_steps_of={quote(f'Translator: French reads {kind}')}&translator_head=3"
        visit(page, f"{server.url}/query_key_value?{chosen}&step={number}")
        step(page, number)

    open_step(2, "English")
    expect(page.locator(".walk .stage > .asker")).to_have_text("car")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    step(page, 5)
    across = trace.block("cross", 0).weights[2, car]
    np.testing.assert_allclose(values(page, "weights-cell"), across, atol=1e-6)
    focus(page, "query")
    page.keyboard.press("End")
    expect(page.locator(".walk .detail h3")).to_have_text("Number 16 of the query of car")
    assert values(page, "result") == pytest.approx([trace.block("cross", 0).query[2, car, -1]], abs=1e-5)

    open_step(5, "French")
    block = trace.block("decoder", 0)
    np.testing.assert_allclose(values(page, "weights-cell"), block.weights[2, car], atol=1e-6)
    later = len(block.key_tokens) - car - 1
    assert printed(page, "scores-cell")[car + 1 :] == ["−∞"] * later
    assert printed(page, "weights-cell")[car + 1 :] == ["0"] * later
    assert page.locator(".weights-table .forbidden").count() == (~block.mask).sum()
    focus(page, "weights")
    page.keyboard.press("End")
    expect(page.locator(".walk .detail")).to_contain_text("which comes later: its score is −∞")
    assert axe(page) == []
