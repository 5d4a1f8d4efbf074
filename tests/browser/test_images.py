"""Images: numbers, selection of heads and patches, uploads, and accessibility."""

import re
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, expect

from attnviz.app.models.images import computed
from attnviz.app.models.images.samples import QUESTIONS
from attnviz.trained.shapes import figures
from tests.browser.server import Server
from tests.browser.visit import assert_accessible, axe, fits, open_model, open_page, visit, wait_idle
from tests.capture.tiny import tiny

HEAD = figures.stored().by_shape.head
UPLOADER = "presentation-role-conflict (minor)"  # caused by Streamlit's file uploader


def upload(page: Page, file: Path, content: bytes, error: str = "") -> None:
    """Upload a file; check the error message if one is expected."""
    file.write_bytes(content)
    page.locator("input[type=file]").set_input_files(file)
    if error:
        expect(page.get_by_test_id("stAlert")).to_contain_text(f"{file.name}: {error}")
    wait_idle(page)


def test_hovering_a_patch_shows_its_weight_and_clicking_selects_it(page: Page, server: Server) -> None:
    open_page(page, server, "images")
    question = QUESTIONS["six shapes"]
    words = page.get_by_role("group", name="Words of the text").get_by_role("button")
    chosen = words.filter(has_text=question.keyword)
    expect(chosen).to_have_attribute("aria-pressed", "true")
    patch = page.get_by_role(
        "gridcell", name=f"row {question.target.row + 1}, column {question.target.column + 1}:"
    )
    expect(patch).to_have_accessible_name(re.compile(r": \d+\.\d\s%"))
    weight = str(patch.get_attribute("aria-label")).split(": ")[-1]
    patch.hover()
    expect(
        page.get_by_text(f"{question.keyword} attends to row {question.target.row + 1}, column")
    ).to_be_visible()
    patch.click()
    wait_idle(page)
    expect(chosen).to_have_text(f"{question.keyword}{weight}")  # its weight to the selected patch
    assert_accessible(page)


def test_own_vision_model_and_uploaded_images(page: Page, server: Server, tmp_path: Path) -> None:
    folder = tiny("vit", tmp_path / "vit")  # its images have three rows of five patches
    open_model(page, server.url, folder)
    open_page(page, server, "images", model=folder, picture="two shapes", layer=2, head=3)
    patches = page.get_by_role("grid", name="Patches of the picture").get_by_role("gridcell")
    expect(patches).to_have_count(15)
    patches.nth(3).click()
    wait_idle(page)
    expect(page).to_have_url(re.compile(re.escape("patch=row+1%2C+column+4")))
    page.get_by_role("gridcell", name="Layer 1, head 2:").click()
    wait_idle(page)
    expect(page.get_by_role("heading", name="Layer 1 · Head 2")).to_be_visible()
    assert_accessible(page)

    choices = {"patch": "row 3, column 2", "layer": "2", "head": "2", "picture": "your own", "model": folder}
    visit(page, f"{server.url}/images?{urlencode(choices)}")
    expect(page.get_by_test_id("stAlert")).to_contain_text("The image is not in the link")
    for name, content, error in (
        ("no", b"no picture", "This file is not a readable image"),
        ("boat", computed.example_png("boat"), ""),
    ):
        upload(page, tmp_path / f"{name}.png", content, error)
        for label in ("Layer", "Head"):
            expect(page.get_by_role("spinbutton", name=label)).to_have_value("2")
        expect(page.get_by_role("combobox", name="Query patch")).to_have_value("row 3, column 2")
    expect(patches).to_have_count(15)
    assert [breach for breach in axe(page) if not breach.startswith(UPLOADER)] == []
    assert fits(page)


def test_words_and_picture_fit_on_a_phone_screen(page: Page, server: Server) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, server, "images")
    words = page.get_by_role("group", name="Words of the text")
    for shown in (
        page.get_by_text("Most probable next words:"),
        words,
        page.get_by_role("grid", name="Patches"),
    ):
        expect(shown).to_be_in_viewport(ratio=1)
