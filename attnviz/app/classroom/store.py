"""Where rooms live: in this process, in a file of this machine, or in a Redis that several servers share."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeAlias

from attnviz import importing
from attnviz.app.classroom import rooms
from attnviz.errors import WrongSetting

SETTING = "ATTNVIZ_ROOMS"
"""The environment variable that says where: a file's path, or redis://…; else in this process's memory."""

_SECONDS = 1.0  # for which a store is waited
_TRIES = 100  # at a room that other servers change at the same time


class SQLite:
    """Rooms as texts with numbers: in a file of this machine, which several processes may open, or in memory.

    Attributes:
        failures: what every verb may raise: the store is away, or full.
    """

    failures: tuple[type[Exception], ...] = (sqlite3.Error, TimeoutError)

    def __init__(self, path: Path | None) -> None:
        self._database = sqlite3.connect(
            path or ":memory:", timeout=_SECONDS, isolation_level=None, check_same_thread=False
        )
        self._keep_a_journal()
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS rooms (code TEXT PRIMARY KEY, number INTEGER, text TEXT, until REAL)"
        )

    def _keep_a_journal(self) -> None:
        """Let servers write while others read. While another does this, SQLite refuses without waiting."""
        until = time.monotonic() + _SECONDS
        while True:
            try:
                self._database.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.01)
            else:
                return

    def read(self, code: str) -> tuple[int, str] | None:
        """A room's number and text, if there is such a room."""
        found: tuple[int, str] | None = self._database.execute(
            "SELECT number, text FROM rooms WHERE code = ? AND until > ?", (code, time.time())
        ).fetchone()
        return found

    def write(self, code: str, number: int, text: str, until: float) -> bool:
        """Write a room whose number is still this one, and count on; whether it was.

        Args:
            code: the room's.
            number: the number that was read; 0: there is no such room yet.
            text: what is written.
            until: when it is deleted, in seconds since 1970.
        """
        if number:
            done = self._database.execute(
                "UPDATE rooms SET number = number + 1, text = ? WHERE code = ? AND number = ?",
                (text, code, number),
            )
        else:
            done = self._database.execute(
                "INSERT OR IGNORE INTO rooms VALUES (?, 1, ?, ?)", (code, text, until)
            )
        return done.rowcount == 1

    def numbers(self, codes: Collection[str]) -> dict[str, int]:
        """The numbers of those of these rooms that are there."""
        some = ", ".join("?" * len(codes))
        return dict(
            self._database.execute(
                f"SELECT code, number FROM rooms WHERE code IN ({some}) AND until > ?",  # noqa: S608
                (*codes, time.time()),
            )
        )

    def delete(self, code: str) -> None:
        """Delete a room."""
        self._database.execute("DELETE FROM rooms WHERE code = ?", (code,))

    def sweep(self) -> int:
        """Delete all rooms whose time is over; return how many there are then."""
        self._database.execute("DELETE FROM rooms WHERE until <= ?", (time.time(),))
        [count] = self._database.execute("SELECT COUNT(*) FROM rooms").fetchone()
        return int(count)

    def close(self) -> None:
        """Let go of it; nothing else comes after."""
        self._database.close()


class Redis:
    """In a Redis, or a Valkey, which several servers share, on whatever machines."""

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
        # Nothing is sent twice: the first may have been done, and a question would be asked twice.
        once = Retry(NoBackoff(), 0)
        self._redis: Any = redis.Redis.from_url(
            address,
            socket_timeout=_SECONDS,
            socket_connect_timeout=_SECONDS,
            retry=once,
            decode_responses=True,
        )

    def read(self, code: str) -> tuple[int, str] | None:  # noqa: D102 - as above; so are the others
        number, text = self._redis.hmget(self._key(code), "number", "text")
        return None if number is None else (int(number), text)

    def write(self, code: str, number: int, text: str, until: float) -> bool:  # noqa: D102
        milliseconds = int(until * 1000)
        keys = self._key(code), self._ALL
        return bool(self._redis.eval(self._WRITE, 2, *keys, number, text, milliseconds, code))

    def numbers(self, codes: Collection[str]) -> dict[str, int]:  # noqa: D102
        asked = self._redis.pipeline(transaction=False)
        for code in codes:
            asked.hget(self._key(code), "number")
        return {code: int(number) for code, number in zip(codes, asked.execute(), strict=True) if number}

    def delete(self, code: str) -> None:  # noqa: D102
        self._redis.delete(self._key(code))
        self._redis.zrem(self._ALL, code)

    def sweep(self) -> int:  # noqa: D102
        self._redis.zremrangebyscore(self._ALL, 0, int(time.time() * 1000))
        return int(self._redis.zcard(self._ALL))

    def close(self) -> None:  # noqa: D102
        self._redis.close()

    def _key(self, code: str) -> str:
        return f"attnviz:room:{code}"


Store: TypeAlias = SQLite | Redis


def from_setting() -> Store:
    """The store that the operator chose.

    Raises:
        WrongSetting: there can be none.
        AttnvizError: the client of Redis is not installed.
    """
    where = os.environ.get(SETTING, "").strip()
    if "://" in where:
        importing.need_extra("rooms")
        try:
            return Redis(where)
        except ValueError as error:
            raise WrongSetting(
                f"{SETTING} should be the path of a file, or an address such as redis://10.0.0.5:6379/0."
            ) from error
    try:
        return SQLite(Path(where).expanduser() if where else None)
    except sqlite3.Error as error:
        raise WrongSetting(f"{SETTING}: rooms cannot be kept in this file ({error}).") from error


def update(store: Store, code: str, change: Callable[[rooms.Room], None]) -> tuple[int, rooms.Room]:
    """Change a room, whoever else changes it at the same time; return it with its new number.

    Args:
        store: where it lives.
        code: which room.
        change: is done to it; called again where another server was faster.

    Raises:
        NoEntry: there is no such room.
        TimeoutError: others were faster all the time.
    """
    for _ in range(_TRIES):
        found = store.read(code)
        if found is None:
            raise rooms.no_room(code)
        number, text = found
        room = rooms.Room.read(text)
        change(room)
        if store.write(code, number, room.written(), room.until):
            return number + 1, room
    raise TimeoutError(f"A room was changed {_TRIES} times by others.")
