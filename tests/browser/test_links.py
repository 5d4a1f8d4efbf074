"""A link opens exactly the view it was copied from, on a server nobody has visited, and forgives nonsense."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.explore import NARROW, TIRED, Explore, eventually
from tests.browser.server import ROOT, Server
from tests.browser.visit import DESKTOP, Faults, visit, wait_idle

DEFAULT = "explore"  # lives at "/"
PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py"))


@pytest.fixture
def explore(page: Page, server: Server) -> Explore:
    return Explore(page, server.url)


def everything(page: Page) -> tuple[str, list[str]]:
    """All that the page says (texts, names, values, what is selected), and every picture on it."""
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement?.blur()")
    wait_idle(page)
    canvases = page.get_by_role("main").locator("canvas")
    pictures = canvases.evaluate_all("all => all.map(one => one.width * one.height ? one.toDataURL() : '')")
    return page.get_by_role("main").aria_snapshot(), pictures


def assert_link_reproduces(page: Page, browser: Browser, faults: Faults) -> None:
    """Somebody else who opens this page's address has everything as it is here."""
    here = everything(page)
    visitor = browser.new_context(viewport=DESKTOP)
    try:
        faults.watch(visitor)
        other = visitor.new_page()
        visit(other, page.url)

        def check() -> None:
            there = everything(other)
            assert there[0] == here[0]
            assert there[1] == here[1]

        eventually(check)
    finally:
        visitor.close()


@pytest.mark.parametrize("name", PAGES)
def test_the_first_hit_on_a_server_has_the_whole_frame(page: Page, server: Server, name: str) -> None:
    server.forget_visitors()
    page.goto(f"{server.url}/{'' if name == DEFAULT else name}")
    assert_framed(page)
    menu(page).filter(has_text="About").click()
    expect(page.get_by_role("heading", name="About", exact=True)).to_be_visible()
    wait_idle(page)


def test_a_link_that_is_the_first_hit_on_a_new_server_keeps_its_choices(
    page: Page, fresh_server: Callable[[], Server]
) -> None:
    explore = Explore(page, fresh_server().url)
    explore.open(show="narrow", layer=6, head=12, query="3 dog", key="8 road", hide="true", view="Matrix")
    expect(page.get_by_role("heading", name="Layer 6 · Head 12")).to_be_visible()
    assert explore.chosen("Show") == "narrow"
    assert explore.chosen("Picture") == "Matrix"
    expect(page.get_by_role("switch", name="Hide special tokens")).to_be_checked()
    expect(explore.words).to_have_text(re.compile(r"^dog → road \d"))
    assert_framed(page)
    menu(page).filter(has_text="Explore").click()
    expect(page.get_by_role("grid", name="All heads")).to_be_visible()
    wait_idle(page)


def menu(page: Page) -> Locator:
    return page.get_by_role("navigation", name="App pages").get_by_role("link")


def assert_framed(page: Page) -> None:
    """The page is there, below the menu and without a complaint."""
    expect(page.get_by_role("heading").first).to_be_visible()
    expect(page).to_have_title(re.compile("attnviz"))
    entries = ("Explore", "Learn", "Heads", "Translate", "Models", "About")
    # Pictures stand in the menu once somebody has opened a model for them: another test, on this server.
    expect(menu(page).filter(has_not_text="Pictures")).to_have_text([re.compile(entry) for entry in entries])
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(page.get_by_test_id("stAlert")).to_have_count(0)


def test_the_link_of_a_view_made_by_clicking_opens_that_view(
    explore: Explore, browser: Browser, faults: Faults
) -> None:
    page = explore.page
    explore.open()
    explore.choose("Show", "change")
    explore.open_head(5, 9)
    page.get_by_role("button", name="Several", exact=True).click()
    for head in ("4", "11"):
        page.get_by_role("group", name="Heads of layer 5").get_by_role(
            "button", name=head, exact=True
        ).click()
        wait_idle(page)
    explore.pick(query=4, key=7)
    explore.choose("Find heads", "itself")
    explore.toggle("Hide special tokens")
    explore.choose("Picture", "Matrix")
    explore.toggle("Scale colours per head")
    for part in (
        "show=change",
        "layer=5",
        "head=",
        "also=",
        "query=5+not",
        "find=itself",
        "hide=true",
        "view=Matrix",
    ):
        expect(page).to_have_url(re.compile(re.escape(part)))
    assert_link_reproduces(page, browser, faults)


def test_the_link_of_the_visitors_own_sentence_opens_it(
    explore: Explore, browser: Browser, faults: Faults
) -> None:
    explore.open()
    explore.pick(query=12, key=2)
    explore.type("Sentence", "Naïve tokenization & un#believable 100% + “quotes”? Ünïcödé 🙂 = yes/no.")
    explore.toggle("Merge pieces")
    explore.pick(query=3)
    assert_link_reproduces(explore.page, browser, faults)


def test_the_link_of_a_stage_opens_it(explore: Explore, browser: Browser, faults: Faults) -> None:
    explore.open()
    explore.choose("Examples", "trophy / suitcase")
    explore.choose("Show", "small")
    explore.choose("Stage", "scaled")
    explore.page.get_by_role("button", name="All lines").click()
    wait_idle(explore.page)
    assert_link_reproduces(explore.page, browser, faults)


def test_after_every_change_of_the_sentence_the_link_still_opens_what_is_seen(
    explore: Explore, browser: Browser, faults: Faults
) -> None:
    explore.open(show="narrow", query="13 narrow", key="8 road")
    explore.type("Sentence", "Birds sing.")
    assert_link_reproduces(explore.page, browser, faults)
    explore.choose("Examples", "keys / cabinet")
    assert_link_reproduces(explore.page, browser, faults)


OWN = "Own words travel along."

NONSENSE: dict[str, Any] = {
    "layer": "99",
    "head": "abc",
    "also": ["0", "77"],
    "view": "Nope",
    "model": "gpt9",
    "show": "zzz",
    "query": "77 xyz",
    "key": "it",
    "stage": "softmax",
    "scale": "huge",
    "find": "**every** <script>alert(1)</script>",
    "hide": "maybe",
    "merge": "2",
    "unknown": [],
    "![x](http://example.invalid/x.png)": [],
}


def test_a_link_full_of_nonsense_gets_the_defaults_and_a_word_for_each(explore: Explore) -> None:
    page = explore.page
    explore.open()
    usual, _ = everything(page)
    explore.open(**{name: asked or "<script>alert(1)</script>" for name, asked in NONSENSE.items()})
    [notice] = page.get_by_test_id("stAlert").all()
    said = notice.locator("code").all_inner_texts()
    for name, asked in NONSENSE.items():
        for text in [name, *([asked] if isinstance(asked, str) else asked)]:
            assert text in said
    offer = page.get_by_role("link", name="Open gpt9 on this server")
    expect(offer).to_be_visible()
    assert_without(everything(page)[0], usual)
    expect(page.locator("img[src*=example]")).to_have_count(0)
    explore.open_head(1, 1)
    expect(notice).to_have_count(0)
    expect(offer).to_have_count(0)


def assert_without(shown: str, usual: str) -> None:
    """The page says nothing else than usual, but for an alert."""
    extra = [line for line in shown.splitlines() if line not in set(usual.splitlines())]
    missing = [line for line in usual.splitlines() if line not in set(shown.splitlines())]
    assert missing == []
    # Beside the alert, a way to the model that the link asked for.
    told = r"\s*- (alert|paragraph|code|text|status|link|/url)"
    assert all(re.match(told, line) for line in extra), extra


@pytest.mark.parametrize(
    "choices",
    [
        {
            "layer": ["2", "3"],
            "view": ["Matrix", "Lines"],
            "hide": ["true", "false"],
            "text": [NARROW, TIRED],
        },
        {"layer": "", "head": "1.5", "view": "", "hide": "", "show": "", "model": "", "query": ""},
        {"layer": "-1", "head": "1e99", "query": "0", "key": "9" * 2000, "view": "matrix", "show": "Narrow"},
    ],
    ids=["repeated", "empty", "beyond"],
)
def test_any_link_opens_a_page_that_works_and_says_what_it_left_out(
    explore: Explore, choices: dict[str, Any]
) -> None:
    explore.open(**choices)
    expect(explore.page.get_by_test_id("stException")).to_have_count(0)
    expect(explore.page.get_by_test_id("stAlert")).to_have_count(1)
    explore.open_head(6, 12)
    expect(explore.page.get_by_role("heading", name="Layer 6 · Head 12")).to_be_visible()
    expect(explore.page.get_by_test_id("stAlert")).to_have_count(0)


def test_a_link_without_a_sentence_is_not_left_without_a_word(explore: Explore) -> None:
    explore.open(text="", layer=2)
    expect(explore.page.get_by_test_id("stAlert")).to_have_count(1)
    explore.type("Sentence", "Here it is.")
    expect(explore.page.get_by_role("heading", name=re.compile("^Layer 2 · "))).to_be_visible()
    expect(explore.page.get_by_test_id("stAlert")).to_have_count(0)


def test_the_sentence_of_a_link_goes_along_to_every_other_page(page: Page, server: Server) -> None:
    birds = "Birds sing in the morning."
    sentence = page.get_by_role("textbox", name=re.compile("^(Sentence|First sentence)$"))
    for link in (re.compile("^Open .* in Explore$"), "Silence it", "Intervene"):
        page.goto("about:blank")
        visit(page, f"{server.url}/behaviour?text=Birds+sing+in+the+morning.")
        page.get_by_role("link", name=link).first.click()
        expect(page).not_to_have_url(re.compile("behaviour"))
        expect(sentence).to_have_value(birds)
    page.get_by_role("link", name="Compare", exact=False).first.click()
    expect(page.get_by_role("textbox", name="Second sentence")).to_have_value("")
    expect(sentence).to_have_value(birds)
    wait_idle(page)


def test_a_failure_opens_that_very_pair_on_explore(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/pronouns?layer=4&head=4")
    link = page.get_by_role("link", name="Open this pair on Explore").nth(1)
    asked = parse_qs(urlsplit(link.get_attribute("href", timeout=90_000) or "").query)
    assert asked["text"] != [TIRED]
    link.click()
    expect(page.get_by_role("textbox", name="Sentence", exact=True)).to_have_value(asked["text"][0])
    expect(page.get_by_role("textbox", name=re.compile("^Compare with"))).to_have_value(asked["other"][0])
    wait_idle(page)


def test_the_back_button_returns_to_the_opening_sentence(explore: Explore) -> None:
    page = explore.page
    explore.open()
    opening = page.get_by_role("textbox", name="Sentence").input_value()
    page.get_by_role("link", name="About").click()
    expect(page.get_by_role("heading", name="About")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("textbox", name="Sentence")).to_have_value(opening)
    wait_idle(page)
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
    expect(explore.keys.first).to_be_visible()


def test_one_step_back_leaves_a_page_and_returns_to_what_it_showed(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/heads")
    page.locator(".st-key-card-plane").click(position={"x": 5, "y": 5})  # all of a card is a link
    expect(page).to_have_url(re.compile("/plane"))
    wait_idle(page)
    expect(menu(page).filter(has_text="Heads")).to_have_css("font-weight", "600")
    box = page.get_by_role("textbox", name="Sentence")
    box.fill(OWN)
    box.press("Enter")
    expect(page).to_have_url(re.compile("text=Own\\+words"))
    wait_idle(page)
    for name, question in (("Beyond weights", "Do the weights"), ("Explore", "All 72 heads")):
        page.get_by_role("main").get_by_role("link", name=name).click()
        expect(page.get_by_role("heading", name=question)).to_be_visible()
        wait_idle(page)
        expect(box).to_have_value(OWN)
    for question in ("Do the weights", "Where do queries"):
        page.go_back()
        expect(page.get_by_role("heading", name=question)).to_be_visible()
        wait_idle(page)
        expect(box).to_have_value(OWN)
        expect(page.get_by_test_id("stAlert")).to_have_count(0)
    page.go_back()  # before the sentence was typed
    wait_idle(page)
    page.go_back()
    expect(page.get_by_role("heading", name="Heads at work")).to_be_visible()
    wait_idle(page)


def test_a_link_to_the_first_page_opens_it_in_another_window(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/plane")
    link = page.get_by_role("main").get_by_role("link", name="Explore")
    with page.context.expect_page() as opened:
        link.click(modifiers=["ControlOrMeta"])
    expect(opened.value.get_by_role("heading", name="All 72 heads")).to_be_visible()
    wait_idle(opened.value)
    opened.value.close()
    expect(page.get_by_role("heading", name="Where do queries")).to_be_visible()
