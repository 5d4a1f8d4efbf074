"""Runs of pages that take turns."""

import threading
import time

import pytest

from attnviz.app.jobs import Lane


def test_who_clicks_in_many_windows_keeps_others_waiting_for_one_run() -> None:
    lane, order, first = Lane(1), list[str](), threading.Event()

    def run(name: str) -> None:
        with lane.turn(tuple(name.split()), 60):
            first.wait(60)
            order.append(name)

    threads = []
    for name in ("hostile 1", "hostile 2", "hostile 3", "quiet 1"):
        threads.append(threading.Thread(target=run, args=(name,)))
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


def test_a_run_that_takes_long_holds_nobody_up_for_longer_than_its_patience() -> None:
    lane, ran = Lane(1), list[int]()
    with lane.turn(("a", 1), 60), lane.turn(("b", 1), 0.01):
        ran.append(1)
    with lane.turn(("a", 1), 60):
        ran.append(2)
    assert ran == [1, 2]


def test_what_fails_gives_its_turn_to_the_next() -> None:
    lane = Lane(1)
    with pytest.raises(ZeroDivisionError), lane.turn(("a", 1), 60):
        raise ZeroDivisionError
    begun = time.monotonic()
    with lane.turn(("a", 1), 60):
        assert time.monotonic() - begun < 60
