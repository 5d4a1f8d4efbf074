"""Long texts: up to the model's own limit the page works, and the picture thins out until it can be read."""

import re
from itertools import cycle, islice

import pytest
from playwright.sync_api import Page, expect

from tests.browser.explore import Explore, assert_printed, assert_ranked, eventually, strongest, svg
from tests.browser.reference import forward, names
from tests.browser.server import Server
from tests.browser.visit import wait_idle

WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "while", "it", "rains", "again")

# How many colours a picture has: a blank one has one, a drawn one many.
_COLOURS = """
canvas => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
}
"""


def text_of(tokens: int) -> str:
    """A text of so many tokens, the two special ones included."""
    text = " ".join(islice(cycle(WORDS), tokens - 2))
    assert len(forward(text).tokens) == tokens
    return text


@pytest.fixture
def explore(page: Page, server: Server) -> Explore:
    return Explore(page, server.url)


@pytest.mark.parametrize("tokens", [128, 512])
def test_a_long_text_is_drawn_and_another_head_opened(explore: Explore, tokens: int) -> None:
    page = explore.page
    text = text_of(tokens)
    read = forward(text)
    called = names(read.tokens)
    query = tokens - 10
    explore.open(text=text, query=f"{query + 1} {read.tokens[query]}")
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
    assert len(explore.rows(explore.keys)) == tokens
    for layer, head in ((4, 2), (2, 9)):
        explore.open_head(layer, head)
        expect(explore.picture).to_have_attribute("data-head", f"{layer}-{head}")
        row = read.weights[layer - 1, head - 1, query]
        largest = strongest(row, called)

        def check() -> None:
            page.mouse.move(0, 0)
            assert_ranked(explore.sentence()[1:], largest)  # noqa: B023

        eventually(check)
        assert 0 < int(explore.picture.get_attribute("data-lines") or 0) <= 32
        assert explore.picture.locator("canvas").first.evaluate(_COLOURS) > 20
    most = int(row.argmax())
    expect(explore.keys.nth(most)).to_have_text(re.compile(r"\d %$"))
    assert_printed(explore.rows(explore.keys)[most][1], row[most])


def test_lines_and_labels_thin_out(explore: Explore) -> None:
    page = explore.page
    tokens = 128
    explore.open(text=text_of(tokens), query="every token", layer=1, head=1)
    drawn, of = re.findall(r"The (\d+) strongest of ([\d,]+) lines", explore.words.inner_text())[0]
    assert int(drawn) == int(explore.picture.get_attribute("data-lines") or 0)
    assert int(drawn) < 1000 < int(of.replace(",", ""))

    explore.choose("Picture", "Matrix")
    with page.expect_download() as download:
        page.get_by_role("button", name="SVG").click()
    picture = svg(download.value.path())
    labels = [text for text in picture.itertext() if text in WORDS]
    assert 16 < len(labels) < tokens

    explore.choose("Picture", "Heatmap")
    expect(page.locator(".js-plotly-plot")).to_be_visible()
    wait_idle(page)
    ticks = [text for text in page.locator(".js-plotly-plot text").all_text_contents() if text in WORDS]
    assert 16 < len(ticks) <= 64
