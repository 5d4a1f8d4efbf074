"""The same tests for both stores of rooms."""

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
def redis_address() -> Iterator[str]:
    with redis_server.running() as address:
        yield address


@pytest.fixture(params=["memory", "redis"])
def place(request: pytest.FixtureRequest) -> Iterator[Callable[[], Store]]:
    """Opens the store as one server does; all the servers of a place share their rooms."""
    with ExitStack() as opened:
        only = Memory()

        def open_it() -> Store:
            if request.param == "memory":
                return only
            return opened.enter_context(closing(Redis(request.getfixturevalue("redis_address"))))

        for code in open_it().sweep():
            open_it().delete(code)
        yield open_it


@pytest.fixture
def store(place: Callable[[], Store]) -> Store:
    return place()


def later() -> float:
    return time.time() + 60


def test_a_room_is_written_only_over_what_was_read(store: Store) -> None:
    assert store.read(CODE) is None
    assert not store.write(CODE, 1, "over nothing", later())
    assert store.write(CODE, 0, "first", later())
    assert not store.write(CODE, 0, "another room of this code", later())
    assert store.read(CODE) == (1, "first")
    assert store.write(CODE, 1, "second — “≠”", later())
    assert not store.write(CODE, 1, "over what another wrote", later())
    assert store.read(CODE) == (2, "second — “≠”")


def test_numbers_are_told_of_the_rooms_that_are_there(store: Store) -> None:
    store.write(CODE, 0, "", later())
    store.write(CODE, 1, "", later())
    assert store.numbers([CODE, OTHER]) == {CODE: 2}
    store.delete(CODE)
    store.delete(CODE)
    assert store.numbers([CODE, OTHER]) == {}
    assert store.read(CODE) is None
    assert not store.write(CODE, 2, "after its end", later())


def test_a_room_whose_time_is_over_is_gone(store: Store) -> None:
    store.write(CODE, 0, "", later())
    store.write(OTHER, 0, "", time.time() - 1)
    assert store.read(OTHER) is None
    assert store.numbers([CODE, OTHER]) == {CODE: 1}
    assert store.sweep() == [CODE]
    store.delete(CODE)
    assert store.sweep() == []


def test_servers_change_a_room_at_once_and_no_vote_is_lost(place: Callable[[], Store]) -> None:
    store = place()
    room, _ = rooms.new_room(time.time())
    room.lead(POLL)
    store.write(CODE, 0, room.serialized(), room.until)
    # In memory there is one process and, as attnviz.app.classroom.socket has it, one thread.
    servers = 1 if store is place() else 4

    def vote(server: int) -> None:
        mine = place()
        for number in range(server, 40, servers):
            update(mine, CODE, lambda room, number=number: _vote(room, number))  # type: ignore[misc]

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


def test_what_a_room_refuses_is_not_written(store: Store) -> None:
    with pytest.raises(NoEntry, match=f"no room {CODE}"):
        update(store, CODE, lambda room: room.teach("x" * 22, time.time()))
    room, _ = rooms.new_room(time.time())
    store.write(CODE, 0, room.serialized(), room.until)
    with pytest.raises(NoEntry, match="another teacher"):
        update(store, CODE, lambda room: room.teach("x" * 22, time.time()))
    assert store.numbers([CODE]) == {CODE: 1}


def test_a_store_takes_no_more_rooms_than_it_may(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "MAX_ROOMS", 2)
    codes = {add(store, rooms.new_room(time.time())[0]) for _ in range(2)}
    assert {*store.sweep()} == codes
    with pytest.raises(Refused, match="2 rooms already"):
        add(store, rooms.new_room(time.time())[0])


def test_the_operator_chooses_the_store(monkeypatch: pytest.MonkeyPatch, redis_address: str) -> None:
    monkeypatch.delenv(SETTING, raising=False)
    assert isinstance(from_setting(), Memory)
    monkeypatch.setenv(SETTING, redis_address)
    with closing(from_setting()) as store:
        assert isinstance(store, Redis)
    for wrong in ("http://example.org", "redis://10.0.0.5:port", "rooms.sqlite"):
        monkeypatch.setenv(SETTING, wrong)
        with pytest.raises(WrongSetting, match="such as redis://"):
            from_setting()
