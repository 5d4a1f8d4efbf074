"""The page about the weighted average in a browser, against numpy and the published table of words."""

import re
from functools import partial
from urllib.parse import parse_qs, urlencode, urlsplit

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Locator, Page, expect

from tests.browser.explore import assert_printed, eventually, values
from tests.browser.server import Server
from tests.browser.visit import visit, wait_idle
from tests.reference_bert import word_vectors

TIRED = "The dog did not cross the road as it was too tired."
HOSTILE = "a < b, <i>it</i> ![x](http://example.com/x.png) **it** 🙂"
IT = 8

Array = NDArray[np.float64]


def shares(scores: Array, temperature: float) -> Array:
    exponentials = np.exp((scores - scores.max()) / temperature)
    return np.asarray(exponentials / exponentials.sum())


def cosines(x: Array, query: int) -> Array:
    lengths = np.linalg.norm(x, axis=1)
    return np.asarray(x @ x[query] / lengths / lengths[query])


def url(server: Server, **choices: str) -> str:
    return f"{server.url}/weighted_average?{urlencode(choices)}"


def sum_of(page: Page) -> Locator:
    return page.locator(".average")


def assert_weights(page: Page, expected: Array) -> None:
    found = sum_of(page).locator("[data-part=weight]")
    np.testing.assert_allclose(values(sum_of(page), "weight"), expected, atol=1e-5)
    for text, weight in zip(found.all_inner_texts(), expected, strict=True):
        assert_printed(text, weight)


def test_the_temperature_melts_a_hard_lookup(page: Page, server: Server) -> None:
    visit(page, url(server, scoring="Cosine", temperature="0.03"))
    labels, x = word_vectors(TIRED)
    scores = cosines(x, IT)
    assert sum_of(page).locator("tbody th").all_inner_texts() == labels
    eventually(lambda: assert_weights(page, shares(scores, 0.03)))
    slider = page.get_by_role("slider", name="Temperature T")
    slider.focus()
    for temperature in (0.1, 0.3, 1):
        slider.press("ArrowRight")
        wait_idle(page)
        eventually(partial(assert_weights, page, shares(scores, temperature)))
    weights = shares(scores, 1)
    assert_printed(
        page.get_by_text(re.compile("All 13 weights")).locator("strong").first.inner_text(), weights[IT]
    )
    slider.press("End")
    wait_idle(page)
    eventually(lambda: assert_weights(page, np.full(13, 1 / 13)))
    slider.press("Home")
    wait_idle(page)
    eventually(lambda: assert_weights(page, np.eye(13)[IT]))
    assert parse_qs(urlsplit(page.url).query)["softmax_temperature"] == ["0"]


def test_every_number_of_the_mix_can_be_checked(page: Page, server: Server) -> None:
    visit(page, url(server))
    _, x = word_vectors(TIRED)
    weights = shares(x @ x[IT], 1)
    average = sum_of(page)
    road = average.get_by_role("button", name="road:")
    # The lines are one tab stop: the first of them, and the arrow keys from there.
    average.get_by_role("button", name="the (token 2):").focus()
    for _ in range(6):
        page.keyboard.press("ArrowDown")
    expect(road).to_be_focused()
    for number in range(3):
        assert values(average, "value") == x[:, number].tolist()
        np.testing.assert_allclose(values(average, "product"), weights * x[:, number], atol=1e-6)
        np.testing.assert_allclose(values(average, "mixed"), [weights @ x[:, number]], atol=1e-6)
        assert_printed(average.locator("[data-part=mixed]").inner_text(), float(weights @ x[:, number]))
        readout = average.locator(".readout").inner_text()
        assert readout.startswith("road gives")
        assert f"Number {number + 1}:" in readout
        page.keyboard.press("ArrowRight")


def test_another_token_looks_when_it_is_picked(page: Page, server: Server) -> None:
    visit(page, url(server))
    _, x = word_vectors(TIRED)
    sentence = page.get_by_role("group", name="Which token looks")
    sentence.get_by_role("button", name="it", exact=True).focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    wait_idle(page)
    eventually(lambda: assert_weights(page, shares(x @ x[1], 1)))
    expect(sentence.get_by_role("button", name="dog")).to_have_attribute("aria-pressed", "true")
    assert parse_qs(urlsplit(page.url).query)["query"] == ["3 dog"]
    near = page.locator(".nearness")
    mixed = shares(x @ x[1], 1) @ x
    lengths = np.linalg.norm(x, axis=1)
    places = [0, 1, 2, 3, 4, *range(6, 13)]  # the second "the" is the same word
    after = near.locator("td.after").evaluate_all("all => all.map(one => Number(one.dataset.value))")
    np.testing.assert_allclose(after, (x @ mixed / lengths / np.linalg.norm(mixed))[places], atol=1e-5)
    before = near.locator("td.before").evaluate_all("all => all.map(one => Number(one.dataset.value))")
    np.testing.assert_allclose(before, cosines(x, 1)[places], atol=1e-5)


def test_what_is_typed_stays_text(page: Page, server: Server) -> None:
    visit(page, url(server, text=HOSTILE, split="Characters"))
    pieces = page.locator(".pieces")
    expect(pieces.get_by_role("button")).to_have_count(len(HOSTILE))
    pieces.get_by_role("button").last.focus()
    expect(pieces.locator("mark")).to_have_text("🙂")
    expect(pieces.locator(".typed")).to_have_text(HOSTILE)
    shown = page.get_by_role("group", name="Which token looks").get_by_role("button").all_inner_texts()
    assert shown[:10] == ["a", "<", "b", ",", "<", "i", ">", "it", "<", "/"]
    assert page.locator(".stMain i, .stMain img").count() == 0
