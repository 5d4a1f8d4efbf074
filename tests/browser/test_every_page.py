"""Every page can be read and used by everybody: axe, narrow screens, large letters, and the way on."""

import re
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import Page, expect

from attnviz.app.lessons.contents import LESSONS
from tests.browser.server import ROOT, Server
from tests.browser.visit import (
    everybody_can_use,
    type_into,
    visit,
    wait_idle,
)

SECOND = "It was too tired."


def explore(**choices: str | int) -> str:
    return f"?{urlencode(choices)}"


VIEWS: dict[str, tuple[str, ...]] = {
    "explore, masked change": (
        explore(model="translator", kind="decoder", show="change", view="Matrix", layer=2, filter="itself"),
    ),
    "explore, heatmap across": (
        explore(model="translator", kind="cross", view="Heatmap", hide="true", stage="scaled"),
    ),
    "explore, pair unfolded": (
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
        *("^Inspect$", "Refused families, and why"),
    ),
    "classroom": ("classroom?open=Everything",),
    "about": ("about",),
    "references": ("references?cited=Clark+et+al.+2019",),
}
"""Of each view the link of the page, and texts that are clicked, one after the other."""


# Of which the same is checked on journeys of their own: the lessons, the tools of Heads, Images.
ON_A_JOURNEY = {
    *("weighted_average", "scale", "query_key_value", "many_heads", "masks", "positions", "cross_attention"),
    *("block", "translate", "cause", "watch_it_learn"),
    *("write", "induction"),
    *("beyond_weights", "compare", "find", "intervene", "score_heads"),
    "images",
}


def test_no_page_is_left_out() -> None:
    seen = {urlsplit(link).path or "explore" for link, *_ in VIEWS.values()}
    assert {path.stem for path in (ROOT / "pages").glob("*.py")} == seen | ON_A_JOURNEY


@pytest.mark.parametrize("name", VIEWS)
def test_everybody_can_use_it(page: Page, server: Server, name: str) -> None:
    link, *opened = VIEWS[name]
    visit(page, f"{server.url}/{link}")
    if "Heatmap" in link:
        expect(page.locator(".js-plotly-plot")).to_be_visible()
    for text in opened:
        page.get_by_text(re.compile(text)).first.click()
        wait_idle(page)
    everybody_can_use(page)


def test_the_menu_leads_to_the_lessons_and_one_to_the_next_and_the_sentence_goes_along(
    page: Page, server: Server
) -> None:
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
