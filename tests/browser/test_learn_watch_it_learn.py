"""The page on learning in a browser: the numbers are the stored ones; a training ends with its visitor."""

import json
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page, expect

from tests.browser.explore import eventually
from tests.browser.server import ROOT, Server
from tests.browser.visit import visit, wait_idle

STORED = ROOT / "attnviz" / "trained" / "translator" / "weights" / "taught-steps.npz"

WAIT_MS = 120_000  # a training imports torch and makes its sentences before it begins


def stored() -> dict[str, Any]:
    """The file as numpy opens it, without any code of ours."""
    with np.load(STORED, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def check(page: Page, arrays: dict[str, Any], at: int, probe: int = 0) -> None:
    """All that is told in words of a step is what the file says."""
    step = int(arrays["steps"][at])
    expect(page.get_by_role("heading", name=f"Encoder 2-1 after {step:,} steps")).to_be_visible()
    source = json.loads(arrays["header"].tobytes())["probes"][probe]["source"]
    row = arrays[f"{probe}.encoder"][at, 1, 0, source.index("it")]
    most = [key for key in np.argsort(-row.astype(int), kind="stable")[:3] if row[key] >= 10]
    listed = ", ".join(f"{_name([*source, '[END]'], key)} {row[key] / 10:.1f} %" for key in most)
    told = page.get_by_text(re.compile(rf"^After {step:,} steps, it looks at")).inner_text()
    assert f"it looks at {listed}." in told
    _, exact, pronoun, referent, other = arrays["measures"][at]
    assert f"translates {_percent(exact)} without an error" in told
    assert f"the right pronoun in {_percent(pronoun)}: asked is only which" in told
    assert _percent(referent) in told
    assert _percent(other) in told


def _percent(share: float) -> str:
    rounded = f"{100 * share:.0f} %"
    return "<1 %" if rounded == "0 %" and share > 0 else rounded


def _name(words: list[str], place: int) -> str:
    """As the page calls a token: with its number where the sentence has the word twice."""
    return f"{words[place]} (token {place + 1})" if words.count(words[place]) > 1 else words[place]


def trainings(server: Server) -> list[str]:
    """The processes that this server has started for training."""
    commands = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            status = (process / "status").read_text("utf-8")
            command = (process / "cmdline").read_text("utf-8").replace("\0", " ")
        except OSError:  # it has ended meanwhile
            continue
        if f"\nPPid:\t{server.process.pid}\n" in status and "attnviz live" in command:
            commands.append(command)
    return commands


def wait_for_the_end(server: Server, seconds: float) -> None:
    end = time.monotonic() + seconds
    while trainings(server):
        assert time.monotonic() < end, "a training goes on that nobody watches"
        time.sleep(0.2)


def test_a_training_is_slid_through_by_keyboard_and_the_numbers_are_the_stored_ones(
    page: Page, server: Server
) -> None:
    arrays = stored()
    steps = arrays["steps"].tolist()
    visit(page, f"{server.url}/watch_it_learn?step={steps[6]}")
    check(page, arrays, 6)
    slider = page.get_by_role("slider", name="After how many steps")
    slider.press("ArrowRight")
    wait_idle(page)
    assert slider.get_attribute("aria-valuetext") == str(steps[7])
    check(page, arrays, 7)
    slider.press("End")
    wait_idle(page)
    check(page, arrays, -1)
    expect(page).to_have_url(re.compile(re.escape(f"step={steps[-1]}")))


def test_a_short_training_is_watched_by_all_and_runs_to_its_end(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/watch_it_learn?live_steps=100&live_seed=3")
    page.get_by_role("button", name="Start training").press("Enter")
    expect(page.get_by_text(re.compile("^(Starting|Learning) · "))).to_be_visible(timeout=WAIT_MS)
    assert len(trainings(server)) == 1
    other = page.context.new_page()
    other.goto(f"{server.url}/watch_it_learn")
    expect(other.get_by_text("Another visitor is training")).to_be_visible(timeout=WAIT_MS)
    expect(other.get_by_role("button", name="Start training")).to_have_count(0)
    expect(page.get_by_text(re.compile("^Done · "))).to_be_visible(timeout=WAIT_MS)
    wait_idle(page)
    expect(page.get_by_role("heading", name="Encoder 2-1 after 100 steps")).to_be_visible()
    assert trainings(server) == []
    expect(other.get_by_role("button", name="Start training")).to_be_visible(timeout=WAIT_MS)


def test_a_training_ends_with_its_visitor(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/watch_it_learn?live_steps=3000")
    page.get_by_role("button", name="Start training").press("Enter")
    eventually(lambda: _are_one(trainings(server)))
    page.get_by_role("link", name="About").click()
    wait_for_the_end(server, 30)
    visit(page, f"{server.url}/watch_it_learn")
    expect(page.get_by_role("button", name="Start training")).to_be_visible()


def _are_one(found: list[str]) -> None:
    assert len(found) == 1
