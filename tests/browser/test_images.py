"""Models that see: their numbers, another head, a file of one's own, and axe finds nothing."""

import re
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

from PIL import Image
from playwright.sync_api import Page, expect

from attnviz.app.models.images import computed
from attnviz.app.models.images.samples import QUESTIONS, sample
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.trace import Trace
from attnviz.trained.shapes import figures
from tests.browser.server import Server
from tests.browser.visit import (
    COMPUTED_MS,
    axe,
    everybody_can_use,
    first_visit,
    fits,
    visit,
    wait_idle,
)
from tests.capture.tiny import tiny

HEAD = figures.stored().by_shape.head
UPLOADER = "presentation-role-conflict (minor)"  # of Streamlit's own box for files


def open_model(page: Page, server: Server, family: str, folder: Path) -> Path:
    """Open a small model of this family on the server."""
    model = tiny(family, folder / family)
    visit(page, f"{server.url}/models?{urlencode({'own': model})}")
    page.get_by_role("button", name="Look").click()
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_text("It is open")).to_be_visible(timeout=COMPUTED_MS)
    return model


def upload(page: Page, file: Path, content: bytes, refused: str = "") -> None:
    """Give the page a file; what it refuses it says so of."""
    file.write_bytes(content)
    page.locator("input[type=file]").set_input_files(file)
    if refused:
        expect(page.get_by_test_id("stAlert")).to_contain_text(f"{file.name}: {refused}")
    wait_idle(page)


def look(folder: Path, name: str) -> Trace:
    return loading.look(str(folder), computed.drawn(name), name)


def check_choices(page: Page, expected: dict[str, str]) -> None:
    """Inputs and address agree; what is first anyway may be missing in the address."""
    for label in ("Layer", "Head"):
        expect(page.get_by_role("spinbutton", name=label)).to_have_value(expected[label.lower()])
    expect(page.get_by_role("combobox", name="Query patch")).to_have_value(expected["patch"])
    told = dict(parse_qsl(urlsplit(page.url).query))
    assert {"layer": "1", "head": "1", "model": ""} | told == {"model": told.get("model", "")} | expected


def test_a_word_and_the_patches_that_it_attends_to(page: Page, server: Server) -> None:
    first_visit(page, server, "images")
    asked = QUESTIONS["six shapes"]
    words = page.get_by_role("group", name="Words of the text").get_by_role("button")
    chosen = words.filter(has_text=asked.named)
    expect(chosen).to_have_attribute("aria-pressed", "true")
    given = ModelInput(asked.text, images=(Image.fromarray(sample("six shapes")),))
    trace = loading.trace("shapes", given)
    weights = trace.block("decoder", HEAD[0] - 1).weights[HEAD[1] - 1]
    spelled = [token.text for token in trace.tokens]
    place = spelled.index(f"{asked.asked.row + 1},{asked.asked.column + 1}")
    weight = f"{100 * weights[spelled.index(asked.named), place]:.1f} %"
    patch = page.get_by_role("gridcell", name=f"row {asked.asked.row + 1}, column {asked.asked.column + 1}:")
    expect(patch).to_have_accessible_name(re.compile(re.escape(weight)))
    patch.hover()
    expect(page.get_by_text(f"{asked.named} attends to row {asked.asked.row + 1}, column")).to_be_visible()
    patch.click()
    wait_idle(page)
    expect(chosen).to_have_text(f"{asked.named}{weight}")  # of the patch: who attends to it
    everybody_can_use(page)
    page.get_by_text("Mean over heads").click()
    wait_idle(page)
    mean = trace.block("decoder", HEAD[0] - 1).weights[:, spelled.index(asked.named), place].mean()
    expect(chosen).to_have_text(f"{asked.named}{100 * mean:.1f} %")
    assert fits(page)


def test_images(page: Page, server: Server, tmp_path: Path) -> None:
    folder = open_model(page, server, "vit", tmp_path)  # it sees three rows of five patches
    first_visit(page, server, "images", model=folder, picture="two shapes", layer=2, head=3)
    weights = look(folder, "two shapes").block("encoder", 1).weights[2]
    patches = page.get_by_role("grid", name="Patches of the picture").get_by_role("gridcell")
    expect(patches).to_have_count(15)
    patches.nth(3).click()
    wait_idle(page)
    expect(page).to_have_url(re.compile(re.escape("patch=row+1%2C+column+4")))
    for patch in range(15):
        name = f"row {patch // 5 + 1}, column {patch % 5 + 1}: {100 * weights[4, 1 + patch]:.1f} %"
        expect(patches.nth(patch)).to_have_accessible_name(name)
    beside = page.get_by_role("group", name="Tokens beside the picture").get_by_role("button")
    expect(beside).to_have_text([f"[CLS]{100 * weights[4, 0]:.1f} %"])

    other = look(folder, "two shapes").block("encoder", 0).weights[1, 4]
    page.get_by_role("gridcell", name="Layer 1, head 2:").click()
    wait_idle(page)
    expect(page.get_by_role("heading", name="Layer 1 · Head 2")).to_be_visible()
    expect(patches.nth(0)).to_have_accessible_name(f"row 1, column 1: {100 * other[1]:.1f} %")
    everybody_can_use(page)

    asked = {
        "patch": "row 3, column 2",
        "layer": "2",
        "head": "2",
        "picture": "your own",
    }
    visit(page, f"{server.url}/images?{urlencode(asked | {'model': folder})}")
    expect(page.get_by_test_id("stAlert")).to_contain_text("The image is not in the link")
    for name in ("no", "boat"):
        if name == "no":
            upload(page, tmp_path / "no.png", b"no picture", "This is no picture")
        else:
            upload(page, tmp_path / f"{name}.png", computed.drawn(name))
            weight = 100 * look(folder, name).block("encoder", 1).weights[1, 12, 1]
            expect(patches.first).to_have_accessible_name(f"row 1, column 1: {weight:.1f} %")
        check_choices(page, asked)
    page.get_by_role("gridcell", name="Layer 1, head 3:").click()
    wait_idle(page)
    check_choices(page, asked | {"layer": "1", "head": "3", "model": str(folder)})
    expect(page.get_by_text("and not your image")).to_be_visible()
    assert [breach for breach in axe(page) if not breach.startswith(UPLOADER)] == []
    assert fits(page)


def test_a_phone_shows_words_picture_and_weight_at_once(page: Page, server: Server) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    first_visit(page, server, "images")
    words = page.get_by_role("group", name="Words of the text")
    for shown in (page.get_by_text("Next word:"), words, page.get_by_role("grid", name="Patches")):
        expect(shown).to_be_in_viewport(ratio=1)
