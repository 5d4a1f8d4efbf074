"""Every page is accessible: axe, narrow screens, and links to the next page."""

import re
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import Page, expect

from attnviz.app.lessons.contents import LESSONS
from tests.browser.server import ROOT, Server
from tests.browser.visit import assert_accessible, type_into, visit, wait_idle

SECOND = "It was too tired."


def explore(**choices: str | int) -> str:
    return f"?{urlencode(choices)}"


VIEWS: dict[str, tuple[str, ...]] = {
    "explore, masked difference": (
        explore(
            model="translator", kind="decoder", show="difference", view="Matrix", layer=2, filter="itself"
        ),
    ),
    "explore, heatmap of cross-attention": (
        explore(model="translator", kind="cross", view="Heatmap", hide="true", stage="scaled"),
    ),
    "explore, sentence pair": (
        explore(text="The unbelievable tokenization.", other=SECOND, second="Read together with")
        + "&between=A→B&merge=true&hide=true&query=3+unbelievable",
        "^Several$",
    ),
    "explore, too long": (explore(text="word " * 600),),
    "learn": ("learn",),
    "query_key_value, step 5": ("query_key_value?step_of_six=5",),
    "long_distances": ("long_distances?open=Everything",),
    "heads": ("heads",),
    "models": (
        f"models?open=Everything&{urlencode({'own': '<script>alert(1)</script> *no* [model](http://example.org)'})}",
        *("^Inspect$", "Refused families, by reason"),
    ),
    "classroom": ("classroom?open=Everything",),
    "about": ("about",),
    "references": ("references?cited=Clark+et+al.+2019",),
}
"""The link to each view, and regular expressions for the texts to click in turn."""


# Pages that test_lessons.py, test_heads.py and test_images.py check.
CHECKED_ELSEWHERE = {
    *("weighted_average", "scale", "query_key_value", "many_heads", "masks", "positions", "cross_attention"),
    *("block", "translate", "cause", "watch_it_learn"),
    *("write", "induction"),
    *("beyond_weights", "compare", "find", "intervene", "score_heads"),
    "images",
}


def test_every_page_is_checked() -> None:
    visited = {urlsplit(link).path or "explore" for link, *_ in VIEWS.values()}
    assert {path.stem for path in (ROOT / "pages").glob("*.py")} == visited | CHECKED_ELSEWHERE


@pytest.mark.parametrize("name", VIEWS)
def test_view_is_accessible(page: Page, server: Server, name: str) -> None:
    link, *opened = VIEWS[name]
    visit(page, f"{server.url}/{link}")
    if "Heatmap" in link:
        expect(page.locator(".js-plotly-plot")).to_be_visible()
    for text in opened:
        page.get_by_text(re.compile(text)).first.click()
        wait_idle(page)
    assert_accessible(page)


def test_next_link_of_a_lesson_keeps_the_sentence(page: Page, server: Server) -> None:
    sentence = "Anna gave the ball to Ben, and he gave it back."
    visit(page, server.url)
    page.get_by_role("link", name="Learn").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Learn")
    for number, lesson in enumerate(LESSONS, start=1):
        expect(page.get_by_role("link", name=f"{number} · {lesson.title}", exact=True)).to_be_visible()
    page.get_by_role("link", name=f"1 · {LESSONS[0].title}", exact=True).press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text(LESSONS[0].title)
    wait_idle(page)
    type_into(page, "Sentence", sentence)
    wait_idle(page)
    link = page.get_by_role("link", name="Next:")
    expect(link).to_contain_text(LESSONS[1].title)
    link.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text(LESSONS[1].title)
    wait_idle(page)
    assert page.url.split("?")[0].endswith(f"/{LESSONS[1].name}")
    expect(page.get_by_role("textbox", name="Sentence", exact=True)).to_have_value(sentence)
