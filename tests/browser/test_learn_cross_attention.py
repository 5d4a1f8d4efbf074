"""The page on cross-attention in a browser: its numbers are those of transformers' own BERT and numpy."""

import re
from typing import cast

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.app.learn.block_reference import Array, blocks
from tests.browser.explore import Explore, value
from tests.browser.server import Server
from tests.browser.visit import visit, wait_idle

READER = "A hound was too tired to walk over the street."
SOURCE = "The dog did not cross the road as it was too tired."


def weights(reader: str, source: str, layer: int) -> Array:
    """[reader, source], from the hidden states of two forward passes."""
    asking, offered = (blocks(text).hidden_states[layer] for text in (reader, source))
    scores = asking @ offered.T / np.sqrt(offered.shape[1])
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return cast("Array", powers / powers.sum(axis=1, keepdims=True))


def check_told(page: Page, reader: str, source: str, layer: int, at: int) -> None:
    """The sentence in words, and the worked-out weight of the token that is read most."""
    row = weights(reader, source, layer)[at]
    name, most = blocks(reader).tokens[at], blocks(source).tokens[int(row.argmax())]
    told = page.get_by_test_id("stMarkdown").filter(has_text=f"{name} reads {most} {100 * row.max():.0f} %")
    expect(told.first).to_be_visible()


def test_a_reader_is_picked_by_keyboard_and_the_numbers_are_right(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/cross_attention")
    check_told(page, READER, SOURCE, 6, 2)
    assert value(page.get_by_label("Why does hound look at dog"), "result") == pytest.approx(
        weights(READER, SOURCE, 6)[2].max(), abs=1e-4
    )
    page.get_by_role("radio", name="Lines").press("Space")
    wait_idle(page)
    explore = Explore(page, "")
    expect(explore.queries).to_have_count(13)
    expect(explore.keys).to_have_count(15)
    explore.queries.nth(2).press("End")
    explore.queries.nth(12).press("ArrowUp")
    explore.queries.nth(11).press("ArrowUp")
    explore.queries.nth(10).press("Enter")
    wait_idle(page)
    check_told(page, READER, SOURCE, 6, 10)
    expect(page).to_have_url(re.compile(re.escape("reads=11+street")))
    printed = dict(explore.rows(explore.keys))
    row = weights(READER, SOURCE, 6)[10]
    assert printed["road"] == f"{100 * row.max():.0f} %"
    worked = page.get_by_label("Why does street look at road")
    assert value(worked, "result") == pytest.approx(row.max(), abs=1e-4)
    explore.keys.nth(3).press("Enter")
    wait_idle(page)
    worked = page.get_by_label("Why does street look at did")
    assert value(worked, "result") == pytest.approx(row[3], abs=1e-4)


def test_two_texts_of_the_visitors(page: Page, server: Server) -> None:
    reader, source = "Cats eat fish.", "Every kitten likes a good salmon, says my aunt."
    visit(page, f"{server.url}/cross_attention?cross_view=Lines&vectors=4")
    for name, text in (("Reader of that sentence: a second text", reader), ("Sentence", source)):
        box = page.get_by_role("textbox", name=name, exact=True)
        box.fill(text)
        box.press("Enter")
        wait_idle(page)
    found = weights(reader, source, 4)
    n, m = found.shape
    expect(page.get_by_role("heading", name=f"{n} readers × {m} sources")).to_be_visible()
    explore = Explore(page, "")
    explore.pick(query=3)
    check_told(page, reader, source, 4, 3)
    for (label, number), token, exact in zip(
        explore.rows(explore.keys), blocks(source).tokens, found[3], strict=True
    ):
        assert label == token
        assert number in {"", f"{100 * exact:.0f} %"}


def test_an_empty_box_says_what_to_do_and_the_page_recovers(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/cross_attention")
    box = page.get_by_role("textbox", name="Reader of that sentence: a second text")
    box.fill("")
    box.press("Enter")
    wait_idle(page)
    expect(page.get_by_text("There is nothing here for the model to read.")).to_be_visible()
    box.fill("A puppy.")
    box.press("Enter")
    wait_idle(page)
    expect(page.get_by_role("heading", name="5 readers × 15 sources")).to_be_visible()
