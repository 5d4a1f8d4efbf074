"""A model that hears: its numbers, another head, a sound of one's own, and nothing for axe to find."""

from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, expect

from attnviz.app.senses.sound_samples import sample
from attnviz.capture import loading
from tests.browser.server import Server
from tests.browser.visit import COMPUTED_MS, everybody_can_use, visit, wait_idle
from tests.capture.tiny import tiny

START = "1 <|startoftranscript|>"


def strongest(folder: Path, name: str, layer: int, head: int) -> str:
    """How much the first token gives to the time at which it looks most."""
    trace = loading.listen(str(folder), sample(name), name, encoder=False)
    return f"{100 * trace.block('cross', layer).weights[head, 0].max():.1f} %"


def test_sounds(page: Page, server: Server, tmp_path: Path) -> None:
    folder = tiny("whisper", tmp_path / "whisper")
    visit(page, f"{server.url}/models?{urlencode({'own': folder})}")
    page.get_by_role("button", name="Look").click()
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_text("It is open")).to_be_visible(timeout=COMPUTED_MS)
    server.forget_visitors()
    asked = {"model": folder, "sound": "rising tone", "layer": "2", "head": "3", "looker": START}
    visit(page, f"{server.url}/sounds?{urlencode(asked)}")
    expect(page.get_by_role("combobox", name="Word that looks")).to_have_value(START)
    for layer, head in ((2, 3), (1, 2)):
        page.get_by_role("gridcell", name=f"Head {layer}-{head}:").click()
        wait_idle(page)
        expect(page.get_by_role("heading", name=f"Layer {layer} · Head {head}")).to_be_visible()
        told = page.get_by_text(f"In head {layer}-{head},").last
        expect(told).to_contain_text(strongest(folder, "rising tone", layer - 1, head - 1))
    everybody_can_use(page)

    visit(page, f"{server.url}/sounds?{urlencode(asked | {'sound': 'your own'})}")
    expect(page.get_by_test_id("stAlert")).to_contain_text("The sound is not in the link")
    for name, content in (("no", b"no sound"), ("clicks", sample("clicks"))):
        file = tmp_path / f"{name}.wav"
        file.write_bytes(content)
        page.locator("input[type=file]").set_input_files(file)
        if name == "no":
            expect(page.get_by_test_id("stAlert")).to_contain_text("no.wav: This is no sound")
        wait_idle(page)
    expect(page.get_by_text("In head 2-3,").last).to_contain_text(strongest(folder, name, 1, 2))
    expect(page.get_by_text("and not your sound")).to_be_visible()
