"""What the server keeps is bounded by bytes, and computed once for all who ask at once."""

import threading
import time

import pytest

from attnviz.app.kept import Kept, kept


def test_the_value_that_was_not_asked_for_longest_goes_first() -> None:
    computed: list[str] = []

    @kept(size=len, most=10)
    def twice(text: str) -> str:
        computed.append(text)
        return text * 2

    assert [twice("ab"), twice("cd"), twice("ab")] == ["abab", "cdcd", "abab"]
    assert (computed, twice.bytes) == (["ab", "cd"], 8)
    twice("xy")  # 12 bytes would be too many, and "cd" was not asked for since
    assert twice.bytes == 8
    assert [twice("ab"), twice("cd")] == ["abab", "cdcd"]
    assert computed == ["ab", "cd", "xy", "cd"]


def test_what_is_larger_than_all_that_may_be_kept_is_kept_alone() -> None:
    whole = Kept(lambda number: b"x" * number, len, 10)
    for number in (3, 50, 4):
        assert len(whole(number)) == number
        assert whole.bytes == number


def test_many_who_ask_at_once_wait_for_one() -> None:
    computed: list[int] = []

    def slow(number: int) -> int:
        computed.append(number)
        time.sleep(0.05)
        return number

    together = Kept(slow, lambda _: 1, 100)
    threads = [threading.Thread(target=together, args=(number % 2,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(computed) == [0, 1]


def test_what_fails_is_not_kept() -> None:
    attempts: list[int] = []

    def fails_once(number: int) -> int:
        attempts.append(number)
        if len(attempts) == 1:
            raise ValueError
        return number

    tried = Kept(fails_once, lambda _: 1, 100)
    with pytest.raises(ValueError):  # noqa: PT011 - it says nothing
        tried(5)
    assert tried(5) == 5
    tried.clear()
    assert tried.bytes == 0
