"""Runs of pages that take turns, and stand aside for one another."""

import threading
import time

import pytest

from attnviz.app import jobs, turns
from attnviz.app.jobs import Lane
from attnviz.app.turns import Shares


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


def test_an_address_that_should_rest_gives_its_place_to_others_and_goes_on_afterwards() -> None:
    lane, ended = Lane(1, apart=True), threading.Event()
    with lane.turn(("a", 1), 60, lambda: 60):
        pass
    resting = lane.submit(ended.set, ("a", 2))
    lane.submit(lambda: None, ("b", 1)).result(60)
    assert not resting.running()
    with lane.turn(("c", 1), 60, lambda: 0.01):
        pass
    lane.submit(ended.set, ("c", 2)).result(60)
    assert not resting.running()


def test_what_fails_gives_its_turn_to_the_next() -> None:
    lane = Lane(1)
    with pytest.raises(ZeroDivisionError), lane.turn(("a", 1), 60):
        raise ZeroDivisionError
    begun = time.monotonic()
    with lane.turn(("a", 1), 60):
        assert time.monotonic() - begun < 60


def busy(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def test_who_has_used_much_stands_aside_while_one_who_has_used_little_goes_on() -> None:
    shares, here, done, order = Shares(), threading.Event(), threading.Event(), list[str]()

    def quiet() -> None:
        with shares.run(None):  # an address that is not known is one like any other
            here.set()
            done.wait(60)
            order.append("quiet")

    thread = threading.Thread(target=quiet)
    with shares.run("hostile"):
        thread.start()
        assert here.wait(60)
        shares.stand_aside()  # it has used no more: nobody need wait
        order.append("begun")
        busy(0.1)
        threading.Timer(0.05, done.set).start()
        shares.stand_aside()
        order.append("gone on")
    thread.join(60)
    assert order == ["begun", "quiet", "gone on"]


def test_it_stands_aside_for_a_second_in_all_and_not_for_runs_of_its_own_address() -> None:
    shares, ended = Shares(), threading.Event()

    def goes_on(address: str) -> None:
        with shares.run(address):
            begun.set()
            ended.wait(60)

    waited = []
    with shares.run("a"):
        busy(0.1)
        for address in "ab":
            begun = threading.Event()
            threading.Thread(target=goes_on, args=(address,)).start()
            assert begun.wait(60)
            time.sleep(2 * turns._LOOKS_AGAIN_SECONDS)
            at = time.monotonic()
            shares.stand_aside()
            waited.append(time.monotonic() - at)
        shares.stand_aside()  # and no more: this would take until the test is stopped
    ended.set()
    assert waited[0] < 0.9 <= waited[1]


def test_one_waits_longer_behind_runs_of_ones_own_address_that_compute() -> None:
    shares = Shares()
    with shares.run("a"):
        busy(0.1)
    assert shares.patience("b") == turns._PATIENCE_SECONDS
    assert 0.45 < shares.patience("a") - turns._PATIENCE_SECONDS < 1
    with shares.run("a"):
        busy(1.5)
    assert shares.patience("a") == turns._MOST_PATIENCE_SECONDS < jobs.PATIENCE_SECONDS


def test_outside_of_a_run_nobody_stands_aside() -> None:
    shares = Shares()
    with shares.run("a"):
        busy(0.1)
    shares.stand_aside()


def test_who_has_used_much_rests_until_it_is_much_no_more_but_only_if_others_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "MUCH_SECONDS", 0.05)
    monkeypatch.setattr(turns, "LATE_SECONDS", 1.0)
    shares = Shares()
    with monkeypatch.context() as later:
        later.setattr(turns, "_GONE_SECONDS", 0)
        with shares.run("a", "gone"):
            busy(0.1)
        assert shares.rest("a") == 0
    assert not shares._visits
    with shares.run("b"):
        busy(0.01)
    assert shares.rest("b") == 0
    rest = shares.rest("a")
    assert 0 < rest < 1  # log 2 = 0.7, less what has gone by
    for visit in range(3):  # each may use as much as a click every three seconds takes
        with shares.run("a", visit):
            pass
    assert 0 < shares.rest("a") < rest - 0.3
    time.sleep(rest)
    assert shares.rest("a") == 0


def test_while_an_address_rests_its_visits_keep_their_turns() -> None:
    lane, order = Lane(2, apart=True), list[str]()
    with lane.turn(("a", "hostile"), 60, lambda: 0.05):
        futures = [lane.submit(lambda: order.append("hostile"), ("a", "hostile")) for _ in range(3)]
        futures.append(lane.submit(lambda: order.append("quiet"), ("a", "quiet")))
    for future in futures:
        future.result(60)
    assert order == ["quiet", "hostile", "hostile", "hostile"]
