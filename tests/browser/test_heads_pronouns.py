"""Which head resolves the pronoun: from the map to a failure on Explore, one's own pair, and axe."""

import re

import pytest
import torch
from playwright.sync_api import Page, ViewportSize, expect

from tests import reference_bert
from tests.browser.explore import NARROW, TIRED, eventually
from tests.browser.server import Server
from tests.browser.visit import DESKTOP, PHONE, axe, visit, wait_idle

READ_MS = 90_000  # three hundred sentences, on a busy machine


def open_page(page: Page, server: Server, query: str = "") -> None:
    """Open the page and wait until all pairs, or all sentences, have been read."""
    visit(page, f"{server.url}/pronouns{query}")
    expect(page.get_by_text(re.compile("It resolves|better than always")).first).to_be_visible(
        timeout=READ_MS
    )
    wait_idle(page)


def looks(text: str, layer: int, head: int) -> dict[str, float]:
    """How much "it" looks at either noun, by transformers' own BERT; layer and head from 1."""
    given = reference_bert.tokenizer()(text, return_tensors="pt")
    with torch.inference_mode():
        weights = reference_bert.model()(**given, output_attentions=True).attentions[layer - 1][0, head - 1]
    tokens = reference_bert.tokenizer().convert_ids_to_tokens(given["input_ids"][0])
    return {noun: float(weights[tokens.index("it"), tokens.index(noun)]) for noun in ("dog", "road")}


def test_from_the_map_to_a_pair_on_explore(page: Page, server: Server) -> None:
    open_page(page, server, "?layer=4&head=2")
    page.get_by_role("gridcell", name=re.compile(r"^Head 4-4: \d+ of \d+ pairs resolved")).click()
    expect(page.get_by_role("heading", name="Head 4-4", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile("head=4"))
    page.get_by_role("radio", name="Successes").click()
    wait_idle(page)
    main = page.get_by_role("main")
    for text in (TIRED, NARROW):
        dog, road = looks(text, 4, 4).values()
        shares = [f"{100 * each:.0f}" if each >= 0.0995 else f"{100 * each:.1f}" for each in (dog, road)]
        written = rf"✓ {re.escape(text)} → dog {shares[0]}\s%, road {shares[1]}\s%"
        expect(main.get_by_text(re.compile(written))).to_be_visible()
    page.get_by_role("link", name="Open this pair on Explore").first.click()
    expect(page).not_to_have_url(re.compile("pronouns"))
    wait_idle(page)
    expect(page.get_by_role("textbox", name="Sentence", exact=True)).to_have_value(TIRED)
    expect(page.get_by_role("gridcell", selected=True)).to_have_accessible_name(re.compile("Layer 4, head 4"))
    expect(page.get_by_role("combobox", name=re.compile(r"Query \(looks\)"))).to_have_value("10 it")


def test_ones_own_pair_is_judged_and_a_wrong_one_is_told(page: Page, server: Server) -> None:
    open_page(page, server)
    other = page.get_by_role("textbox", name="Second sentence")
    for typed, said in (
        (TIRED, "The two sentences are the same"),
        ("😀 **bold** <script>alert(1)</script>", "The two sentences differ in “it”"),
        ("word " * 2000, "the model reads at most 512"),
    ):
        other.fill(typed)
        other.press("Enter")
        expect(page.get_by_test_id("stAlert").first).to_contain_text(said)
        expect(other).to_have_value(typed)
    other.fill(NARROW.replace("narrow", "wide"))
    other.press("Enter")
    here = {text: looks(text, 4, 2) for text in (TIRED, NARROW.replace("narrow", "wide"))}
    resolves = here[TIRED]["dog"] > here[TIRED]["road"]
    resolves &= here[NARROW.replace("narrow", "wide")]["road"] > here[NARROW.replace("narrow", "wide")]["dog"]
    verdict = "Head 4-2 resolves this pair." if resolves else "Head 4-2 does not resolve this pair."
    expect(page.get_by_text(verdict)).to_be_visible()
    fails = here[TIRED]["dog"] <= here[TIRED]["road"] or resolves
    page.get_by_role("link", name="Silence head 4-2 here").last.click()
    expect(page).to_have_url(re.compile("intervene"))
    wait_idle(page)
    read = TIRED if fails else NARROW.replace("narrow", "wide")
    expect(page.get_by_role("textbox", name="Sentence", exact=True)).to_have_value(read)
    expect(page.get_by_role("combobox", name=re.compile("Token that looks"))).to_have_value("10 it")
    expect(page.get_by_text("Head 4-2 is silent.")).to_be_visible()


@pytest.mark.parametrize(
    ("viewport", "colour_scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desktop", "phone"]
)
def test_axe_finds_nothing(page: Page, server: Server, viewport: ViewportSize) -> None:
    open_page(page, server)
    page.get_by_text(re.compile(r"^All \d+ heads$")).click()
    page.get_by_text("Is the best head only lucky?").click()
    wait_idle(page)

    def check() -> None:
        assert axe(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
        over = page.locator("table").evaluate_all(
            "tables => tables.map(table => table.clientWidth - table.parentElement.clientWidth)"
        )
        assert over
        assert max(over) <= 0

    eventually(check)
    page.get_by_role("radio", name="Grammar").click()
    expect(page.get_by_text(re.compile("better than always"))).to_be_visible(timeout=READ_MS)
    wait_idle(page)
    eventually(check)
