"""A room of thirty: an address without https, visitors side by side, and whatever is typed."""

import re
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, expect

from tests.browser import chromium
from tests.browser.explore import TIRED, Explore, assert_ranked, strongest
from tests.browser.reference import forward, names
from tests.browser.server import Server
from tests.browser.visit import DESKTOP, Faults, eventually, wait_idle


def test_the_page_and_its_copied_link_work_by_name_without_https(
    page: Page, server: Server, faults: Faults
) -> None:
    """Somebody opens the page of the teacher's computer by its name."""
    address = server.url.replace("127.0.0.1", chromium.CLASSROOM)
    faults.hosts.add(urlsplit(address).netloc)
    pupil = Explore(page, address)
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


def test_two_visitors_do_not_disturb_each_other(explore: Explore, browser: Browser, faults: Faults) -> None:
    texts = [TIRED, "A bird in the hand is worth two in the bush."]
    neighbour = browser.new_context(viewport=DESKTOP)
    faults.watch(neighbour)
    visitors = [explore, Explore(neighbour.new_page(), explore.url)]
    for visitor, text in zip(visitors, texts, strict=True):
        visitor.open(text=text, hide="true")
    for visitor in visitors:
        visitor.head(6, 12).click()
    for visitor in visitors:
        wait_idle(visitor.page)
        visitor.queries.nth(2).click()
    for visitor, text in zip(visitors, texts, strict=True):
        shown = forward(text).shown(hide=True)
        largest = strongest(shown.weights[5, 11, 2], shown.names)
        wait_idle(visitor.page)

        @eventually
        def check() -> None:
            visitor.page.mouse.move(0, 0)  # noqa: B023
            [(name, _), *named] = visitor.sentence()  # noqa: B023
            assert name == shown.names[2]  # noqa: B023
            assert_ranked(named, largest)  # noqa: B023

        check()
    neighbour.close()


QUICK = ((20, 4, 2, 3), (40, 3, 3, 4), (30, 4, 2, 5))


def test_two_quick_choices_are_both_kept(explore: Explore) -> None:
    page = explore.page
    explore.open(layer=1, head=1)
    for head_first in (True, False):
        for gap, layer, head, query in QUICK:
            head_button, token = explore.head(layer, head), explore.queries.nth(query)
            both = [head_button.element_handle(), token.element_handle()]
            first, second = both if head_first else reversed(both)
            page.evaluate(
                "([a, b, gap]) => { a.click(); setTimeout(() => b.click(), gap); }", [first, second, gap]
            )
            title = page.get_by_role("heading", name=f"Layer {layer} · Head {head}", exact=True)
            expect(title).to_be_visible()
            expect(token).to_have_attribute("aria-pressed", "true")
            wait_idle(page)
            expect(title).to_be_visible()
            expect(token).to_have_attribute("aria-pressed", "true")


# Whatever is typed is shown as typed, and executed never.

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
def shown_as_typed(explore: Explore, text: str, tokens: tuple[str, ...], query: int) -> None:
    """The box, the tokens of the picture, the titles of the cards and the arithmetic say what was typed."""
    page = explore.page
    expect(page.get_by_role("textbox", name="Sentence")).to_have_value(text)
    for alert in ("stAlert", "stException"):
        expect(page.get_by_test_id(alert)).to_have_count(0)
    for side in (explore.queries, explore.keys):
        assert [label for label, _ in explore.rows(side)] == list(tokens)
    assert explore.sentence()[0][0] == names(tokens)[query]
    ranking = page.get_by_text(re.compile("^Heads (with|whose)")).locator("code").first
    assert ranking.text_content() == tokens[query]
    expect(page.get_by_role("combobox", name="Query")).to_have_value(f"{query + 1} {tokens[query]}")
    shown = explore.arithmetic.locator("h3").locator("bdi").first
    assert shown.text_content() == tokens[query]
    rows = explore.arithmetic.locator("[data-part=row]")
    assert set(rows.locator("bdi").all_text_contents()) <= {*tokens, "[UNK]"}


def test_a_hostile_text_is_shown_as_typed(explore: Explore) -> None:
    explore.open(text="harmless words", layer=3, head=7, hide="false")
    made = explore.page.get_by_role("main").locator(PLACES)
    usual = made.count()
    text = f"{LETTERS} {MARKED} {CODE}"
    explore.type("Sentence", text)
    tokens = forward(text).labels
    query = len(tokens) // 2
    explore.queries.nth(query).click()
    explore.page.mouse.move(0, 0)
    shown_as_typed(explore, text, tokens, query)
    assert made.count() == usual
    assert "head=7" in explore.page.url
