"""A job on a page: what is shown of it in every state, and what its buttons do."""

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.server.jobs import Job
from attnviz.experiments.progress import Progress
from tests.app.shown import buttons, clean

FOUND = Progress(2_000, 3_000, "2 found")


class Held(Job[str]):
    """A job that stands still in one state, and notes what it is asked to do."""

    running = queued = False  # in place of the properties

    def __init__(self, latest: Progress[str] | None = None, **state: Any) -> None:
        super().__init__(lambda: iter(()))
        self.latest = latest
        vars(self).update(state)
        self.asked: list[str] = []
        self.pages = 0  # how often a page that shows it was drawn
        self.when_watched: Callable[[], None] = lambda: None

    def start(self) -> None:
        self.asked.append("start")

    def stop(self) -> None:
        self.asked.append("stop")

    def watch(self) -> None:
        self.asked.append("watch")
        self.when_watched()


def _page(job: "Held", how: "dict[str, Any]") -> None:
    import streamlit as st

    from attnviz.app.job_view import progress_text, show_job

    def draw(latest: "Progress[str]") -> None:
        st.text(latest.found)

    job.pages += 1
    show_job(job, progress_text("Reading the pages", "pages"), draw, key="reading", **how)


def shown(job: Held, **how: object) -> AppTest:
    return AppTest.from_function(_page, args=(job, how), default_timeout=30).run()


def bar(app: AppTest) -> tuple[int, str] | None:
    """How long the bar is, in percent, and what it says."""
    bars = app.get("progress")
    return (bars[0].proto.value, bars[0].proto.text) if bars else None


WAITING = "Reading the pages: waiting for its turn on this server"
FAR = "Reading the pages: 2,000 of 3,000 pages"
STOPPED = "Stopped after 2,000 of 3,000 pages. The results so far are kept."
PROBLEM = "Shorten *it*."


@pytest.mark.parametrize(
    ("latest", "state", "expected", "button"),
    [
        (None, {"running": True, "queued": True}, (0, WAITING), "Stop"),
        (None, {"running": True}, (0, "Reading the pages …"), "Stop"),
        (FOUND, {"running": True}, (66, FAR), "Stop"),
        (FOUND, {"finished": True}, None, None),
        (FOUND, {"stopped": True}, (66, STOPPED), "Start again"),
        (FOUND, {"problem": PROBLEM}, None, "Start again"),
    ],
)
def test_each_state_has_its_bar_and_its_button(
    latest: Progress[str] | None,
    state: dict[str, Any],
    expected: tuple[int, str] | None,
    button: str | None,
) -> None:
    job = Held(latest, **state)
    app = shown(job)
    assert not app.exception
    assert (bar(app), buttons(app)) == (expected, [button] if button else [])
    assert [text.value for text in app.text] == (["2 found"] if latest else [])
    assert [error.value for error in app.error] == (["Shorten \\*it\\*."] if "problem" in state else [])
    assert job.asked == (["start", "watch"] if button == "Stop" else [])
    if button:
        job.asked.clear()
        app.button[0].click().run()
        assert job.asked[0] == ("stop" if button == "Stop" else "start")


def test_it_starts_when_it_is_first_shown_or_by_its_button() -> None:
    job = Held()
    shown(job)
    assert job.asked == ["start"]
    job = Held()
    app = shown(job, starts=False, button="Read")
    assert (job.asked, buttons(app), bar(app)) == ([], ["Read"], None)


def test_when_it_has_ended_the_whole_page_is_drawn_once_more() -> None:
    job = Held(FOUND, running=True)
    # It ends after the page has looked whether it runs, and before it is drawn.
    job.when_watched = lambda: vars(job).update(running=False, finished=True)
    app = shown(job)
    clean(app)
    assert (bar(app), job.pages) == (None, 2)
