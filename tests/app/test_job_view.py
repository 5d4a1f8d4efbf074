"""A job on a page: what is shown of it in every state, and what its buttons do."""

import threading
from collections.abc import Callable, Iterator

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.jobs import Job, Jobs
from attnviz.errors import AttnvizError
from attnviz.experiments.progress import Progress
from tests.app.shown import clean

SECONDS = 30
WHY = "Shorten *it*."


class Reading:
    """Three steps of 1,000 pages each; each waits until it is let go. After them it can be refused."""

    def __init__(self, *, refused: bool = False) -> None:
        self.begun = 0
        self.steps = threading.Semaphore(0)
        self.told = threading.Semaphore(0)
        self._refused = refused

    def __call__(self) -> Iterator[Progress[str]]:
        self.begun += 1
        for number in range(1, 4):
            self.told.release()
            assert self.steps.acquire(timeout=SECONDS)
            yield Progress(1_000 * number, 3_000, f"{number} found")
        if self._refused:
            raise AttnvizError(WHY)

    def let_go(self, steps: int) -> None:
        """Let some steps go, and return when the next has begun."""
        for _ in range(steps):
            self.steps.release()
            assert self.told.acquire(timeout=SECONDS)


class Page:
    """A page with one job: its parts after the last run, and how often it ran."""

    def __init__(self, reading: Reading, start: str) -> None:
        self.reading = reading
        self.jobs = Jobs()
        self.runs = 0
        self.app = AppTest.from_function(_page, args=(self, start), default_timeout=SECONDS)

    @property
    def job(self) -> Job[str]:
        return self.jobs.find("reading", self.reading)

    def open(self) -> None:
        """Open it; return when the first step has begun."""
        self.app.run()
        assert self.reading.told.acquire(timeout=SECONDS)
        self.app.run()

    def ends(self) -> str:
        """Let the job run to its end, unless it is stopped; return its state."""
        for _ in range(3):
            self.reading.steps.release()
        return self.job.wait(SECONDS)

    def click(self, label: str) -> None:
        next(button for button in self.app.button if button.label == label).click().run()

    def buttons(self) -> list[str]:
        return [button.label for button in self.app.button]

    def progress(self) -> tuple[float, str]:
        """How long the bar is, in percent, and what it says."""
        proto = self.app.get("progress")[0].proto
        return proto.value, proto.text

    def found(self) -> list[str]:
        return [text.value for text in self.app.text]


def _page(page: "Page", start: str) -> None:
    import streamlit as st

    from attnviz.app.job_view import counted, show_job

    def draw(latest: "Progress[str]") -> None:
        st.text(latest.found)

    page.runs += 1
    show_job(page.job, counted("Reading the pages", "pages"), draw, start=start, key="reading")
    st.caption(page.job.state)


@pytest.fixture
def opened() -> Iterator[Callable[..., Page]]:
    pages = []

    def open_page(*, refused: bool = False, start: str = "") -> Page:
        pages.append(Page(Reading(refused=refused), start))
        return pages[-1]

    yield open_page
    for page in pages:
        page.job.stop()
        page.ends()


def test_it_begins_by_itself_and_tells_how_far_it_is(opened: Callable[..., Page]) -> None:
    page = opened()
    page.open()
    clean(page.app)
    assert (page.progress(), page.buttons(), page.found()) == ((0, "Reading the pages …"), ["Stop"], [])
    page.reading.let_go(2)
    page.app.run()
    assert page.progress() == (66, "Reading the pages: 2,000 of 3,000 pages")
    assert page.found() == ["2 found"]
    assert page.ends() == "finished"
    page.app.run()
    clean(page.app)
    assert (page.buttons(), page.found(), page.app.get("progress")) == ([], ["3 found"], [])
    assert page.reading.begun == 1


def test_it_waits_for_its_turn(opened: Callable[..., Page]) -> None:
    first, second = opened(), opened()
    first.open()
    second.app.run()
    second.app.run()
    assert second.progress() == (0, "Reading the pages: waiting for its turn on this server")
    assert second.buttons() == ["Stop"]


def test_it_stops_and_goes_on_where_it_stopped(opened: Callable[..., Page]) -> None:
    page = opened()
    page.open()
    page.reading.let_go(1)
    page.app.run()
    page.click("Stop")
    page.reading.steps.release()
    assert page.job.wait(SECONDS) == "stopped"
    for _ in range(2):
        page.app.run()
        assert page.progress() == (66, "Stopped after 2,000 of 3,000 pages. What was found stays.")
        assert (page.buttons(), page.found()) == (["Go on"], ["2 found"])
    page.click("Go on")
    assert page.buttons() == ["Stop"]
    assert page.ends() == "finished"
    page.app.run()
    assert (page.found(), page.reading.begun) == (["3 found"], 1)


def test_stopped_before_it_found_anything(opened: Callable[..., Page]) -> None:
    first, second = opened(), opened()
    first.open()
    second.app.run()
    second.click("Stop")
    assert second.job.wait(SECONDS) == "stopped"
    second.app.run()
    assert (second.progress(), second.buttons()) == ((0, "Stopped."), ["Go on"])


def test_it_begins_when_it_is_asked_to(opened: Callable[..., Page]) -> None:
    page = opened(start="Read them")
    page.app.run()
    page.app.run()
    assert (page.buttons(), page.reading.begun) == (["Read them"], 0)
    page.click("Read them")
    assert page.buttons() == ["Stop"]
    assert page.ends() == "finished"


def test_what_nobody_watched_goes_on_when_it_is_looked_at_again(opened: Callable[..., Page]) -> None:
    page = opened()
    page.open()
    page.job._patience = 0
    page.reading.steps.release()
    assert page.job.wait(SECONDS) == "left alone"
    page.job._patience = SECONDS
    page.app.run()
    assert page.buttons() == ["Stop"]
    assert page.ends() == "finished"
    assert page.reading.begun == 1


def test_when_it_has_ended_the_whole_page_is_drawn_once_more(
    opened: Callable[..., Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = opened()
    page.open()
    runs = page.runs
    # It ends after the page has looked whether it runs, and before it is drawn.
    monkeypatch.setattr(page.job, "watched", page.ends)
    page.app.run()
    assert page.runs == runs + 2
    assert [caption.value for caption in page.app.caption] == ["finished"]


@pytest.mark.parametrize("start", ["", "Read them"])
def test_it_says_why_it_was_refused_and_begins_anew_only_when_asked_to(
    opened: Callable[..., Page], start: str
) -> None:
    page = opened(refused=True, start=start)
    page.app.run()
    if start:
        page.click(start)
    for attempt in (1, 2):
        page.app.run()
        assert page.buttons() == ["Stop"]
        assert page.ends() == "refused"
        for _ in range(3):
            page.app.run()
            assert [error.value for error in page.app.error] == ["Shorten \\*it\\*."]
            assert (page.buttons(), page.found()) == (["Try again"], ["3 found"])
            assert page.reading.begun == attempt
        page.click("Try again")
        assert not page.app.error
        assert not page.found()
