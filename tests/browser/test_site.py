"""Explore as static files: below a sub-path, on a phone, offline, and with the same numbers as PyTorch."""

from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import BrowserContext, Page, ViewportSize, expect

from attnviz.capture import loading
from attnviz.site import build
from tests.browser.server import files
from tests.browser.visit import DESKTOP, FONT_SIZES, PHONE, Faults, axe, fits, font_sizes, type_into

OWN = "The cat did not chase the mouse because it was sleepy."
OTHER = "The cat did not chase the mouse because it was clever."
_WEIGHTS = "[...window.attnviz].findLast(([name]) => name.includes('layer 4'))[1].arrays.values"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of the site, below a sub-path of a host that serves only files."""
    root = tmp_path_factory.mktemp("host")
    build.build(root / "school" / "explore")
    with files(root) as host:
        yield f"http://{host}/school/explore/"


@pytest.fixture
def site(context: BrowserContext, faults: Faults, url: str) -> Page:
    """The site in a new page, after its first picture is drawn."""
    faults.hosts.add(url.split("/")[2])
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector("html[data-drawn]")
    return page


def read(page: Page, sentence: str, other: str = "") -> None:
    page.get_by_role("textbox", name="Sentence").fill(sentence)
    page.get_by_label("Compare with").fill(other)
    page.get_by_role("button", name="Read").click()
    expect(page.locator(".about")).to_contain_text(sentence)


@pytest.mark.parametrize(("viewport", "colour_scheme"), [(DESKTOP, "light"), (PHONE, "dark")])
def test_site_is_accessible_and_contacts_no_other_host(site: Page, viewport: ViewportSize) -> None:
    expect(site.locator(".words")).to_contain_text("it attends to dog 65.8 %")
    for name in ("tired", "difference"):
        site.get_by_text(name, exact=True).first.click()
        assert fits(site), (name, viewport)
        assert (axe(site), font_sizes(site) <= FONT_SIZES) == ([], True)
    expect(site.get_by_role("heading", name="Why does it attend to dog? 30.2 %")).to_be_visible()


def test_weights_equal_pytorch(site: Page) -> None:
    read(site, OWN, OTHER)
    expect(site.locator(".words")).to_contain_text("it attends to")
    expected = loading.load("minilm").trace(OWN).block("encoder", 3).weights
    found = site.evaluate(f"[...{_WEIGHTS}.values]")
    np.testing.assert_allclose(np.reshape(found, expected.shape), expected, atol=5e-4)
    site.get_by_text("clever", exact=True).first.click()
    expect(site.locator(".about")).to_contain_text(OTHER)


def test_reads_a_new_sentence_offline(site: Page, context: BrowserContext) -> None:
    expect(site.locator("#progress")).to_contain_text("works offline", timeout=120_000)
    context.set_offline(True)
    site.reload()
    expect(site.locator(".words")).to_contain_text("it attends to dog 65.8 %")
    read(site, "Zebras yodelled sonnets to a quixotic astronomer.")


def test_link_keeps_the_sentence_and_the_head(site: Page, context: BrowserContext) -> None:
    read(site, OWN)
    site.get_by_label("Layer 5, head 10:").click()
    site.get_by_text("Matrix", exact=True).click()
    site.get_by_text("Hide special tokens").click()
    site.get_by_role("button", name="Copy link").click()
    copied = context.new_page()
    copied.goto(site.evaluate("navigator.clipboard.readText()"))
    expect(copied.locator(".about")).to_contain_text(OWN)
    expect(copied.get_by_role("heading", name="Layer 5 · Head 10")).to_be_visible()
    expect(copied.get_by_label("Matrix")).to_be_checked()
    expect(copied.locator(".words")).to_have_text(site.locator(".words").inner_text())


def test_invalid_text_shows_the_reason(site: Page) -> None:
    for text, reason in ((" ", "text is empty"), ("word " * 190, "at most 128")):
        type_into(site, "Sentence", text)
        expect(site.get_by_role("status")).to_contain_text(reason)
    expect(site.locator(".words")).to_contain_text("it attends to dog")


def test_editing_a_mask_runs_the_model_again(site: Page) -> None:
    site.get_by_role("link", name="Masks").click()
    expect(site.get_by_label("With the mask")).to_be_checked()
    site.locator(".one .cells").click(position={"x": 5, "y": 60})
    expect(site.get_by_role("combobox", name="Mask")).to_have_value("by hand")
    site.wait_for_url("**&mask=1000*")
    weights = np.reshape(site.evaluate(f"[...{_WEIGHTS}.values]"), (12, 15, 15))
    assert np.isnan(weights[:, 1, 0]).all()
    assert np.isnan(weights).sum() == 12 * (15 * 14 // 2 + 1)
    np.testing.assert_allclose(np.nansum(weights, axis=-1), 1, atol=1e-5)
    expect(site.get_by_role("heading", name="Why does the not attend to [CLS]?")).to_be_visible()
    assert not (found := axe(site)), found
