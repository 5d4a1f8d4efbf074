"""A model that sees: patches by mouse and keyboard, a picture of one's own, and nothing for axe to find."""

import re
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

from playwright.sync_api import Page, expect

from attnviz.app.senses import seeing
from attnviz.capture import loading
from attnviz.trace import Trace
from tests.browser.server import Server
from tests.browser.visit import COMPUTED_MS, axe, everybody_can_use, fits, visit, wait_idle
from tests.capture.tiny import tiny

UPLOADER = "presentation-role-conflict (minor)"  # of Streamlit's own box for files


def look(folder: Path, name: str) -> Trace:
    return loading.look(str(folder), seeing.drawn(name), name)


def test_pictures(page: Page, server: Server, tmp_path: Path) -> None:
    folder = tiny("vit", tmp_path / "vit")  # a small model that sees three rows of five patches
    visit(page, f"{server.url}/models?{urlencode({'own': folder})}")
    page.get_by_role("button", name="Look").click()
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_text("It is open")).to_be_visible(timeout=COMPUTED_MS)
    server.forget_visitors()
    chosen = {"model": folder, "picture": "two shapes", "layer": "2", "head": "3"}
    visit(page, f"{server.url}/pictures?{urlencode(chosen)}")
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

    patches.nth(3).focus()
    for key in ("ArrowDown", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    told = f"row 1, column 4 looks at row 2, column 2: {100 * weights[4, 7]:.1f} %"
    expect(page.get_by_text(told)).to_be_visible()
    page.keyboard.press("Enter")
    wait_idle(page)
    expect(page).to_have_url(re.compile(re.escape("patch=row+2%2C+column+2")))
    expect(patches.nth(6)).to_be_focused()
    beside.click()
    wait_idle(page)
    expect(page).to_have_url(re.compile(re.escape("patch=%5BCLS%5D")))
    other = look(folder, "two shapes").block("encoder", 0).weights[1, 0]
    page.get_by_role("gridcell", name="Layer 1, head 2:").click()
    wait_idle(page)
    expect(page.get_by_role("heading", name="Layer 1 · Head 2")).to_be_visible()
    expect(patches.nth(0)).to_have_accessible_name(f"row 1, column 1: {100 * other[1]:.1f} %")
    everybody_can_use(page)

    asked = {"patch": "row 3, column 2", "layer": "2", "head": "2", "picture": "your own"}
    visit(page, f"{server.url}/pictures?{urlencode(asked)}")
    expect(page.get_by_test_id("stAlert")).to_contain_text("The picture is not in the link")
    files = {name: tmp_path / f"{name}.png" for name in ("twins", "no", "boat")}
    for name, file in files.items():
        file.write_bytes(b"no picture" if name == "no" else seeing.drawn(name))
        page.locator("input[type=file]").set_input_files(file)
        if name == "no":
            expect(page.get_by_test_id("stAlert")).to_contain_text("no.png: This is no picture")
        else:
            [weight] = [100 * look(folder, name).block("encoder", 1).weights[1, 12, 1]]
            expect(patches.first).to_have_accessible_name(f"row 1, column 1: {weight:.1f} %")
        wait_idle(page)
        check_choices(page, asked)
    page.get_by_role("gridcell", name="Layer 1, head 3:").click()
    wait_idle(page)
    check_choices(page, asked | {"layer": "1", "head": "3", "model": str(folder)})
    expect(page.get_by_text("and not your picture")).to_be_visible()
    assert [breach for breach in axe(page) if not breach.startswith(UPLOADER)] == []
    assert fits(page)


def check_choices(page: Page, expected: dict[str, str]) -> None:
    """Inputs and address agree; what is first anyway may be missing in the address."""
    for label in ("Layer", "Head"):
        expect(page.get_by_role("spinbutton", name=label)).to_have_value(expected[label.lower()])
    expect(page.get_by_role("combobox", name="Patch that looks")).to_have_value(expected["patch"])
    told = dict(parse_qsl(urlsplit(page.url).query))
    assert {"layer": "1", "head": "1"} | told == {"model": told.get("model", "")} | expected
