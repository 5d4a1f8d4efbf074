"""Classroom conditions: a host without https, and hostile input."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests import reference_bert
from tests.browser import chromium
from tests.browser.explore import Explore
from tests.browser.server import Server
from tests.browser.visit import Faults, eventually


def test_page_and_copied_link_work_without_https(page: Page, server: Server, faults: Faults) -> None:
    url = server.url.replace("127.0.0.1", chromium.CLASSROOM)
    faults.hosts.add(urlsplit(url).netloc)
    pupil = Explore(page, url)
    pupil.open(show="narrow")
    assert page.evaluate("isSecureContext") is False
    pupil.open_head(6, 12)
    expect(page.get_by_role("heading", name="Layer 6 · Head 12")).to_be_visible()
    expect(page).to_have_url(re.compile(re.escape("layer=6")))

    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("Copied ✓")).to_be_visible()
    box = page.get_by_role("textbox", name="Sentence")
    box.fill("")
    box.press("Control+v")
    expect(box).to_have_value(page.url)


LETTERS = (
    "a 🙂 👩‍👩‍👧 e\u0301a\u0308 Z\u0351\u036b\u036aa\u0335 ze\u200bro\u200d wi\ufeff jo\u2060s "
    "שלום עולם, مرحبا abc \u202egnirts\u202c and \u2066isolated\u2069"
)
MARKED = (
    "![x](http://example.invalid/x.png) [l](http://example.invalid) **b** _u_ # h `c` ~~g~~ |t| "
    r"$\LaTeX$ $$\frac{1}{2}$$ \(x\) :red[x] :smile: :material/home: --> (c)"
)
CODE = (
    "<script>alert(1)</script> <img src=x onerror=alert(2)> </p> "
    "\"double\" 'single' `back` ``` fence \\ & &amp; &lt;b&gt; %20 + #x ?y=1"
)
PLACES = (
    "img, .katex, iframe, object, a, script, style, em, del, h1, [data-testid=stMarkdownColoredBackground]"
)


@eventually
def assert_shown_as_typed(explore: Explore, text: str, tokens: tuple[str, ...], query: int) -> None:
    """Check that the text box, the tokens, the card titles and the arithmetic show the text as typed."""
    page = explore.page
    expect(page.get_by_role("textbox", name="Sentence")).to_have_value(text)
    for alert in ("stAlert", "stException"):
        expect(page.get_by_test_id(alert)).to_have_count(0)
    for side in (explore.queries, explore.keys):
        assert [label for label, _ in explore.rows(side)] == list(tokens)
    assert explore.sentence()[0][0].startswith(tokens[query])
    ranking = page.get_by_text(re.compile("^Heads (with|whose)")).locator("code").first
    assert ranking.text_content() == tokens[query]
    expect(page.get_by_role("combobox", name="Query")).to_have_value(f"{query + 1} {tokens[query]}")
    assert explore.arithmetic.locator("h3 code").first.text_content() == tokens[query]
    rows = explore.arithmetic.locator("td code")
    assert set(rows.all_text_contents()) <= {*tokens, "[UNK]"}


@pytest.mark.parametrize("text", [MARKED, f"{LETTERS} {CODE}"], ids=["marked", "letters and code"])
def test_a_hostile_text_is_shown_as_typed(explore: Explore, text: str) -> None:
    explore.open(text="harmless words", layer=3, head=7, hide="false")
    places = explore.page.get_by_role("main").locator(PLACES)
    usual = places.count()
    explore.type("Sentence", text)
    read = reference_bert.tokenizer()(text, return_offsets_mapping=True)
    pieces = zip(read.tokens(), read["offset_mapping"], strict=True)
    tokens = tuple(f"{piece} {text[slice(*span)]}" if piece == "[UNK]" else piece for piece, span in pieces)
    query = len(tokens) // 2
    explore.queries.nth(query).click()
    explore.page.mouse.move(0, 0)
    assert_shown_as_typed(explore, text, tokens, query)
    assert places.count() == usual
    assert "head=7" in explore.page.url
