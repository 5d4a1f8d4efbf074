"""A copied link opens exactly the same view, and the Back button undoes one step."""

import re

from playwright.sync_api import Page, expect

from tests.browser.explore import NARROW, Explore
from tests.browser.server import Server
from tests.browser.visit import assert_link_reproduces, menu, type_into, visit, wait_idle


def test_link_reproduces_a_view_made_by_clicking(explore: Explore) -> None:
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


OWN = "My own sentence is kept."


def test_back_button_undoes_one_step(explore: Explore) -> None:
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


def test_back_button_returns_to_the_previous_page(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/heads")
    # The complete card is a link, including its last line.
    page.locator(".st-key-card-beyond_weights p").last.click(force=True)
    expect(page).to_have_url(re.compile("/beyond_weights"))
    wait_idle(page)
    expect(menu(page).filter(has_text="Heads")).to_have_css("font-weight", "600")
    type_into(page, "Sentence", OWN)
    expect(page).to_have_url(re.compile("text=My\\+own"))
    wait_idle(page)
    page.get_by_role("main").get_by_role("link", name="Explore").click()
    for heading in ("All 72 heads", "Beyond weights"):
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
        wait_idle(page)
        expect(page.get_by_role("textbox", name="Sentence")).to_have_value(OWN)
        expect(page.get_by_test_id("stAlert")).to_have_count(0)
        page.go_back()
    wait_idle(page)  # the page before the sentence was typed
    page.go_back()
    expect(page.get_by_role("heading", name="Heads at work")).to_be_visible()
    wait_idle(page)
