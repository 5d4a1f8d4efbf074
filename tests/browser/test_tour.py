"""The tour of Explore: for who comes for the first time, and never again."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.browser.explore import Explore
from tests.browser.server import Server
from tests.browser.visit import Faults, box_of, everybody_can_use, wait_idle


@pytest.fixture
def newcomer(browser: Browser, faults: Faults, server: Server, viewport: ViewportSize) -> Iterator[Page]:
    """Who was never here before."""
    faults.hosts.add(server.url.removeprefix("http://"))
    context = browser.new_context(viewport=viewport, reduced_motion="reduce")
    faults.watch(context)
    yield context.new_page()
    context.close()
    assert not faults.seen, "\n".join(faults.seen)


def test_a_newcomer_does_four_things_and_is_never_led_again(newcomer: Page, server: Server) -> None:
    explore = Explore(newcomer, server.url)
    newcomer.goto(server.url)
    tour = newcomer.get_by_role("region", name="Tour")
    step = tour.get_by_role("status")
    expect(step).to_contain_text("1 of 4")
    wait_idle(newcomer)
    everybody_can_use(newcomer)
    explore.choose("Show", "narrow")
    expect(step).to_contain_text("2 of 4")
    explore.pick(query=4)
    expect(step).to_contain_text("3 of 4")
    explore.open_head(1, 3)
    expect(step).to_contain_text("4 of 4")
    foot = newcomer.locator("[data-tour]")
    foot.evaluate("one => one.scrollIntoView({ block: 'end' })")
    assert box_of(foot)["y"] + box_of(foot)["height"] < box_of(tour)["y"]
    tour.get_by_role("button", name="Done").press("Enter")
    expect(tour).to_have_count(0)
    newcomer.goto(server.url)
    wait_idle(newcomer)
    expect(tour).to_have_count(0)
    newcomer.get_by_role("button", name="Examples and more").click()
    again = newcomer.get_by_role("button", name="Show the tour")
    again.click()
    expect(step).to_contain_text("1 of 4")
    expect(again).to_be_hidden()


def test_it_can_be_skipped_and_is_not_for_who_opens_a_link(newcomer: Page, server: Server) -> None:
    tour = newcomer.get_by_role("region", name="Tour")
    newcomer.goto(f"{server.url}/?layer=2")
    wait_idle(newcomer)
    expect(tour).to_have_count(0)
    newcomer.goto(server.url)
    expect(tour).to_be_visible()
    newcomer.keyboard.press("Escape")
    expect(tour).to_have_count(0)
