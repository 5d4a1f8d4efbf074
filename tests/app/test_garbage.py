"""Garbage goes when nobody waits for a page, and no run of a page pays for it."""

import gc
import threading
import time
import tomllib
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app import garbage

SETTINGS = Path(__file__).parents[2] / ".streamlit" / "config.toml"


class Knot:
    """Holds itself: only a collection lets go of it."""

    def __init__(self) -> None:
        self.itself = self


def dropped() -> weakref.ref[Knot]:
    return weakref.ref(Knot())


def gone(knot: weakref.ref[Knot], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while knot() is not None and time.monotonic() < end:
        time.sleep(0.01)
    return knot() is None


@pytest.fixture(autouse=True)
def _only_ours(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No collection but those that are tested, by a thread that waits for moments only."""
    monkeypatch.setattr(garbage, "_QUIET_SECONDS", 0.05)
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_garbage_goes_when_the_server_is_idle() -> None:
    knot = dropped()
    garbage.collect_when_idle()
    assert gone(knot, 10)


def test_garbage_waits_while_a_page_runs_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "_MOST_WAITS", 10**9)
    finish = threading.Event()
    run = threading.Thread(target=finish.wait, name="ScriptRunner.scriptThread")
    run.start()
    try:
        knot = dropped()
        garbage.collect_when_idle()
        assert not gone(knot, 0.5)
    finally:
        finish.set()
        run.join()
    assert gone(knot, 10)


def test_a_server_that_is_never_idle_is_cleaned_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "_MOST_WAITS", 3)
    monkeypatch.setattr(garbage, "_running", lambda: True)
    knot = dropped()
    garbage.collect_when_idle()
    assert gone(knot, 10)


def test_a_run_of_a_page_is_seen() -> None:
    def page() -> None:
        import streamlit as st

        from attnviz.app import garbage

        st.text(garbage._running())

    assert AppTest.from_function(page).run().text[0].value == "True"
    assert not garbage._running()


def test_streamlit_itself_collects_after_no_run() -> None:
    """Only the setting can be asked: Streamlit's tests of a page never collect."""
    assert tomllib.loads(SETTINGS.read_text("utf-8"))["runner"]["postScriptGC"] is False
