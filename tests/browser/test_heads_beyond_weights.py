"""Do the weights tell the story: the numbers against transformers' own BERT, clicks, links and axe."""

import re
from functools import cache

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from playwright.sync_api import Locator, Page, ViewportSize, expect

from attnviz.analysis.rank_correlation import rank_correlation
from tests import reference_bert
from tests.browser.server import Server
from tests.browser.visit import DESKTOP, PHONE, axe, visit, wait_idle

TIRED = "The dog did not cross the road as it was too tired."
IT = 9  # with [CLS]


@cache
def left_out() -> NDArray[np.float64]:
    """[token]: 1 − cosine of what BERT makes of "it" with each token replaced by [MASK]."""
    tokenizer, bert = reference_bert.tokenizer(), reference_bert.model()
    ids = tokenizer(TIRED, return_tensors="pt")["input_ids"]
    moved = []
    with torch.inference_mode():
        before = bert(ids).last_hidden_state[0, IT].double()
        for place in range(ids.shape[1]):
            changed = ids.clone()
            changed[0, place] = tokenizer.mask_token_id
            after = bert(changed).last_hidden_state[0, IT].double()
            moved.append(float(1 - torch.cosine_similarity(before, after, dim=0)))
    return np.array(moved)


def weights() -> NDArray[np.float64]:
    """[token]: what "it" looks at in head 4-2."""
    with torch.inference_mode():
        read = reference_bert.model()(
            **reference_bert.tokenizer()(TIRED, return_tensors="pt"), output_attentions=True
        )
    return np.asarray(read.attentions[3][0, 1, IT].double().numpy())


def measure(page: Page, name: str) -> Locator:
    return page.get_by_role("rowheader").get_by_role("button", name=name)


def cells(page: Page, name: str) -> Locator:
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=name))
    return row.get_by_role("gridcell").get_by_role("button")


def values(page: Page, name: str) -> list[float]:
    return [float(cell.get_attribute("data-value") or "nan") for cell in cells(page, name).all()]


def until_all_is_measured(page: Page) -> None:
    expect(measure(page, "Flow")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    wait_idle(page)


def test_the_measures_of_a_token(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/beyond_weights")
    until_all_is_measured(page)
    np.testing.assert_allclose(values(page, "Leaving it out"), left_out()[1:-1], atol=1e-5)
    np.testing.assert_allclose(values(page, "Weights of head 4-2"), weights()[1:-1], atol=1e-5)
    others = [float(moved) if place != IT else -1.0 for place, moved in enumerate(left_out())][1:-1]
    most = int(np.argmax(others))
    told = f"moves it most: 1 − cosine of its output before and after is {others[most]:.2g}"
    expect(page.get_by_text(told)).to_be_visible()
    expect(page.get_by_text("colour: how large, from 0 to the largest of its row")).to_be_visible()
    expect(page.get_by_text("number: its rank, 1 is the largest")).to_be_visible()
    cell = cells(page, "Leaving it out").nth(most)
    expect(cell).to_have_text("1")
    cell.hover()
    expect(page.get_by_text(f"Leaving it out: {others[most]:.3g}, rank 1 of 12")).to_be_visible()

    head = page.get_by_role("gridcell", name=re.compile("^Head 4-2: "))
    kept = [place for place in range(1, 14) if place != IT]
    agreement = rank_correlation(weights()[kept], left_out()[kept])
    expect(head).to_have_accessible_name(f"Head 4-2: {agreement:.2f}")
    expect(head).to_have_text(f"{agreement:.1f}")

    measure(page, "Rollout").click()
    expect(measure(page, "Rollout")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text("All layers multiplied")).to_be_visible()
    expect(page).to_have_url(re.compile("measure=Rollout"))

    page.get_by_role("columnheader").get_by_role("button", name="tired").click()
    expect(page.get_by_role("heading", name="What does tired depend on?")).to_be_visible()
    expect(page).to_have_url(re.compile(r"query=13(\+|%20)tired"))
    until_all_is_measured(page)
    expect(cells(page, "Leaving it out").nth(11)).to_have_accessible_name(re.compile("the token itself"))
    expect(measure(page, "Rollout")).to_have_attribute("aria-pressed", "true")


def test_a_link_and_a_sentence_that_cannot_be_read(page: Page, server: Server) -> None:
    chosen = "text=I+saw+a+cat.&query=4+a&layer=2&head=7&special=true&measure=Input+gradient"
    visit(page, f"{server.url}/beyond_weights?{chosen}")
    until_all_is_measured(page)
    expect(page.get_by_role("heading", name="What does a depend on?")).to_be_visible()
    expect(measure(page, "Weights of head 2-7")).to_be_visible()
    expect(measure(page, "Input gradient")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("columnheader").get_by_role("button")).to_have_count(7)

    box = page.get_by_role("textbox", name="Sentence")
    long = "<script>alert(1)</script> **too** long " * 80
    box.fill(long)
    box.press("Enter")
    expect(page.get_by_test_id("stAlert")).to_contain_text("512")
    expect(box).to_have_value(long)
    box.fill("<b>**dog**</b> 🐶")
    box.press("Enter")
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
    until_all_is_measured(page)
    expect(page.get_by_role("columnheader").get_by_role("button", name="<").first).to_be_visible()


@pytest.mark.parametrize(
    ("viewport", "colour_scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desktop", "phone"]
)
def test_axe_finds_nothing(page: Page, server: Server, viewport: ViewportSize) -> None:
    visit(page, f"{server.url}/beyond_weights?measure=Norms+after+Add+%26+Norm&special=true")
    until_all_is_measured(page)
    expect(page.get_by_test_id("stDataFrame")).to_be_visible()
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
