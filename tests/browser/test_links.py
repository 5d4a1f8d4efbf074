"""A link opens exactly the view it was copied from, on a server nobody has visited, and forgives nonsense."""

import re

from playwright.sync_api import Page, expect

from tests.browser.explore import NARROW, TIRED, Explore
from tests.browser.server import Server
from tests.browser.visit import assert_link_reproduces, menu, type_into, visit, wait_idle


def test_a_link_that_is_the_first_hit_on_a_new_server_keeps_its_choices(page: Page, explore: Explore) -> None:
    explore.open(show="narrow", layer=6, head=12, query="3 dog", key="8 road", hide="true", view="Matrix")
    expect(page.get_by_role("heading", name="Layer 6 · Head 12")).to_be_visible()
    assert explore.chosen("Show") == "narrow"
    assert explore.chosen("Picture") == "Matrix"
    expect(page.get_by_role("switch", name="Hide special tokens")).to_be_checked()
    expect(explore.words).to_have_text(re.compile(r"^dog → road \d"))
    menu(page).filter(has_text="Explore").click()
    expect(page.get_by_role("grid", name="All heads")).to_be_visible()
    wait_idle(page)


def test_the_link_of_a_view_made_by_clicking_opens_that_view_and_so_does_the_next_one(
    explore: Explore,
) -> None:
    page = explore.page
    explore.open(query="13 too", key="3 dog")
    explore.type("Sentence", "Naïve tokenization & un#believable 100% + “quotes”? Ünïcödé 🙂 = yes/no.")
    explore.toggle("Merge pieces")
    explore.open_head(5, 9)
    page.get_by_role("button", name="Several", exact=True).click()
    for head in ("4", "11"):
        page.get_by_role("group", name="Heads of layer 5").get_by_role(
            "button", name=head, exact=True
        ).click()
        wait_idle(page)
    explore.pick(query=4, key=7)
    explore.toggle("Hide special tokens")
    explore.choose("Picture", "Matrix")
    assert_link_reproduces(page)
    for part in ("layer=5", "head=", "also=", "hide=true", "view=Matrix"):
        expect(page).to_have_url(re.compile(re.escape(part)))


OWN = "Own words travel along."

NONSENSE = {
    "layer": "99",
    "head": "abc",
    "model": "gpt9",
    "query": "77 xyz",
    "filter": "**every** <script>alert(1)</script>",
    "![x](http://example.invalid/x.png)": "<script>alert(1)</script>",
}


def test_a_link_full_of_nonsense_opens_a_page_that_works_and_has_a_word_for_each(explore: Explore) -> None:
    page = explore.page
    explore.open(**NONSENSE, view=["Matrix", "Lines"], key="9" * 2000, text=[NARROW, TIRED])
    expect(page.get_by_test_id("stException")).to_have_count(0)
    [notice] = page.get_by_test_id("stAlert").all()
    assert {*NONSENSE, *list(NONSENSE.values())[:-1]} <= set(notice.locator("code").all_inner_texts())
    offer = page.get_by_role("link", name="Open gpt9 on this server")
    expect(offer).to_be_visible()
    expect(page.locator("img[src*=example]")).to_have_count(0)
    explore.open_head(6, 12)
    expect(page.get_by_role("heading", name="Layer 6 · Head 12")).to_be_visible()
    expect(notice).to_have_count(0)
    expect(offer).to_have_count(0)


def test_each_step_back_undoes_one_thing(explore: Explore) -> None:
    page = explore.page
    explore.open()
    box = page.get_by_role("textbox", name="Sentence")
    opening = box.input_value()
    explore.type("Sentence", OWN)
    wait_idle(page)
    explore.choose("Picture", "Matrix")
    wait_idle(page)
    explore.type("Sentence", NARROW)
    wait_idle(page)
    for text, picture in ((OWN, "Matrix"), (OWN, "Lines"), (opening, "Lines")):
        page.go_back()
        wait_idle(page)
        expect(box).to_have_value(text)
        assert explore.chosen("Picture") == picture
    page.go_forward()
    wait_idle(page)
    expect(box).to_have_value(OWN)


def test_one_step_back_leaves_a_page_and_returns_to_what_it_showed(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/heads")
    # All of a card is a link, which lies over its last line, too.
    page.locator(".st-key-card-beyond_weights p").last.click(force=True)
    expect(page).to_have_url(re.compile("/beyond_weights"))
    wait_idle(page)
    expect(menu(page).filter(has_text="Heads")).to_have_css("font-weight", "600")
    type_into(page, "Sentence", OWN)
    expect(page).to_have_url(re.compile("text=Own\\+words"))
    wait_idle(page)
    page.get_by_role("main").get_by_role("link", name="Explore").click()
    for question in ("All 72 heads", "Beyond weights"):
        expect(page.get_by_role("heading", name=question)).to_be_visible()
        wait_idle(page)
        expect(page.get_by_role("textbox", name="Sentence")).to_have_value(OWN)
        expect(page.get_by_test_id("stAlert")).to_have_count(0)
        page.go_back()
    wait_idle(page)  # before the sentence was typed
    page.go_back()
    expect(page.get_by_role("heading", name="Heads at work")).to_be_visible()
    wait_idle(page)
