"""A live room with a hundred students: whether every vote counts, how soon they see a view, what it costs.

Real servers, and no browser: students speak the rooms' messages over the websocket, and come back after a cut
as a browser does. Then the same with two servers that share a Redis behind HAProxy, one of which is killed
amid a poll.

Run: python -m benchmarks.classroom [--smoke]
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from benchmarks.proxy import proxied, wait_for
from benchmarks.report import Report, parser
from tests.app.classroom import redis_server
from tests.browser.server import Server, running

CHANCE = random.Random(0)  # noqa: S311 - nothing is secret here
OPTIONS = ["dog", "road", "it"]
SECONDS = 60
ASK_SECONDS = 10.0  # after which a teacher who sees no question asks again
VOTING_SECONDS = 3.0  # within which all vote
HEARTBEAT_SECONDS = 20.0
WARM = 10  # minutes of the lesson, after which everything has its size


class Window:
    """A page in a room. It comes back after a cut, and repeats a vote that is not counted."""

    def __init__(self, address: str, first: dict[str, Any]) -> None:
        self.first = first
        self.state: dict[str, Any] = {}
        self.arrived: dict[str, float] = {}  # when each view came, by its query
        self.choice: tuple[int, int] | None = None  # round and option
        self._address = address
        self._socket: ClientConnection | None = None
        self._changed = asyncio.Condition()

    async def attend(self) -> None:
        """Stay in the room for good."""
        while True:
            try:
                async with connect(self._address, proxy=None, open_timeout=SECONDS) as self._socket:
                    await self.send(self.first)
                    beating = asyncio.create_task(self._beat())
                    try:
                        async for text in self._socket:
                            await self._hear(json.loads(text))
                    finally:
                        beating.cancel()
            except (OSError, WebSocketException):
                pass
            self.state = {}
            await asyncio.sleep(CHANCE.uniform(0.2, 3.0))

    async def send(self, message: dict[str, Any]) -> None:
        """Say something, if there is a connection."""
        try:
            if self._socket:
                await self._socket.send(json.dumps(message))
        except WebSocketException:
            pass  # it comes back

    async def vote(self, number: int, option: int) -> None:
        """Choose an option within some seconds."""
        await asyncio.sleep(CHANCE.uniform(0, VOTING_SECONDS))
        self.choice = (number, option)
        await self._vote_if_not_counted()

    async def until(self, wanted: Callable[[dict[str, Any]], bool]) -> None:
        """Wait for a state like this."""
        async with self._changed:
            await asyncio.wait_for(
                self._changed.wait_for(lambda: bool(self.state) and wanted(self.state)), SECONDS
            )

    async def leave(self) -> None:
        """Cut the connection, once."""
        if self._socket:
            await self._socket.close()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            await self.send({"do": "here"})

    async def _hear(self, message: dict[str, Any]) -> None:
        if message.get("fatal"):
            raise RuntimeError(message["error"])
        if "key" in message:
            self.first |= {"do": "teach"} | message
        if "n" not in message:
            return
        if message["view"]:
            self.arrived.setdefault(message["view"]["query"], time.perf_counter())
        async with self._changed:
            self.state = message
            self._changed.notify_all()
        await self._vote_if_not_counted()

    async def _vote_if_not_counted(self) -> None:
        poll = self.state.get("poll")
        if not (self.choice and poll and poll["open"]):
            return
        number, option = self.choice
        if poll["round"] == number and poll["mine"] != option:
            await self.send({"do": "vote", "round": number, "option": option})


class Lesson:
    """A teacher and students in one room."""

    def __init__(self, teacher: Window, students: Sequence[Window]) -> None:
        self.teacher, self.students = teacher, students
        self._views = 0

    async def show_a_view(self) -> list[float]:
        """Show all another view; return after how many seconds each student had it."""
        self._views += 1
        query = f"layer=4&mask_after={self._views}"
        begun = time.perf_counter()
        await self.teacher.send({"do": "view", "view": {"path": "masks", "query": query, "reveal": []}})
        await self.all_until(lambda state: bool(state["view"]) and state["view"]["query"] == query)
        return [student.arrived[query] - begun for student in self.students]

    async def poll(self, amid: Callable[[], None] | None = None) -> bool:
        """Ask all; whether every vote was counted, and none twice. `amid`: done when some have voted."""
        asked = await self._ask()
        await self.all_until(lambda state: bool(state["poll"]) and state["poll"]["round"] == asked)
        choices = [CHANCE.randrange(len(OPTIONS)) for _ in self.students]
        votes = [
            asyncio.create_task(student.vote(asked, choice))
            for student, choice in zip(self.students, choices, strict=True)
        ]
        if amid:
            await asyncio.sleep(VOTING_SECONDS / 2)
            amid()
        await asyncio.gather(*votes)
        await self.teacher.until(lambda state: state["poll"]["votes"] >= len(self.students))
        counts = self.teacher.state["poll"]["counts"]
        return bool(counts == [Counter(choices)[option] for option in range(len(OPTIONS))])

    async def _ask(self) -> int:
        """Ask, and ask again if nothing came of it; return which question of the room it is."""

        def number(state: dict[str, Any]) -> int:
            return int(state["poll"]["round"]) if state["poll"] else 0

        await self.teacher.until(bool)
        before = number(self.teacher.state)
        while True:
            await self.teacher.send({"do": "poll", "question": "Which?", "options": OPTIONS, "right": 0})
            with suppress(TimeoutError):
                await asyncio.wait_for(self.teacher.until(lambda state: number(state) > before), ASK_SECONDS)
                return number(self.teacher.state)

    async def all_until(self, wanted: Callable[[dict[str, Any]], bool]) -> None:
        """Wait until all students see this."""
        await asyncio.gather(*(student.until(wanted) for student in self.students))


@asynccontextmanager
async def lesson(address: str, size: int) -> AsyncIterator[Lesson]:
    """A room in which all are."""
    async with asyncio.TaskGroup() as group:
        teacher = Window(address, {"do": "open"})
        tasks = [group.create_task(teacher.attend())]
        await teacher.until(lambda state: bool(state["people"]))
        joins = ({"do": "join", "room": teacher.first["room"], "voter": f"{n:0>20}"} for n in range(size))
        students = [Window(address, join) for join in joins]
        tasks += [group.create_task(student.attend()) for student in students]
        await teacher.until(lambda state: state["people"]["here"] == size)
        yield Lesson(teacher, students)
        for task in tasks:
            task.cancel()


async def one_server(
    report: Report, server: Server, size: int, rounds: int, idle: float, minutes: int
) -> None:
    """All of it on one server."""
    process = psutil.Process(server.process.pid)
    async with lesson(room_of(server.url), size) as taught:
        report.section(f"One server, {size} students")
        latencies = [each for _ in range(rounds) for each in await paced(taught.show_a_view())]
        told = f"{1e3 * statistics.median(latencies):.0f} / {1e3 * p95(latencies):.0f} ms"
        report.row("from push to the student's message, p50 / p95", told, "≤ 1 s", met=p95(latencies) <= 1)
        counted = [await taught.poll() for _ in range(3)]
        report.row(
            "votes counted, none twice (3 polls)",
            "all" if all(counted) else "not all",
            "all",
            met=all(counted),
        )
        await asyncio.sleep(3)  # until the server has done what the polls left behind
        before, begun = spent(process), time.perf_counter()
        await asyncio.sleep(idle)
        share = (spent(process) - before) / (time.perf_counter() - begun)
        report.row("idle: processor time, of one core", f"{share:.1%}", "≤ 5 %", met=share <= 0.05)
        megabytes = [await a_minute(taught, process, minute) for minute in range(minutes)]
        first = megabytes[min(WARM, len(megabytes)) - 1]
        grown = max(megabytes) / first
        report.row(
            f"memory, {minutes} minutes of a lesson",
            f"{first:.0f} MB, then {grown:.2f} ×",
            "≤ 1.1 ×",
            met=grown <= 1.1,
        )


async def a_minute(taught: Lesson, process: psutil.Process, minute: int) -> float:
    """A minute of a lesson, in fast motion: views, a poll, every tenth comes anew; the memory after it."""
    for _ in range(3):
        await taught.show_a_view()
    await taught.poll()
    await taught.teacher.send({"do": "show"})
    for student in taught.students[minute % 10 :: 10]:
        await student.leave()
    await taught.all_until(lambda state: state["poll"]["shown"])
    return float(process.memory_info().rss / 1e6)


async def two_servers(report: Report, address: str, kill: Callable[[], None], size: int) -> None:
    """The same behind a proxy, while one of two servers is killed."""
    async with lesson(address, size) as taught:
        report.section(
            f"Two servers with one Redis behind HAProxy, {size} students, one server killed amid a poll"
        )
        latencies = await taught.show_a_view()
        report.row(
            "before: from push to the student's message, p95",
            f"{1e3 * p95(latencies):.0f} ms",
            "≤ 1 s",
            met=p95(latencies) <= 1,
        )
        begun = time.perf_counter()
        counted = await taught.poll(kill)
        report.row("votes counted, none twice", "all" if counted else "not all", "all", met=counted)
        await taught.teacher.send({"do": "show"})
        await taught.all_until(lambda state: state["poll"]["shown"])
        report.row(
            "all are back and have voted, from the question on", f"{time.perf_counter() - begun:.1f} s"
        )
        latencies = await taught.show_a_view()
        report.row(
            "after: from push to the student's message, p95",
            f"{1e3 * p95(latencies):.0f} ms",
            "≤ 1 s",
            met=p95(latencies) <= 1,
        )


@contextmanager
def serving(rooms: str) -> Iterator[Server]:
    """A server whose rooms live there."""
    where = patch.dict(os.environ, {"ATTNVIZ_ROOMS": rooms})
    with tempfile.TemporaryDirectory() as home, where, running(Path(home)) as server:
        wait_for(f"{server.url}/ready")  # else what it loads at its start would be counted
        yield server
        if tracebacks := server.tracebacks():
            raise RuntimeError("The app failed:\n" + "\n".join(tracebacks))


def room_of(url: str) -> str:
    """Where its rooms are."""
    return url.replace("http", "ws", 1) + "/room"


async def paced(showing: Any) -> list[float]:
    """Not faster than a teacher: four views a second."""
    shown: list[float]
    shown, _ = await asyncio.gather(showing, asyncio.sleep(0.25))
    return shown


def p95(values: Sequence[float]) -> float:
    """What 95 % do not exceed."""
    return statistics.quantiles(values, n=20)[-1]


def spent(process: psutil.Process) -> float:
    """The processor time of a process, in seconds."""
    times = process.cpu_times()
    return float(times.user + times.system)


def main(*, smoke: bool) -> None:
    """Measure everything and print it."""
    size, rounds, idle, minutes = (5, 2, 0.5, 1) if smoke else (100, 40, 30.0, 60)
    report = Report("A live room")
    with serving("") as server:
        asyncio.run(one_server(report, server, size, rounds, idle, minutes))
    with ExitStack() as stack:
        address = stack.enter_context(redis_server.running())
        servers = [stack.enter_context(serving(address)) for _ in range(2)]
        proxy = stack.enter_context(proxied(servers))
        asyncio.run(two_servers(report, room_of(proxy), servers[0].process.kill, size))
    report.end()


if __name__ == "__main__":
    main(smoke=parser(__doc__).parse_args().smoke)
