"""A job on a page: its display in every state, and its buttons."""

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.server.jobs import Job
from attnviz.experiments.progress import Progress
from tests.app.shown import buttons, clean

FOUND = Progress(2_000, 3_000, "2 found")


class FakeJob(Job[str]):
    """A job that stays in one state and records the calls of its methods."""

    running = queued = False  # replace the properties of `Job`

    def __init__(self, latest: Progress[str] | None = None, **state: Any) -> None:
        super().__init__(lambda: iter(()))
        self.latest = latest
        vars(self).update(state)
        self.calls: list[str] = []
        self.pages = 0  # number of times that the page was drawn
        self.when_watched: Callable[[], None] = lambda: None

    def start(self) -> None:
        self.calls.append("start")

    def stop(self) -> None:
        self.calls.append("stop")

    def watch(self) -> None:
        self.calls.append("watch")
        self.when_watched()


def _page(job: "FakeJob", options: "dict[str, Any]") -> None:
    import streamlit as st

    from attnviz.app.job_view import progress_text, show_job

    def draw(latest: "Progress[str]") -> None:
        st.text(latest.found)

    job.pages += 1
    show_job(job, progress_text("Reading the pages", "pages"), draw, key="reading", **options)


def show(job: FakeJob, **options: object) -> AppTest:
    return AppTest.from_function(_page, args=(job, options), default_timeout=30).run()


def bar(app: AppTest) -> tuple[int, str] | None:
    """Return the length of the progress bar, in percent, and its text."""
    bars = app.get("progress")
    return (bars[0].proto.value, bars[0].proto.text) if bars else None


WAITING = "Reading the pages: queued on this server"
PARTLY_DONE = "Reading the pages: 2,000 of 3,000 pages"
STOPPED = "Stopped after 2,000 of 3,000 pages. The results so far are kept."
PROBLEM = "Shorten *it*."


@pytest.mark.parametrize(
    ("latest", "state", "expected", "button"),
    [
        (None, {"running": True, "queued": True}, (0, WAITING), "Stop"),
        (None, {"running": True}, (0, "Reading the pages …"), "Stop"),
        (FOUND, {"running": True}, (66, PARTLY_DONE), "Stop"),
        (FOUND, {"finished": True}, None, None),
        (FOUND, {"stopped": True}, (66, STOPPED), "Start again"),
        (FOUND, {"problem": PROBLEM}, None, "Start again"),
    ],
)
def test_each_state_has_its_bar_and_button(
    latest: Progress[str] | None, state: dict[str, Any], expected: tuple[int, str] | None, button: str | None
) -> None:
    job = FakeJob(latest, **state)
    app = show(job)
    assert not app.exception
    assert (bar(app), buttons(app)) == (expected, [button] if button else [])
    assert [text.value for text in app.text] == (["2 found"] if latest else [])
    assert [error.value for error in app.error] == (["Shorten \\*it\\*."] if "problem" in state else [])
    assert job.calls == (["start", "watch"] if button == "Stop" else [])
    if button:
        job.calls.clear()
        app.button[0].click().run()
        assert job.calls[0] == ("stop" if button == "Stop" else "start")


def test_job_starts_when_first_shown_or_by_its_button() -> None:
    job = FakeJob()
    show(job)
    assert job.calls == ["start"]
    job = FakeJob()
    app = show(job, starts=False, button="Read")
    assert (job.calls, buttons(app), bar(app)) == ([], ["Read"], None)


def test_page_is_redrawn_when_the_job_has_ended() -> None:
    job = FakeJob(FOUND, running=True)
    # The job ends after the page has checked its state, but before the page is drawn.
    job.when_watched = lambda: vars(job).update(running=False, finished=True)
    app = show(job)
    clean(app)
    assert (bar(app), job.pages) == (None, 2)
