"""The page on learning: a training is slid through, watched by others, and stopped by its visitor."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from attnviz.trained.snapshots import stored
from tests.browser.server import Server
from tests.browser.visit import (
    COMPUTED_MS,
    eventually,
    everybody_can_use,
    first_visit,
    visit,
    wait_idle,
)


def trainings(server: Server) -> list[str]:
    """The processes that this server has started for training."""
    commands = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            status = (process / "status").read_text("utf-8")
            command = (process / "cmdline").read_text("utf-8").replace("\0", " ")
        except OSError:  # it has ended meanwhile
            continue
        if f"\nPPid:\t{server.process.pid}\n" in status and "attnviz.trained.live" in command:
            commands.append(command)
    return commands


def test_a_training_is_slid_through_by_keyboard(page: Page, server: Server) -> None:
    steps = stored("guided").steps
    first_visit(page, server, "watch_it_learn", training_step=steps[6])
    slider = page.get_by_role("slider", name="Training steps so far")
    for key, step in (("ArrowRight", steps[7]), ("Home", steps[0])):
        slider.press(key)
        wait_idle(page)
        assert slider.get_attribute("aria-valuetext") == str(step)
        expect(page.get_by_role("heading", name=f"Encoder 2-1 after {step:,} steps")).to_be_visible()
        expect(page).to_have_url(re.compile(re.escape(f"step={step}")))
    everybody_can_use(page)


def test_a_training_is_watched_by_others_and_its_visitor_stops_it(page: Page, server: Server) -> None:
    @eventually
    def assert_trainings(number: int) -> None:
        assert len(trainings(server)) == number

    visit(page, f"{server.url}/watch_it_learn?live_steps=2000&live_seed=3")
    page.get_by_role("button", name="Start training").press("Enter")
    expect(page.get_by_text(re.compile("^(Starting|Learning) · "))).to_be_visible(timeout=COMPUTED_MS)
    assert_trainings(1)
    other = page.context.new_page()
    visit(other, f"{server.url}/watch_it_learn?open=live")
    expect(other.get_by_text("Another visitor is training")).to_be_visible(timeout=COMPUTED_MS)
    expect(other.get_by_role("button", name="Start training")).to_have_count(0)
    page.get_by_role("button", name="Stop").click()
    assert_trainings(0)
    expect(other.get_by_role("button", name="Start training")).to_be_visible(timeout=COMPUTED_MS)
