"""A visitor silences the head that follows the pronoun, points it elsewhere, and reads what moves."""

import math
import re
from functools import cache
from urllib.parse import quote

import pytest
import torch
from playwright.sync_api import Locator, Page, ViewportSize, expect
from torch import Tensor
from transformers import AutoModel, AutoTokenizer, PreTrainedModel

from attnviz.models import catalogue
from tests.browser.server import Server
from tests.browser.visit import DESKTOP, PHONE, axe, visit, wait_idle

TIRED = "The dog did not cross the road as it was too tired."
IT = 9
RANKED_MS = 60_000  # the model is loaded first


@cache
def bert() -> PreTrainedModel:
    """The bundled BERT as transformers runs it by itself."""
    network: PreTrainedModel = AutoModel.from_pretrained(
        catalogue.MINILM.folder,
        attn_implementation="eager",
        local_files_only=True,
        trust_remote_code=False,
        use_safetensors=True,
    ).eval()
    return network


def states() -> Tensor:
    tokenizer = AutoTokenizer.from_pretrained(catalogue.MINILM.folder, local_files_only=True)
    with torch.inference_mode():
        found: Tensor = bert()(**tokenizer(TIRED, return_tensors="pt")).last_hidden_state[0].double()
    return found


def turns(layer: int, head: int) -> list[float]:
    """1 − cosine of every token's output, without this head's slice of W_O (both from 1)."""
    before = states()
    weight = bert().get_parameter(f"encoder.layer.{layer - 1}.attention.output.dense.weight")
    kept = weight.detach().clone()
    with torch.no_grad():
        weight[:, 32 * (head - 1) : 32 * head] = 0
    after = states()
    with torch.no_grad():
        weight.copy_(kept)
    found: list[float] = (1 - torch.cosine_similarity(before, after, dim=-1)).tolist()
    return found


def angle(turned: float) -> str:
    return f"{math.degrees(math.acos(1 - turned)):.1f}°"


# How much of a box at the side of another one lies below all that it holds, in pixels.
_BLANK = """
() => {
    const boxes = document.querySelectorAll(
        ".stColumn > .stVerticalBlock > .stLayoutWrapper > .stVerticalBlock");
    const bottom = (one) => one.getBoundingClientRect().bottom;
    return Math.max(...[...boxes].map((box) => bottom(box) - Math.max(...[...box.children].map(bottom))));
}
"""
MOST_BLANK = 120


def blank(page: Page) -> float:
    """The height of the largest hole under a box's last line."""
    found: float = page.evaluate(_BLANK)
    return found


def effect(page: Page, text: str) -> Locator:
    """What stands under “What moves”, not its beginning below the buttons that only a phone shows."""
    return page.get_by_text(text).filter(visible=True)


def ranked(page: Page) -> None:
    expect(page.get_by_text(re.compile(r"is number \d+ of 72, with"))).to_be_visible(timeout=RANKED_MS)


def test_a_head_is_silenced_and_pointed_elsewhere(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/intervene")
    expect(page).to_have_url(re.compile(r"text=The\+dog.*edits=encoder\+4-2"))  # all that a reload needs
    expected = turns(4, 2)
    bars = page.get_by_role("list", name="How far each token’s output turns").get_by_role("listitem")
    for bar, turned in zip(bars.all(), expected, strict=True):
        expect(bar).to_contain_text(angle(turned))
        expect(bar).to_have_attribute("title", f"1 − cosine: {turned:.4f}")
    longest, lengths = max(expected), [bar.locator(".bar > span").bounding_box() for bar in bars.all()]
    full = bars.nth(expected.index(longest)).locator(".bar").bounding_box()
    for length, turned in zip(lengths, expected, strict=True):
        assert length
        assert full
        share = math.acos(1 - turned) / math.acos(1 - longest)
        assert length["width"] / full["width"] == pytest.approx(share, abs=0.01)
    expect(effect(page, "Without head 4-2, the output of")).to_contain_text(angle(expected[IT]))
    ranked(page)
    cell = page.get_by_role("gridcell", name="Head 6-12")
    expect(cell).to_have_accessible_name(f"Head 6-12: {angle(turns(6, 12)[IT])}")
    expect(cell).to_have_text(f"{math.degrees(math.acos(1 - turns(6, 12)[IT])):.0f}")
    expect(page.get_by_text("To compare: without dog")).to_contain_text("the median of 72 heads")
    wait_idle(page)
    assert blank(page) < MOST_BLANK
    cell.click()
    page.get_by_role("button", name="Silence head 6-12").click()
    expect(effect(page, "With these 2 changes, the output of")).to_be_visible()
    page.get_by_role("button", name=re.compile("Let it look at .* alone")).click()
    expect(effect(page, "With these 3 changes, the output of")).to_be_visible()
    expect(page.get_by_text("Head 4-2 is silent; head 6-12 is silent but for")).to_be_visible()
    expect(page).to_have_url(re.compile(r"edits=encoder\+4-2&edits=encoder\+6-12&edits=encoder\+6-12\+10"))
    page.get_by_role("button", name="Undo: silence head 6-12").click()
    expect(effect(page, "With these 2 changes, the output of")).to_be_visible()
    page.get_by_role("button", name=re.compile("Let all look at .* alone")).click()
    expect(page).to_have_url(re.compile(r"edits=encoder\+4-2&edits=encoder\+6-12\+%3E"))
    page.get_by_role("button", name="Silence them one after the other").click()
    expect(page.get_by_text(re.compile(r"The \d+ heads that matter least alone"))).to_be_visible(
        timeout=RANKED_MS
    )


def test_a_link_opens_a_translation_that_turns(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/intervene?model=translator&edits={quote('encoder 2-1 9 2>7')}")
    expect(page.get_by_text("and with the changes:")).to_contain_text("car elle était")
    expect(effect(page, "likeliest now is")).to_contain_text(
        "il goes from 90 % to <1 %; likeliest now is elle"
    )


def test_rubbish_in_a_link_gets_a_kind_word(page: Page, server: Server) -> None:
    rubbish = "&edits=".join(map(quote, ["encoder 9-1", "<script>alert(1)</script>", "**bold**", "x" * 500]))
    visit(page, f"{server.url}/intervene?text={quote(TIRED)}&edits={rubbish}")
    alert = page.get_by_test_id("stAlert")
    for said in ("encoder layer 9", "“<script>alert(1)</script>” is no edit", "“**bold**” is no edit"):
        expect(alert).to_contain_text(said)
    page.get_by_role("button", name="Take away what does not fit").click()
    expect(alert).to_have_count(0)
    expect(effect(page, "Nothing is changed yet.")).to_be_visible()
    expect(page.get_by_role("textbox", name="Sentence")).to_have_value(TIRED)


@pytest.mark.parametrize(
    ("viewport", "colour_scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desktop", "phone"]
)
def test_axe_finds_nothing(page: Page, server: Server, viewport: ViewportSize, colour_scheme: str) -> None:
    visit(page, f"{server.url}/intervene?model=translator&edits={quote('encoder 2-1 9 >7')}")
    expect(page.get_by_text("of 8 encoder heads, with")).to_be_visible(timeout=RANKED_MS)
    page.get_by_text("What this does not show").click()
    wait_idle(page)
    short = page.get_by_text("What the model expects after car").first
    if viewport == PHONE:
        button = page.get_by_role("button", name="Silence its row of it").bounding_box()
        said = short.bounding_box()
        assert button
        assert said
        assert 0 < said["y"] - button["y"] - button["height"] < 40
    else:
        expect(short).to_be_hidden()  # the effect itself stands beside the button
        assert blank(page) < MOST_BLANK
    assert axe(page) == [], (viewport, colour_scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
