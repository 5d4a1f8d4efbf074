"""What does each head do: the map's numbers against transformers' own BERT, files of all sorts, and axe."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from playwright.sync_api import Locator, Page, ViewportSize, expect

from tests import reference_bert
from tests.browser.server import Server
from tests.browser.visit import DESKTOP, PHONE, axe, visit, wait_idle

LINES = (
    "The dog did not cross the road as it was too tired.",
    "The ferry was late again.",
    "Bees dance, and bears dance, too.",
)


@cache
def to_the_first(text: str) -> NDArray[np.float64]:
    """[layer, head]: which share of its attention an average token of the sentence's own gives to [CLS]."""
    with torch.inference_mode():
        read = reference_bert.model()(
            **reference_bert.tokenizer()(text, return_tensors="pt"), output_attentions=True
        )
    weights = torch.stack(read.attentions)[:, 0].double().numpy()
    return np.asarray(weights[:, :, 1:-1, 0].mean(axis=-1))


def values(page: Page) -> list[float]:
    """The numbers of the map, layer by layer."""
    return [float(cell.get_attribute("data-value") or "nan") for cell in heads(page).all()]


def heads(page: Page) -> Locator:
    return page.get_by_role("grid").get_by_role("gridcell")


def give(page: Page, lines: tuple[str, ...]) -> None:
    """Paste a text."""
    box = page.get_by_role("textbox", name="Sentences, one a line")
    box.fill("\n".join(lines))
    box.press("Control+Enter")


def test_a_sentence_then_many_then_a_head(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/behaviour?rule=first")
    expect(page.get_by_role("gridcell", selected=True)).to_have_accessible_name(
        re.compile(r"Head 4-2: gives ")
    )
    np.testing.assert_allclose(values(page), to_the_first(LINES[0]).ravel(), atol=1e-4)

    page.get_by_role("radio", name="Many sentences").click()
    page.get_by_role("radio", name="Paste").click()
    give(page, LINES)
    expect(page.get_by_text(re.compile("^In 3 sentences, head "))).to_be_visible()
    wait_idle(page)
    mean = np.mean([to_the_first(line) for line in LINES], axis=0)
    np.testing.assert_allclose(values(page), mean.ravel(), atol=1e-4)

    page.get_by_role("gridcell", name="Head 5-6:").click()
    expect(page.get_by_role("heading", name="All rules of head 5-6")).to_be_visible()
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=re.compile(r"^first\b")))
    expect(row).to_contain_text(f"{100 * mean[4, 5]:.0f} % ±")
    expect(page).to_have_url(re.compile(r"layer=5&head=6"))
    expect(page.get_by_role("spinbutton", name="Layer")).to_have_value("5")
    page.get_by_role("button", name=re.compile("^Open one of the ")).first.click()
    page.get_by_role("radio", name="4-2", exact=True).click()
    expect(page.get_by_role("heading", name="All rules of head 4-2")).to_be_visible()
    page.get_by_role("link", name="Open 4-2 in Explore").click()
    expect(page.get_by_role("gridcell", selected=True)).to_have_accessible_name(re.compile("Layer 4, head 2"))


def test_files_of_all_sorts(page: Page, server: Server, tmp_path: Path) -> None:
    files = {
        "latin.txt": "Das Ende ist schön.\nDie Tür auch.\n".encode("latin-1") * 9,
        "picture.txt": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9,
        "empty.txt": b" \n\n",
        "good.txt": "\n".join([*LINES, "", "word " * 600]).encode(),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    visit(page, f"{server.url}/behaviour?on=Many+sentences&source=Upload")
    alert = page.get_by_test_id("stAlert")
    for name, told in (("latin.txt", "UTF-8"), ("picture.txt", "picture.txt"), ("empty.txt", "no sentence")):
        page.locator("input[type=file]").set_input_files(tmp_path / name)
        expect(alert).to_contain_text(told)
    page.locator("input[type=file]").set_input_files(tmp_path / "good.txt")
    expect(page.get_by_text(re.compile("^In 3 sentences, head "))).to_be_visible()
    expect(alert).to_have_count(0)
    page.get_by_text("1 line could not be read").click()
    expect(page.get_by_text(re.compile("line 5: .*512"))).to_be_visible()
    page.get_by_role("radio", name="Paste").click()
    expect(alert).to_contain_text("Paste some sentences")
    page.get_by_role("radio", name="Upload").click()
    expect(page.get_by_text("Still here: good.txt, 5 lines.")).to_be_visible()
    expect(page.get_by_text(re.compile("^In 3 sentences, head "))).to_be_visible()


@pytest.mark.parametrize(
    ("viewport", "colour_scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desktop", "phone"]
)
def test_axe_finds_nothing(page: Page, server: Server, viewport: ViewportSize) -> None:
    visit(page, f"{server.url}/behaviour?on=Many+sentences&source=Paste&layer=1&head=3")
    give(page, LINES)
    expect(page.get_by_text(re.compile("^In 3 sentences, head "))).to_be_visible()
    rules = page.get_by_role("radiogroup", name="Colour the heads by").get_by_role("radio").all()
    number = page.get_by_role("spinbutton")
    for row in (rules, number.all()):  # on a phone, too, so that the picture begins near the top
        assert len({round(box["y"]) for box in map(Locator.bounding_box, row) if box}) == 1
    page.get_by_text("All heads and rules as a table").click()
    expect(page.get_by_test_id("stDataFrame")).to_be_visible()
    wait_idle(page)
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
