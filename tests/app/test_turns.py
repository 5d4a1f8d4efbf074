"""Runs of pages that take turns."""

import threading
import time

import pytest

from attnviz.app import turns
from attnviz.app.jobs import Lane


def test_who_clicks_in_many_windows_keeps_others_waiting_for_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_PATIENCE_SECONDS", 60)
    lane, order, first = Lane(1), list[str](), threading.Event()

    def run(name: str) -> None:
        first.wait(60)
        order.append(name)

    threads = []
    for name in ("hostile 1", "hostile 2", "hostile 3", "quiet 1"):
        visitor = tuple(name.split())
        threads.append(threading.Thread(target=turns.in_turn, args=(lambda n=name: run(n), visitor, lane)))
        threads[-1].start()
        while len(threads) > lane.waiting() + 1:
            time.sleep(0.01)
    first.set()
    for thread in threads:
        thread.join(60)
    assert order == ["hostile 1", "quiet 1", "hostile 2", "hostile 3"]


def test_of_an_address_one_run_goes_on_at_a_time() -> None:
    lane, last, here, elsewhere = Lane(2, apart=True), threading.Event(), threading.Event(), threading.Event()

    def first() -> None:
        here.set()
        last.wait(60)

    lane.submit(first, ("a", 1))
    second = lane.submit(lambda: None, ("a", 2))
    lane.submit(elsewhere.set, ("b", 1)).result(60)
    assert here.wait(60)
    assert elsewhere.is_set()
    assert not second.running()
    assert not second.done()
    last.set()
    second.result(60)


def test_a_run_that_takes_long_holds_nobody_up_for_longer_than_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "_PATIENCE_SECONDS", 0.01)
    lane, ran = Lane(1), list[int]()
    turns.in_turn(lambda: turns.in_turn(lambda: ran.append(1), ("b", 1), lane), ("a", 1), lane)
    assert ran == [1]


def test_what_fails_gives_its_turn_to_the_next() -> None:
    lane, ran = Lane(1), list[int]()
    with pytest.raises(ZeroDivisionError):
        turns.in_turn(lambda: ran.append(1 // 0), ("a", 1), lane)
    turns.in_turn(lambda: ran.append(1), ("a", 1), lane)
    assert ran == [1]
