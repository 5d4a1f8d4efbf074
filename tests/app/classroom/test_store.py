"""Tests for both stores of rooms: in memory and in Redis."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from attnviz.app.classroom import rooms
from attnviz.app.classroom import store as stores
from attnviz.app.classroom.rooms import NoEntry, Refused, Room
from attnviz.app.classroom.store import SETTING, Memory, Redis, Store, add, from_setting, update
from attnviz.errors import WrongSetting
from tests.app.classroom import redis_server

CODE, OTHER = "ABCDEF", "GHJKMN"
POLL = {"do": "poll", "question": "Which?", "options": ["one", "two"]}


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    with redis_server.running() as address:
        yield address


@pytest.fixture(params=["memory", "redis"])
def open_store(request: pytest.FixtureRequest) -> Iterator[Callable[[], Store]]:
    """A function that opens the store as a server does; all opened stores share the same rooms."""
    with ExitStack() as opened:
        memory = Memory()

        def open_new() -> Store:
            if request.param == "memory":
                return memory
            return opened.enter_context(closing(Redis(request.getfixturevalue("redis_url"))))

        for code in open_new().sweep():
            open_new().delete(code)
        yield open_new


@pytest.fixture
def store(open_store: Callable[[], Store]) -> Store:
    return open_store()


def in_a_minute() -> float:
    return time.time() + 60


def test_write_requires_the_version_that_was_read(store: Store) -> None:
    assert store.read(CODE) is None
    assert not store.write(CODE, 1, "over nothing", in_a_minute())
    assert store.write(CODE, 0, "first", in_a_minute())
    assert not store.write(CODE, 0, "another room with this code", in_a_minute())
    assert store.read(CODE) == (1, "first")
    assert store.write(CODE, 1, "second — “≠”", in_a_minute())
    assert not store.write(CODE, 1, "over the second", in_a_minute())
    assert store.read(CODE) == (2, "second — “≠”")


def test_numbers_has_only_existing_rooms(store: Store) -> None:
    store.write(CODE, 0, "", in_a_minute())
    store.write(CODE, 1, "", in_a_minute())
    assert store.numbers([CODE, OTHER]) == {CODE: 2}
    store.delete(CODE)
    store.delete(CODE)
    assert store.numbers([CODE, OTHER]) == {}
    assert store.read(CODE) is None
    assert not store.write(CODE, 2, "after its end", in_a_minute())


def test_expired_room_is_removed(store: Store) -> None:
    store.write(CODE, 0, "", in_a_minute())
    store.write(OTHER, 0, "", time.time() - 1)
    assert store.read(OTHER) is None
    assert store.numbers([CODE, OTHER]) == {CODE: 1}
    assert store.sweep() == [CODE]
    store.delete(CODE)
    assert store.sweep() == []


def test_concurrent_votes_are_not_lost(open_store: Callable[[], Store]) -> None:
    store = open_store()
    room, _ = rooms.new_room(time.time())
    room.lead(POLL)
    store.write(CODE, 0, room.serialize(), room.until)
    # Only one thread of one process uses the store in memory (attnviz.app.classroom.socket).
    servers = 1 if store is open_store() else 4

    def vote(server: int) -> None:
        own_store = open_store()
        for number in range(server, 40, servers):
            update(own_store, CODE, lambda room, number=number: _vote(room, number))  # type: ignore[misc]

    threads = [threading.Thread(target=vote, args=(server,)) for server in range(servers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    number, text = store.read(CODE) or (0, "")
    assert number == 41
    assert Room.parse(text).visible_to(None)["poll"]["counts"] == [20, 20]


def _vote(room: Room, number: int) -> None:
    voter = room.voter(f"{number:0>20}")
    room.join(voter, time.time())
    room.answer(voter, {"do": "vote", "round": 1, "option": number % 2})


def test_refused_change_is_not_written(store: Store) -> None:
    with pytest.raises(NoEntry, match=f"no room {CODE}"):
        update(store, CODE, lambda room: room.teach("x" * 22, time.time()))
    room, _ = rooms.new_room(time.time())
    store.write(CODE, 0, room.serialize(), room.until)
    with pytest.raises(NoEntry, match="another teacher"):
        update(store, CODE, lambda room: room.teach("x" * 22, time.time()))
    assert store.numbers([CODE]) == {CODE: 1}


def test_store_refuses_more_rooms_than_the_limit(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "MAX_ROOMS", 2)
    codes = {add(store, rooms.new_room(time.time())[0]) for _ in range(2)}
    assert {*store.sweep()} == codes
    with pytest.raises(Refused, match="already has 2 rooms"):
        add(store, rooms.new_room(time.time())[0])


def test_setting_selects_the_store(monkeypatch: pytest.MonkeyPatch, redis_url: str) -> None:
    monkeypatch.delenv(SETTING, raising=False)
    assert isinstance(from_setting(), Memory)
    monkeypatch.setenv(SETTING, redis_url)
    with closing(from_setting()) as store:
        assert isinstance(store, Redis)
    for setting in ("http://example.org", "redis://10.0.0.5:port", "rooms.sqlite"):
        monkeypatch.setenv(SETTING, setting)
        with pytest.raises(WrongSetting, match="such as redis://"):
            from_setting()
