"""Stores for rooms: this process's memory, or a Redis server that several app servers share."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from typing import Any, TypeAlias

from attnviz import importing
from attnviz.app.classroom import rooms
from attnviz.errors import WrongSetting

SETTING = "ATTNVIZ_ROOMS"
"""Environment variable with a Redis URL, redis://…; without it, rooms are kept in memory."""

MAX_ROOMS = 200
"""Maximum number of rooms in a store."""

_TIMEOUT = 1.0  # seconds to connect to Redis, and to wait for a reply
_MAX_TRIES = 100  # attempts to change a room that other requests change at the same time


class Memory:
    """Serialized rooms with version numbers, in this process's memory. Not thread-safe.

    Attributes:
        failures: Errors of the methods and `update`: no response, a full store, too many concurrent changes.
    """

    failures: tuple[type[Exception], ...] = (TimeoutError,)

    def __init__(self) -> None:
        self._rooms: dict[str, tuple[int, str, float]] = {}

    def read(self, code: str) -> tuple[int, str] | None:
        """Return a room's version number and text; None if the room does not exist."""
        number, text, until = self._rooms.get(code, (0, "", 0.0))
        return (number, text) if until > time.time() else None

    def write(self, code: str, number: int, text: str, until: float) -> bool:
        """Write a room unless it was changed since it was read; return whether it was written.

        Args:
            code: Code of the room.
            number: Version number that was read; 0 for a new room.
            text: The serialized room.
            until: Time of deletion, in seconds since 1970.
        """
        found = self.read(code)
        if number != (found[0] if found else 0):
            return False
        self._rooms[code] = (number + 1, text, until)
        return True

    def numbers(self, codes: Collection[str]) -> dict[str, int]:
        """Return the version numbers of these rooms, without rooms that do not exist."""
        return {code: found[0] for code in codes if (found := self.read(code))}

    def delete(self, code: str) -> None:
        """Delete a room."""
        self._rooms.pop(code, None)

    def sweep(self) -> list[str]:
        """Delete the rooms that have ended; return the codes of the others."""
        now = time.time()
        self._rooms = {code: room for code, room in self._rooms.items() if room[2] > now}
        return list(self._rooms)

    def close(self) -> None:
        """Free all resources; the store cannot be used afterwards."""


class Redis:
    """Rooms in a Redis or Valkey server, which app servers on several machines share."""

    _WRITE = """
    if (redis.call('HGET', KEYS[1], 'number') or '0') ~= ARGV[1] then return 0 end
    redis.call('HSET', KEYS[1], 'number', ARGV[1] + 1, 'text', ARGV[2])
    redis.call('PEXPIREAT', KEYS[1], ARGV[3])
    redis.call('ZADD', KEYS[2], ARGV[3], ARGV[4])
    return 1
    """
    _ALL = "attnviz:rooms"

    def __init__(self, address: str) -> None:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        self.failures: tuple[type[Exception], ...] = (redis.RedisError, OSError)
        # No retries: the first attempt may have succeeded, and a poll would start twice.
        no_retries = Retry(NoBackoff(), 0)
        self._redis: Any = redis.Redis.from_url(
            address,
            socket_timeout=_TIMEOUT,
            socket_connect_timeout=_TIMEOUT,
            retry=no_retries,
            decode_responses=True,
        )

    def read(self, code: str) -> tuple[int, str] | None:  # noqa: D102 - as in `Memory`
        number, text = self._redis.hmget(self._key(code), "number", "text")
        return None if number is None else (int(number), text)

    def write(self, code: str, number: int, text: str, until: float) -> bool:  # noqa: D102
        milliseconds = int(until * 1000)
        keys = self._key(code), self._ALL
        return bool(self._redis.eval(self._WRITE, 2, *keys, number, text, milliseconds, code))

    def numbers(self, codes: Collection[str]) -> dict[str, int]:  # noqa: D102
        pipeline = self._redis.pipeline(transaction=False)
        for code in codes:
            pipeline.hget(self._key(code), "number")
        return {code: int(number) for code, number in zip(codes, pipeline.execute(), strict=True) if number}

    def delete(self, code: str) -> None:  # noqa: D102
        self._redis.delete(self._key(code))
        self._redis.zrem(self._ALL, code)

    def sweep(self) -> list[str]:  # noqa: D102
        self._redis.zremrangebyscore(self._ALL, 0, int(time.time() * 1000))
        return list(self._redis.zrange(self._ALL, 0, -1))

    def close(self) -> None:  # noqa: D102
        self._redis.close()

    def _key(self, code: str) -> str:
        return f"attnviz:room:{code}"


Store: TypeAlias = Memory | Redis


def from_setting() -> Store:
    """Return the store that the operator chose.

    Raises:
        WrongSetting: the setting is not a Redis URL.
        AttnvizError: the Redis client is not installed.
    """
    address = os.environ.get(SETTING, "").strip()
    if not address:
        return Memory()
    importing.need_extra("rooms")
    try:
        return Redis(address)
    except ValueError as error:
        raise WrongSetting(
            f"{SETTING} must be the URL of a Redis server, such as redis://10.0.0.5:6379/0."
        ) from error


def add(store: Store, room: rooms.Room) -> str:
    """Write a new room; return its code.

    Raises:
        Refused: the maximum number of rooms has been reached.
    """
    if len(store.sweep()) >= MAX_ROOMS:
        raise rooms.Refused(f"This server already has {MAX_ROOMS} rooms. Try again later.")
    code = rooms.new_code()
    while not store.write(code, 0, room.serialize(), room.until):
        code = rooms.new_code()
    return code


def update(store: Store, code: str, change: Callable[[rooms.Room], None]) -> tuple[int, rooms.Room]:
    """Change a room, retrying after concurrent changes; return its new version number and the room.

    Args:
        store: The store.
        code: Code of the room.
        change: Called with the room, and again with the newer room after a concurrent change.

    Raises:
        NoEntry: the room does not exist.
        TimeoutError: every attempt failed because of a concurrent change.
    """
    for _ in range(_MAX_TRIES):
        found = store.read(code)
        if found is None:
            raise rooms.no_room(code)
        number, text = found
        room = rooms.Room.parse(text)
        change(room)
        if store.write(code, number, room.serialize(), room.until):
            return number + 1, room
    raise TimeoutError(f"A room was changed by other requests during each of {_MAX_TRIES} attempts.")
