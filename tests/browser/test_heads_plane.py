"""“Where do queries and keys meet?” in a browser: pointing, keyboard, numbers, files, and a link."""

import re
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

import attnviz
from tests.browser.explore import TIRED, assert_printed, eventually, svg
from tests.browser.server import Server
from tests.browser.visit import DESKTOP, PHONE, axe, visit, wait_idle

IT, DOG, ROAD = 9, 2, 7

WIDGET = """
  const shadows = [...document.querySelectorAll("*")].map((each) => each.shadowRoot).filter(Boolean);
  const inside = [document, ...shadows];
  const all = (selector) => inside.flatMap((root) => [...root.querySelectorAll(selector)]);
"""
# The points that touch the axis, or lie as near to the frame as half a marker.
ON_THE_FRAME = f"""() => {{{WIDGET}
  const [frame] = all(".picture [opacity='0.6']").map((path) => path.getBoundingClientRect());
  const points = all(".picture .marker").slice(2).map((point) => point.getBoundingClientRect());
  return points.filter(({{ bottom }}) => bottom > frame.top - 10).map(({{ x, y }}) => [x, y]);
}}"""
# The bold names through which a thick line runs.
ON_A_LINE = f"""() => {{{WIDGET}
  const lines = all(".pointed .link").filter((link) => link.getAttribute("stroke-width") > 3);
  if (!lines.length) return ["no thick line"];
  const runsThrough = ({{ x, y, width, height }}) => lines.some((line) => {{
    const length = line.getTotalLength();
    return Array.from({{ length: 200 }}, (_, at) => line.getPointAtLength((at / 199) * length)).some(
      (point) => point.x > x && point.x < x + width && point.y > y && point.y < y + height,
    );
  }});
  return all(".pointed text").filter((name) => runsThrough(name.getBBox())).map((name) => name.textContent);
}}"""


def open_plane(page: Page, server: Server, **choices: str) -> None:
    visit(page, f"{server.url}/plane?{urlencode(choices)}")
    expect(page.get_by_role("img", name=re.compile("keys as points"))).to_be_visible(timeout=30_000)


def tokens(page: Page, side: str) -> Locator:
    return page.get_by_role("group", name=side).get_by_role("button")


def rows(page: Page) -> list[list[str]]:
    """The table beside the picture: token, weight, q · k, distance, and what the plane says."""
    read = "all => all.map(r => [...r.children].map(cell => (cell.querySelector('bdi') ?? cell).textContent))"
    found: list[list[str]] = page.locator(".reading tbody tr").evaluate_all(read)
    return found


def test_pointing_at_a_query_says_the_heads_own_numbers(page: Page, server: Server) -> None:
    open_plane(page, server)
    block = attnviz.trace(TIRED).block("encoder", 3)
    query, key = (vector[1].astype(np.float64) for vector in (block.query, block.key))
    labels = ["[CLS]", "the₂", "dog", "did", "not", "cross", "the₇", "road", "as", "it", "was"]

    def says(at: int) -> None:
        row = block.weights[1, at]
        shown = rows(page)
        assert len(shown) == 6
        for (name, *numbers), largest in zip(shown[:3], np.argsort(-row)[:3], strict=True):
            assert name.replace("\u200e", "") == labels[largest]
            exact = row[largest], query[at] @ key[largest], np.linalg.norm(query[at] - key[largest])
            for text, number in zip(numbers, exact, strict=False):
                assert_printed(text, float(number))

    expect(page.locator(".reading .heading")).to_have_text("it looks at")
    eventually(lambda: says(IT))
    page.set_viewport_size(PHONE)
    expect(page.locator(".picture > svg")).to_have_attribute("width", re.compile(r"^3\d\d$"))
    assert page.evaluate(ON_THE_FRAME) == []
    assert page.evaluate(ON_A_LINE) == []
    page.set_viewport_size(DESKTOP)
    expect(page.locator(".picture > svg")).not_to_have_attribute("width", re.compile(r"^3\d\d$"))
    assert page.evaluate(ON_THE_FRAME) == []
    tokens(page, "query (looks)").nth(DOG).hover()
    expect(page.locator(".reading .heading")).to_have_text("dog looks at")
    eventually(lambda: says(DOG))
    # A key tells who looks at it; lines are as many as weights that can be seen.
    tokens(page, "key (is looked at)").nth(DOG).hover()
    expect(page.locator(".reading .heading")).to_have_text("dog is looked at by")
    seen = int((block.weights[1, :, DOG] >= 0.005).sum())
    expect(page.locator(".pointed .link")).to_have_count(seen)
    # A click on a query's point chooses it, for Python too; the first two markers are the legend's.
    point = page.locator(".picture .marker").nth(2 + ROAD)
    point.scroll_into_view_if_needed()
    box = point.bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    wait_idle(page)
    expect(page).to_have_url(re.compile(r"query=8\+road"))
    page.mouse.move(5, 5)
    expect(page.locator(".reading .heading")).to_have_text("road looks at")
    eventually(lambda: says(ROAD))


def test_the_keyboard_reaches_every_token_and_escape_lets_go(page: Page, server: Server) -> None:
    open_plane(page, server, keeps="dot products", hide="true")
    heading = page.locator(".reading .heading")
    tokens(page, "query (looks)").nth(IT - 1).focus()
    for key, name in (("ArrowRight", "was"), ("End", "."), ("Home", "the₂"), ("ArrowRight", "dog")):
        page.keyboard.press(key)
        expect(heading).to_have_text(re.compile(f"^{re.escape(name[:3])}.* looks at$"))
    page.keyboard.press("Tab")
    expect(tokens(page, "key (is looked at)").first).to_be_focused()
    expect(heading).to_have_text(re.compile("is looked at by$"))
    page.keyboard.press("Escape")
    expect(heading).to_have_text("it looks at")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    wait_idle(page)
    expect(page).to_have_url(re.compile(r"query=3\+dog"))
    expect(tokens(page, "query (looks)").nth(DOG - 1)).to_have_attribute("aria-pressed", "true")


def test_hostile_tokens_stay_text_on_the_page_and_in_the_file(
    page: Page, server: Server, tmp_path: Path
) -> None:
    text = "<script>alert(1)</script> **it** שלום 😀"
    open_plane(page, server, text=text, layer="2", head="3")
    labels = [token.strip("\u200e₀₁₂₃₄₅₆₇₈₉") for token in tokens(page, "query (looks)").all_inner_texts()]
    assert labels[:3] == ["[CLS]", "<", "script"]
    with page.expect_download() as download:
        page.get_by_role("button", name="SVG", exact=True).click()
    assert download.value.suggested_filename == "attnviz-minilm-2-3-plane.svg"
    download.value.save_as(path := tmp_path / "plane.svg")
    picture = svg(path)
    said = [part for element in picture.iter() if (part := element.text)]
    assert any(text in part for part in said)
    shapes = [element for element in picture.iter() if element.get("class") == "marker"]
    assert len(shapes) == 2 + 2 * len(labels)
    # Where there is no room for all names, only those that are told of stand there.
    crowd = page.get_by_text("So many points have no room for all their names")
    expect(crowd).to_be_hidden()
    assert page.locator(".picture .name").count() > 2 + 4
    page.set_viewport_size(PHONE)
    expect(crowd).to_be_visible()
    expect(page.locator(".picture .name")).to_have_count(0)
    assert 2 <= page.locator(".pointed text").count() <= 2 + 4


@pytest.mark.parametrize(
    ("viewport", "colour_scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desktop", "phone"]
)
def test_everybody_can_use_it(page: Page, server: Server, viewport: ViewportSize, colour_scheme: str) -> None:
    open_plane(page, server, query="3 dog")
    tokens(page, "key (is looked at)").nth(ROAD).focus()
    expect(page.locator(".reading .heading")).to_have_text("road is looked at by")
    assert axe(page) == [], colour_scheme
    wide = page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
    assert wide <= viewport["width"]
