"""The page on the translator in a browser: its numbers are those of numpy and the file of weights."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.server import Server
from tests.browser.visit import PHONE, visit, wait_idle
from tests.translator_reference import Forward, translation

TIRED = "The dog did not cross the road as it was too tired."
NARROW = "The dog did not cross the road as it was too narrow."


def printed(page: Page, part: str) -> list[float]:
    """The unrounded numbers behind what the picture prints."""
    found = page.locator(f".translation [data-part='{part}']").all()
    return [float(str(number.get_attribute("data-value"))) for number in found]


def bundle(page: Page, kind: str) -> list[float]:
    """The shares of the strongest line of this kind, one for each head."""
    shares = str(page.locator(f".translation .bundle.{kind}").last.get_attribute("data-weights"))
    return [float(share) for share in shares.split()]


def check(page: Page, expected: Forward, row: int) -> None:
    """The picture of one row: what it chose, what it read, and what that had read."""
    best = expected.probabilities[row].argsort()[::-1][:5]
    assert printed(page, "choice") == pytest.approx(expected.probabilities[row, best], abs=1e-4)
    cross = expected.cross[0, row]
    assert bundle(page, "across") == [pytest.approx(cross.max(), abs=1e-4)]
    encoder = expected.encoder[1, 0, int(cross.argmax())]
    assert bundle(page, "before") == [pytest.approx(encoder.max(), abs=1e-4)]
    told = page.locator(".translation .told")
    why = page.locator(".translation .why")
    expect(why).to_have_text(re.compile(rf"^The row after \S+ chooses {expected.words[row]} and has not"))
    read, meant = expected.source[int(cross.argmax())], expected.source[int(encoder.argmax())]
    expect(told).to_contain_text(f"read {read}")
    expect(told).to_contain_text(f"had read {meant}")


def test_one_word_changes_and_il_becomes_elle(fresh_server: Callable[[], Server], page: Page) -> None:
    visit(page, f"{fresh_server().url}/translate")
    expect(page.get_by_role("heading", name="il était trop fatigué.")).to_be_visible()
    il = page.get_by_role("radio", name="il, word 10")
    expect(il).to_be_checked()
    check(page, translation(TIRED), 9)
    page.get_by_role("radio", name="too narrow").press("Space")
    wait_idle(page)
    expect(page.get_by_role("heading", name="elle était trop étroite.")).to_be_visible()
    elle = page.get_by_role("radio", name="elle, word 10")
    expect(elle).to_be_checked()
    check(page, translation(NARROW), 9)
    elle.press("ArrowLeft")
    check(page, translation(NARROW), 8)
    page.wait_for_url(lambda url: "french=9+car" in url)
    wait_idle(page)
    expect(page.get_by_role("radio", name="car, word 9")).to_be_focused()


@pytest.mark.parametrize("viewport", [PHONE])
def test_on_a_phone_a_french_word_is_tapped_and_shows_what_it_read(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/translate?english={NARROW.replace(' ', '+')}")
    page.get_by_role("radio", name="chien, word 2").tap()
    wait_idle(page)
    check(page, translation(NARROW), 1)
    box = page.get_by_role("textbox", name="English sentence")
    box.fill("The zebra did not cross the road.")
    box.press("Enter")
    wait_idle(page)
    expect(page.get_by_test_id("stAlert")).to_contain_text("zebra")
    expect(box).to_have_value("The zebra did not cross the road.")
    expect(page.locator(".st-key-picture")).to_be_hidden()  # an empty frame would say nothing
    page.get_by_text("All the words it knows").click()
    expect(page.get_by_text("Animals: dog, cat")).to_be_visible()
