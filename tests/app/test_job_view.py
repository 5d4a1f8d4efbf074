"""A job on a page: what is shown of it in every state, and what its buttons do."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.server.jobs import Job, State, Visitor
from attnviz.experiments.progress import Progress
from tests.app.shown import buttons, clean

FOUND = Progress(2_000, 3_000, "2 found")


class Held(Job[str]):
    """A job that stands still in one state, and notes what it is asked to do."""

    def __init__(self, state: State, latest: Progress[str] | None = None, *, resumes: bool = True) -> None:
        super().__init__(lambda: iter(()), resumes=resumes)
        self.state, self.latest = state, latest
        self.problem = "Shorten *it*."
        self.asked: list[str] = []
        self.pages = 0  # how often a page that shows it was drawn

    def start(self, visitor: Visitor = None) -> None:
        assert visitor
        self.asked.append("start")

    def stop(self, visitor: Visitor = None) -> None:
        assert visitor
        self.asked.append("stop")

    def watch(self, visitor: Visitor = None) -> None:
        assert visitor
        self.asked.append("watch")


def _page(job: "Held", how: "dict[str, Any]") -> None:
    import streamlit as st

    from attnviz.app.job_view import counted, show_job

    def draw(latest: "Progress[str]") -> None:
        st.text(latest.found)

    job.pages += 1
    show_job(job, counted("Reading the pages", "pages"), draw, key="reading", **how)


def shown(job: Held, **how: object) -> AppTest:
    return AppTest.from_function(_page, args=(job, how), default_timeout=30).run()


def bar(app: AppTest) -> tuple[int, str] | None:
    """How long the bar is, in percent, and what it says."""
    bars = app.get("progress")
    return (bars[0].proto.value, bars[0].proto.text) if bars else None


WAITING = "Reading the pages: waiting for its turn on this server"
FAR = "Reading the pages: 2,000 of 3,000 pages"
STOPPED = "Stopped after 2,000 of 3,000 pages. The results so far are kept."


@pytest.mark.parametrize(
    ("state", "latest", "expected", "button"),
    [
        ("queued", None, (0, WAITING), "Stop"),
        ("queued", FOUND, (66, WAITING), "Stop"),
        ("running", None, (0, "Reading the pages …"), "Stop"),
        ("running", FOUND, (66, FAR), "Stop"),
        ("finished", FOUND, None, None),
        ("refused", None, None, "Try again"),
        ("refused", FOUND, None, "Try again"),
    ],
)
def test_each_state_has_its_bar_and_its_button(
    state: State, latest: Progress[str] | None, expected: tuple[int, str] | None, button: str | None
) -> None:
    job = Held(state, latest)
    app = shown(job)
    assert not app.exception
    assert (bar(app), buttons(app)) == (expected, [button] if button else [])
    assert [text.value for text in app.text] == (["2 found"] if latest else [])
    assert [error.value for error in app.error] == (["Shorten \\*it\\*."] if state == "refused" else [])
    # Who sees it run wants it, too; what stands still is left alone.
    assert job.asked == (["start", "watch"] if button == "Stop" else [])
    if button:
        job.asked.clear()
        app.button[0].click().run()
        assert job.asked[0] == ("stop" if button == "Stop" else "start")


def test_it_begins_by_itself_and_stays_stopped_until_it_is_started_again() -> None:
    job = Held("paused", FOUND)
    app = shown(job)
    assert job.asked == ["start"]
    job.state = "running"
    app.run()
    job.asked.clear()
    app.button[0].click().run()
    # The job runs on for others.
    assert (job.asked, buttons(app), bar(app)) == (["stop"], ["Go on"], (66, STOPPED))
    app.button[0].click().run()
    assert (job.asked[1], buttons(app), bar(app)) == ("start", ["Stop"], (66, FAR))


def test_when_it_has_ended_the_whole_page_is_drawn_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Held("running", FOUND)
    # It ends after the page has looked whether it runs, and before it is drawn.
    monkeypatch.setattr(job, "watch", lambda _: setattr(job, "state", "finished"))
    app = shown(job)
    clean(app)
    assert (bar(app), job.pages) == (None, 2)
