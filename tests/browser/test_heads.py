"""One walk through each tool of Heads: its main control, numbers, file and link.

`tests/app/heads` checks the computed numbers and the texts of the pages.
"""

import re
from pathlib import Path

import numpy as np
from playwright.sync_api import Locator, Page, Position, expect

from attnviz.app.examples import OPENING
from attnviz.experiments import pairs
from attnviz.experiments.corpus import bundled
from attnviz.trace import Floats
from tests.browser.explore import TIRED, svg
from tests.browser.server import Server
from tests.browser.visit import (
    COMPUTED_MS,
    assert_accessible,
    box_of,
    eventually,
    open_page,
    save,
    type_into,
    wait_idle,
)
from tests.reference_bert import forward

IT, DOG, ROAD = 9, 2, 7
HOSTILE = "<script>alert(1)</script> **too**"


def numbers(cells: Locator) -> list[float]:
    """Return the values of all cells, read in one call, since the picture may be redrawn between calls."""
    return [float(value or "nan") for value in cells.evaluate_all("all => all.map(x => x.dataset.value)")]


# Score heads


def mean_weight_to_cls(text: str) -> Floats:
    """Return the mean weight from non-special tokens to [CLS], as [layer, head]."""
    return np.asarray(forward(text).weights[:, :, 1:-1, 0].mean(axis=-1))


def test_score_heads_by_rule_and_by_pronouns(page: Page, server: Server, tmp_path: Path) -> None:
    lines = (TIRED, "The ferry was late again.", "Bees dance, and bears dance, too.")
    open_page(page, server, "score_heads", test="first token", text=TIRED)
    heads = page.get_by_role("grid").first.get_by_role("gridcell")
    expect(heads).to_have_count(72, timeout=COMPUTED_MS)
    mean = np.mean([mean_weight_to_cls(line) for line in lines], axis=0)

    @eventually
    def check(values: Floats) -> None:
        np.testing.assert_allclose(numbers(heads), values.ravel(), atol=1e-4)

    page.get_by_role("radio", name="Paste").click()
    sentences = page.get_by_role("textbox", name="Sentences, one per line")
    expect(sentences).to_have_value(TIRED)
    check(mean_weight_to_cls(TIRED))
    type_into(page, "Sentences, one per line", "\n".join([*lines, "", "word " * 600]), "Control+Enter")
    check(mean)
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
    expect(page.get_by_text("Skipped: 1 line")).to_be_visible()
    wait_idle(page)
    assert_accessible(page)

    test = page.get_by_role("combobox", name=re.compile("Test"))
    test.fill("pronoun to noun")
    test.press("Enter")
    box = page.get_by_role("textbox", name="Pairs, one per line")
    expect(box).to_have_value(pairs.EXAMPLE)
    expect(page.get_by_role("gridcell", name="Head 4-2: 100 %").first).to_be_visible()
    wait_idle(page)  # no head can be selected while the pairs are read
    page.get_by_role("gridcell", name="Head 4-4:").first.click()
    expect(page).to_have_url(re.compile(r"head=4"))
    file = save(page, "Save as CSV", tmp_path)
    assert file.name == "attnviz-minilm-scores-pronoun-to-noun.csv"
    assert "pronoun to noun" in file.read_text("utf-8")
    page.get_by_role("link", name="Open head 4-4 in Explore").click()
    wait_idle(page)
    expect(page.get_by_role("textbox", name="Sentence", exact=True)).to_have_value(TIRED)
    expect(page.get_by_role("gridcell", selected=True)).to_have_accessible_name(re.compile("Layer 4, head 4"))


# Beyond weights


def test_beyond_weights_explains_the_selected_cell(page: Page, server: Server) -> None:
    text = "The dog saw <u>it</u>."  # short, because each token is occluded once
    open_page(page, server, "beyond_weights", text=text, layer=2, head=7)

    grid = page.get_by_role("grid", name="rank in the row")

    def cells(name: str) -> Locator:
        row = grid.get_by_role("row").filter(has=page.get_by_role("rowheader", name=name))
        return row.get_by_role("gridcell")

    expect(cells("Rollout").first).to_be_visible(timeout=COMPUTED_MS)
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    wait_idle(page)
    dog, it = 1, 6
    expect(cells("Weights of head 2-7").nth(dog)).to_have_accessible_name(re.compile(r"%, rank \d of \d"))
    cells("Rollout").nth(dog).click()
    expect(page.get_by_text("The product over all layers")).to_be_visible()
    expect(cells("Rollout").nth(it)).to_have_accessible_name(re.compile("the token itself"))
    assert_accessible(page)


# Compare


def point(page: Page, picture: int, row: int, column: int, size: int, click: bool = False) -> None:
    """Hover over a cell in a picture of `size` × `size` words, or click it."""
    cells = page.get_by_role("application").nth(picture)
    cells.scroll_into_view_if_needed()
    box = box_of(cells)
    position: Position = {"x": (column + 0.5) * box["width"] / size, "y": (row + 0.5) * box["height"] / size}
    (cells.click if click else cells.hover)(position=position)


def test_compare_shows_two_sentences_and_their_difference(page: Page, server: Server, tmp_path: Path) -> None:
    open_page(page, server, "compare")
    point(page, 2, IT, DOG, size=15)
    expect(page.locator("p.words").nth(2)).to_have_text(re.compile(r"^it → dog −\d+\.\d points$"))
    page.get_by_role("application").nth(1).focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("p.words").nth(1)).to_contain_text(re.compile(r"^it → the .*%"))
    head = page.get_by_role("gridcell", name="Head 6-9:")
    head.click()
    wait_idle(page)
    expect(page.get_by_role("spinbutton", name="Layer")).to_have_value("6")
    expect(page).to_have_url(re.compile("layer=6&head=9"))
    point(page, 2, 11, DOG, size=15, click=True)
    expect(page).to_have_url(re.compile("query=12\\+too"))
    wait_idle(page)
    file = save(page.locator(".st-key-compared-difference .root"), "SVG", tmp_path)
    assert "attnviz-minilm-head6-9-two-sentences-difference" in file.name
    saved_text = " ".join(svg(file).itertext())
    for part in (OPENING.text, OPENING.other, "Head 6-9, second − first"):
        assert part in saved_text
    page.get_by_text("How words are aligned").click()
    assert_accessible(page)


# Intervene


def test_intervene_ablates_heads(page: Page, server: Server) -> None:
    open_page(page, server, "intervene", open="Which head matters most?")
    expect(page.get_by_role("button", name="Undo “Ablate head 4-2”")).to_be_visible()
    complete_link = re.compile(r"(?=.*text=The\+dog)(?=.*edits=encoder\+4-2)")
    expect(page).to_have_url(complete_link)
    page.evaluate("history.pushState({}, '', 'intervene?head=2')")  # as in a late message from the server
    expect(page).to_have_url(complete_link)
    bars = page.get_by_role("table", name="Change of each token’s output").locator("tbody tr")
    expect(bars).to_have_count(15)
    angles = [float(re.findall(r"([\d.]+)°", text)[0]) for text in bars.all_inner_texts()]
    expect(page.get_by_text("The output of")).to_contain_text(f"{angles[IT]}°")
    rank = page.get_by_text(re.compile(r"rank \d+ of 72"))
    expect(rank).to_be_visible(timeout=COMPUTED_MS)
    cell = page.get_by_role("gridcell", name="Head 6-12")
    expect(cell).to_have_accessible_name(re.compile(r"^Head 6-12: \d+\.\d°$"))
    cell.click()
    page.get_by_role("button", name="Ablate head 6-12").click()
    expect(page.get_by_text("The output of")).to_be_visible()
    wait_idle(page)
    assert_accessible(page)


def test_links_keep_the_removal_of_the_initial_change(page: Page, server: Server) -> None:
    open_page(page, server, "intervene")
    page.get_by_role("button", name="Undo “Ablate head 4-2”").click()
    expect(page).to_have_url(re.compile(r"edits=(&|$)"))
    page.reload()
    wait_idle(page)
    expect(page.get_by_role("button", name="Ablate head 4-2", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile(r"edits=(&|$)"))


# Find

PLOTLY = "() => performance.getEntriesByType('resource').filter(({ name }) => /plotly/i.test(name)).length"


def test_find_lists_similar_tokens_of_a_head_from_explore(page: Page, server: Server) -> None:
    open_page(page, server, "", text=TIRED, layer=4, head=2, query="10 it")
    page.get_by_role("button", name="More about this head").click()
    assert page.evaluate(PLOTLY) == 0
    page.get_by_role("link", name="Similar tokens in head 4-2").click()
    expect(page.get_by_role("heading", name="Most similar queries")).to_be_visible(timeout=COMPUTED_MS)
    expect(page.get_by_role("combobox", name=re.compile("Token"))).to_have_value("10 it")
    plot = page.locator(".js-plotly-plot")
    expect(plot).to_be_in_viewport(ratio=0.9)  # beside the list
    page.get_by_role("radio", name="Paste").click()
    first = "The train was crowded, but it was quiet."
    others = [line for line in bundled().splitlines()[:60] if line != first]
    type_into(
        page, "Sentences, one per line", "\n".join([first, f"{HOSTILE} it was.", *others]), "Control+Enter"
    )
    attends = page.get_by_role("paragraph").filter(has_text="it attends most to train (")
    expect(attends.first).to_be_visible(timeout=COMPUTED_MS)
    wait_idle(page)
    assert_accessible(page)
    page.get_by_role("link", name="Open in Explore").first.click()
    expect(page).not_to_have_url(re.compile("find"))
    wait_idle(page)
    expect(page.get_by_role("textbox", name="Sentence", exact=True)).to_have_value(first)
    expect(page.get_by_role("combobox", name=re.compile(r"From \(query\)"))).to_have_value("8 it")
    expect(page.get_by_role("gridcell", selected=True)).to_have_accessible_name(re.compile("Layer 4, head 2"))
