"""Retake the screenshots for the README and the documentation: `python -m docs.pictures`."""

from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from tests.browser import chromium
from tests.browser.server import running
from tests.browser.visit import COMPUTED_MS, RECORD_TIMES, reveal, visit, wait_idle

FOLDER = Path(__file__).parent

# File name, path of the page, height of the window, and a text that appears when everything is computed.
PICTURES = (
    ("explore", "/", 900, "All 72 heads"),
    ("learn", "/query_key_value?step_of_six=6", 1180, "Add up the weighted values"),
    ("heads", "/score_heads?test=pronoun+to+noun", 900, "Save as CSV"),
    ("cause", "/cause?edits=encoder+2-1+9+2>7", 900, "Undo"),
)


def main() -> None:
    """Take all screenshots."""
    with TemporaryDirectory() as log, running(Path(log)) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.find(), args=chromium.QUIET)
        for name, path, height, computed in PICTURES:
            page = browser.new_page(viewport={"width": 1440, "height": height}, reduced_motion="reduce")
            page.add_init_script(RECORD_TIMES)
            visit(page, server.url + path)
            if page.get_by_role("button", name="Reveal", exact=True).count():
                reveal(page)
            page.get_by_text(computed).first.wait_for(timeout=COMPUTED_MS)
            wait_idle(page)
            page.screenshot(path=FOLDER / f"{name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
