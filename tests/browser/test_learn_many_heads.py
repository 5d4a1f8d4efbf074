"""The page "Why many heads?" in a browser: its numbers against transformers' own BERT, mouse and keyboard."""

import re
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Locator, Page, expect

from tests import reference_bert
from tests.browser.server import Server
from tests.browser.visit import PHONE, visit, wait_idle

TEXT = "The dog did not cross the road as it was too tired."
IT = 9
LINK = "/many_heads?layer=4&head=8"


@cache
def block(layer: int) -> tuple[Any, Any]:
    """A layer's attention in transformers' own BERT, and the vectors that go into it for the sentence."""
    tokenizer, model = reference_bert.tokenizer(), reference_bert.model()
    with torch.inference_mode():
        outputs = model(**tokenizer(TEXT, return_tensors="pt"), output_hidden_states=True)
    return model.encoder.layer[layer].attention, outputs.hidden_states[layer][0].double().numpy()


def by_hand(layer: int, heads: int) -> dict[str, Any]:
    """weights [head, key], lengths and shares [head] for "it", in numpy and double precision."""
    attention, vectors = block(layer)
    linear = {
        name: (module.weight.detach().double().numpy(), module.bias.detach().double().numpy())
        for name, module in (
            ("query", attention.self.query),
            ("key", attention.self.key),
            ("value", attention.self.value),
            ("output", attention.output.dense),
        )
    }
    query, key, value = (vectors @ linear[n][0].T + linear[n][1] for n in ("query", "key", "value"))
    size = vectors.shape[1] // heads
    weights, added = [], []
    for head in range(heads):
        piece = slice(head * size, (head + 1) * size)
        scores = key[:, piece] @ query[IT, piece] / np.sqrt(size)
        exponentials = np.exp(scores - scores.max())
        weights.append(exponentials / exponentials.sum())
        added.append(linear["output"][0][:, piece] @ (weights[-1] @ value[:, piece]))
    output = np.sum(added, axis=0) + linear["output"][1]
    return {
        "weights": np.array(weights),
        "lengths": [float(np.linalg.norm(one)) for one in added],
        "shares": [float(one @ output / (output @ output)) for one in added],
        "bias": float(linear["output"][1] @ output / (output @ output)),
        "whole": float(np.linalg.norm(output)),
    }


def numbers(page: Page, part: str) -> list[float]:
    return [float(str(one.get_attribute("data-value"))) for one in page.locator(f"[data-part={part}]").all()]


def rows(page: Page) -> Locator:
    return page.get_by_role("group", name="Heads", exact=True).get_by_role("button")


def shows(page: Page, expected: dict[str, Any]) -> None:
    """The picture's numbers are these, unrounded and as printed."""
    expect(rows(page)).to_have_count(len(expected["shares"]))
    assert numbers(page, "share") == pytest.approx(expected["shares"], abs=1e-5)
    assert numbers(page, "length") == pytest.approx(expected["lengths"], abs=1e-5)
    assert numbers(page, "weight") == pytest.approx(expected["weights"].max(axis=-1), abs=1e-5)
    assert numbers(page, "bias-share") == pytest.approx([expected["bias"]], abs=1e-5)
    assert numbers(page, "output-length") == pytest.approx([expected["whole"]], abs=1e-5)
    assert numbers(page, "sum") == pytest.approx([1], abs=1e-4)
    printed = page.locator("[data-part=share]").all_inner_texts()
    assert [text.replace("−", "-") for text in printed] == [
        f"{100 * share:+.1f}\u202f%" for share in expected["shares"]
    ]


def test_a_link_and_the_number_of_heads_by_keyboard(page: Page, server: Server) -> None:
    visit(page, server.url + LINK)
    shows(page, by_hand(layer=3, heads=12))
    expect(rows(page).nth(7)).to_have_attribute("aria-pressed", "true")
    control = page.get_by_role("radiogroup", name="Number of heads")
    control.get_by_role("radio", name="12", exact=True).focus()
    for _ in range(6):
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("Space")
    expect(rows(page)).to_have_count(1)
    wait_idle(page)
    shows(page, by_hand(layer=3, heads=1))
    expect(page).to_have_url(re.compile(re.escape("heads_of_384=1")))
    expect(page.get_by_text("The model was trained with 12 heads.")).to_be_visible()


def test_what_is_worked_out_gives_the_printed_share(page: Page, server: Server) -> None:
    visit(page, server.url + LINK)
    for row in rows(page).all():
        row.focus()
        worked = page.locator("[data-part=worked]").inner_text().replace("−", "-")
        length, cosine, whole, share = (float(n) for n in re.findall(r"[+-]?[\d.]+", worked))
        assert round(100 * length * cosine / whole, 1) == share
        assert f"{share:+.1f}\u202f%" in row.inner_text().replace("−", "-")


def test_a_pointer_on_a_row_of_weights_reads_each_of_them(page: Page, server: Server) -> None:
    visit(page, server.url + LINK)
    weights = by_hand(layer=3, heads=12)["weights"][1]
    stripes, word = rows(page).nth(1).locator(".strip"), rows(page).nth(1).locator(".word")
    box = stripes.bounding_box()
    assert box is not None
    for at, token in ((2, "dog"), (7, "road"), (9, "it")):
        page.mouse.move(box["x"] + box["width"] * (at + 0.5) / len(weights), box["y"] + 5)
        expect(word.locator("bdi")).to_have_text(token)
        shown = float(str(word.locator("[data-part=weight]").get_attribute("data-value")))
        assert shown == pytest.approx(weights[at], abs=1e-5)
    page.mouse.move(0, 0)
    expect(word.locator("bdi")).to_have_text("dog")


def test_a_head_is_picked_by_mouse_and_by_keyboard(page: Page, server: Server) -> None:
    visit(page, server.url + LINK)
    number = page.get_by_role("spinbutton", name="Head", exact=True)
    rows(page).nth(2).click()
    expect(number).to_have_value("3")
    rows(page).nth(2).press("ArrowDown")
    expect(rows(page).nth(3)).to_be_focused()
    page.keyboard.press("Enter")
    expect(number).to_have_value("4")
    wait_idle(page)
    expect(page).to_have_url(re.compile(re.escape("head=4")))
    expect(rows(page).nth(3)).to_be_focused()
    expect(page.get_by_text(re.compile("^In head 4 of 12"))).to_be_visible()


@pytest.mark.parametrize("viewport", [PHONE])
def test_markup_stays_text_and_a_phone_needs_no_scrolling_sideways(page: Page, server: Server) -> None:
    visit(page, server.url + "/many_heads?text=%3Cimg+src%3Dx%3E+**it**&heads_of_384=3&query=5+%3E")
    expect(rows(page)).to_have_count(3)
    assert page.locator("img").count() == 0
    main = page.get_by_test_id("stMain")
    assert main.evaluate("main => main.scrollWidth - main.clientWidth") == 0
    too_wide = "all => all.filter((one) => one.scrollWidth > one.parentElement.clientWidth).length"
    assert page.locator("table").evaluate_all(too_wide) == 0
