"""Whatever is typed is shown as typed and executed never; what cannot be read is refused with a kind word."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Dialog, Locator, Page, expect

from tests.browser.explore import TIRED, Explore, eventually
from tests.browser.reference import forward, names
from tests.browser.server import Server

HOSTILE = {
    "emoji": "a 🙂 smile 👩‍👩‍👧 family",
    "right to left": "שלום עולם, مرحبا بالعالم",
    "combining marks": "e\u0301a\u0308o\u0302 Z\u0351\u036b\u0343\u036aa\u0335lgo",
    "zero width": "ze\u200bro\u200d width\ufeff joiner\u2060s",
    "direction marks": "abc \u202egnirts\u202c and \u2066isolated\u2069",
    "script": "<script>alert(1)</script> <img src=x onerror=alert(2)> </p>",
    "image": "![x](http://example.invalid/x.png) and [link](http://example.invalid)",
    "formula": r"$\LaTeX$ and $$\frac{1}{2}$$ \(x\)",
    "markdown": "**markdown** _under_ # heading `code` ~~gone~~ | table |",
    "directives": ":red[x] :smile: :material/home: :blue-background[y] --> <- (c)",
    "quotes": "\"double\" 'single' `back` ``` fence \\ & &amp; &lt;b&gt; %20 + #x ?y=1",
}
PLACES = (
    "img, .katex, iframe, object, a, script, style, em, del, h1, [data-testid=stMarkdownColoredBackground]"
)


@pytest.fixture
def explore(page: Page, server: Server) -> Iterator[Explore]:
    dialogs: list[str] = []

    def note(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", note)
    yield Explore(page, server.url)
    page.remove_listener("dialog", note)
    assert dialogs == []


def box(explore: Explore, name: str) -> Locator:
    return explore.page.get_by_role("textbox", name=name)


def alerts(explore: Explore) -> Locator:
    return explore.page.get_by_test_id("stAlert")


def elements(explore: Explore) -> int:
    """How many elements there are that a text could have made."""
    return explore.page.get_by_role("main").locator(PLACES).count()


def assert_shown_as_typed(explore: Explore, text: str, tokens: tuple[str, ...], query: int) -> None:
    """The box, the tokens of the picture, the titles of the cards and the arithmetic say what was typed."""
    expect(box(explore, "Sentence")).to_have_value(text)
    expect(alerts(explore)).to_have_count(0)
    expect(explore.page.get_by_test_id("stException")).to_have_count(0)
    for side in (explore.queries, explore.keys):
        assert [label for label, _ in explore.rows(side)] == list(tokens)
    assert explore.sentence()[0][0] == names(tokens)[query]
    ranking = explore.page.get_by_text(re.compile("^Heads (with|whose)")).locator("code").first
    assert ranking.text_content() == tokens[query]
    expect(explore.page.get_by_role("combobox", name="Query")).to_have_value(f"{query + 1} {tokens[query]}")
    shown = explore.arithmetic.locator("h3").locator("bdi").first
    assert shown.text_content() == tokens[query]
    rows = explore.arithmetic.locator("[data-part=row]")
    assert set(rows.locator("bdi").all_text_contents()) <= {*tokens, "[UNK]"}


def test_hostile_texts_are_shown_as_typed(explore: Explore) -> None:
    explore.open(text="harmless words", layer=3, head=7, hide="false")
    usual = elements(explore)
    for name, text in HOSTILE.items():
        explore.type("Sentence", text)
        tokens = forward(text).labels
        query = len(tokens) // 2
        explore.queries.nth(query).click()
        explore.page.mouse.move(0, 0)
        eventually(lambda: assert_shown_as_typed(explore, text, tokens, query))  # noqa: B023
        assert elements(explore) == usual, name
        assert "head=7" in explore.page.url


def test_hostile_texts_are_shown_as_typed_in_a_change(explore: Explore) -> None:
    explore.open(show="change")
    explore.choose("Examples", "animal / street")
    usual = elements(explore)
    for name, text in HOSTILE.items():
        first, second = f"{text} cat", f"{text} dog"
        explore.type("Sentence", first)
        explore.type("Compare with", second)
        explore.choose("Show", "change")
        expect(alerts(explore)).to_have_count(0)
        notes = explore.arithmetic.locator("p bdi").all_text_contents()
        for note, typed in zip(notes, (first, second), strict=True):
            assert f"“{typed}”" in note, name
        assert explore.rows(explore.keys)[-2][0] == "cat → dog"
        # The one emphasis in the page's own words belongs to the example, which is no longer open.
        assert elements(explore) <= usual, name


def test_hostile_texts_in_a_second_sentence_that_cannot_be_read(explore: Explore) -> None:
    explore.open()
    usual = elements(explore)
    for name in ("script", "image", "formula", "markdown", "directives", "quotes"):
        text = HOSTILE[name] + " word" * 600
        explore.type("Compare with", text)
        expect(box(explore, "Compare with")).to_have_value(text)
        expect(alerts(explore)).to_have_count(1)
        # An invisible joiner keeps Streamlit from taking a part of the text for the name of an icon.
        said = (alerts(explore).locator("code").first.text_content() or "").replace("\u2060", "")
        assert said
        assert text.startswith(said.rstrip("…"))
        assert elements(explore) <= usual, name
    expect(alerts(explore)).to_contain_text("512")
    expect(box(explore, "Sentence")).to_have_value(TIRED)
    expect(explore.keys.first).to_be_visible()
    explore.type("Compare with", "The dog did not cross the road as it was too muddy.")
    expect(alerts(explore)).to_have_count(0)
    explore.choose("Show", "muddy")
    assert "muddy" in [label for label, _ in explore.rows(explore.keys)]


REFUSED = {
    "empty": ("", "Type a sentence"),
    "blank": ("   \t ", "Type a sentence"),
    "nothing that can be seen": ("\u200b\u200d\ufeff", "Type a sentence"),
    "too many tokens": ("word " * 511, "513 tokens.*512"),
    "ten thousand characters": ("lorem ipsum, " * 769 + "end", "[1-9],[0-9]{3} tokens.*512"),
}


def test_what_cannot_be_read_is_refused_and_nothing_is_lost(explore: Explore) -> None:
    explore.open(layer=2, head=9, view="Matrix", hide="true", find="next", also=[4], stage="scaled")
    for text, remedy in REFUSED.values():
        explore.type("Sentence", text)
        expect(alerts(explore)).to_have_count(1)
        expect(alerts(explore)).to_contain_text(re.compile(remedy))
        expect(box(explore, "Sentence")).to_have_value(text)
        expect(explore.matrix).to_have_count(0)
    explore.type("Sentence", "The cat is back.")
    expect(alerts(explore)).to_have_count(0)
    expect(explore.page.get_by_role("heading", name=re.compile("^Layer 2 · Heads 9"))).to_be_visible()
    expect(explore.matrix).to_have_count(2)
    expect(explore.page.get_by_role("switch", name="Hide special tokens")).to_be_checked()
    assert [explore.chosen(name) for name in ("Picture", "Stage", "Find heads")] == [
        "Matrix",
        "scaled",
        "next",
    ]
    for part in ("layer=2", "head=9", "view=Matrix", "hide=true", "find=next", "also=4", "stage=scaled"):
        assert part in explore.page.url


@pytest.mark.parametrize("text", ["a", "🙂", "x" * 10_000, "NUL\x00 here\x07", "lines\nand\ttabs\u2028too"])
def test_unusual_texts_in_a_link(explore: Explore, text: str) -> None:
    explore.open(text=text, view="Matrix")
    expect(explore.page.get_by_test_id("stException")).to_have_count(0)
    tokens = forward(text.replace("\n", " ")).tokens
    name = explore.matrix.get_attribute("aria-label") or ""
    assert f"{len(tokens)} queries by {len(tokens)} keys" in name
    if text.isprintable():
        expect(box(explore, "Sentence")).to_have_value(text)


def test_sentences_that_cannot_be_compared_token_by_token(explore: Explore) -> None:
    explore.open(text="The dog sleeps.", other="The dog sleeps well today.")
    explore.choose("Show", "change")
    expect(explore.page.get_by_test_id("stException")).to_have_count(0)
    expect(alerts(explore)).to_have_count(1)
    expect(alerts(explore)).to_contain_text(re.compile("token", re.IGNORECASE))
    explore.type("Compare with", "The dog runs.")
    expect(alerts(explore)).to_have_count(0)
    assert "sleeps → runs" in [label for label, _ in explore.rows(explore.keys)]


def test_special_tokens_that_were_typed_are_not_hidden(explore: Explore) -> None:
    explore.open(text="[CLS] [SEP] [MASK]", hide="true")
    assert [label for label, _ in explore.rows(explore.keys)] == ["[CLS]", "[SEP]", "[MASK]"]
