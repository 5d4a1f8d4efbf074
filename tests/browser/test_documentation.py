"""The documentation site, as `make docs` builds it."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, ViewportSize, expect

from tests.browser.server import ROOT, files
from tests.browser.visit import DESKTOP, FONT_SIZES, PHONE, Faults, axe, fits, font_sizes

PAGES = ("index", "gallery", "coming_from", "reference", "models", "architecture")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Host and port of the built site, such as "127.0.0.1:8501"; a broken link fails the build."""
    # With --quiet, mkdocs would not count warnings.
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=True)
    with files(folder) as address:
        yield address


@pytest.mark.everything
@pytest.mark.parametrize(("viewport", "colour_scheme"), [(DESKTOP, "light"), (PHONE, "dark")])
def test_every_page_is_accessible_and_contacts_no_other_host(
    site: str, context: BrowserContext, faults: Faults, viewport: ViewportSize
) -> None:
    faults.hosts.add(site)
    page = context.new_page()
    for name in PAGES:
        page.goto(f"http://{site}/{name}.html")
        assert fits(page), (name, viewport)
        # Axe reports scrollable regions, although Chromium's users can focus all of them by keyboard.
        violations = [fault for fault in axe(page) if not fault.startswith("scrollable-region-focusable")]
        assert not violations, (name, violations)


def test_the_gallery_uses_the_theme_of_the_site(site: str, context: BrowserContext, faults: Faults) -> None:
    faults.hosts.add(site)
    page = context.new_page()
    page.goto(f"http://{site}/gallery.html")
    assert font_sizes(page.get_by_role("article")) <= FONT_SIZES
    examples = page.get_by_text("<attnviz: ")
    expect(page.locator(".attnviz iframe")).to_have_count(examples.count())
    inside = page.frame_locator("iframe").first.locator("html[data-drawn]")
    expect(inside.locator(".words")).to_contain_text("it attends to dog")
    expect(inside).to_have_attribute("data-theme", "light")
    page.get_by_title("Dark").click()
    expect(inside).to_have_attribute("data-theme", "dark")
