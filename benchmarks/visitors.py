"""How long visitors of Explore wait when many are there, each with a sentence of their own.

A real browser's visit is recorded (`benchmarks.replay`). Then so many visitors repeat it, each in a session
of their own, with another noun in the sentence that is typed, and with a pause before each click: 3 s on
average, exponentially distributed, from a seed. They come within the first 3 s.

Last, a server that has just started gets thirty visitors at once, each with a sentence of their own.

Visitors and servers share this machine's cores. Run: python -m benchmarks.visitors [visitors …] [--smoke]
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from random import Random

import numpy as np
import psutil
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection

from attnviz.trained.storyteller.grammar import NOUNS
from benchmarks.browser import launched
from benchmarks.page import load_the_model
from benchmarks.replay import SENTENCE, record
from benchmarks.report import Report, parser
from tests.browser.server import Server, running

VISITORS = (30, 60, 100)
TARGETS = {60: 0.3, 100: 1.0}
"""The longest p95 in seconds, by how many visitors there are."""

COLD_VISITORS, COLD_TARGET = 30, 4.0
PAUSE_SECONDS = 3.0
PATIENCE_SECONDS = 120
_NOUN = "trophy"


def of_visitor(recorded: Sequence[bytes], number: int) -> list[bytes]:
    """The messages with a sentence of this visitor's own: no two have the same one."""
    first, second = divmod(number, len(NOUNS))
    theirs = f"{NOUNS[second]}{' and the ' + NOUNS[first] if first else ''}"
    messages = []
    for message in map(BackMsg.FromString, recorded):
        for widget in message.rerun_script.widget_states.widgets:
            if widget.string_value == SENTENCE:
                widget.string_value = SENTENCE.replace(_NOUN, theirs)
        messages.append(message.SerializeToString())
    return messages


def ask(socket: ClientConnection, message: bytes) -> float:
    """Seconds from a message to the end of its answer."""
    begun = time.perf_counter()
    socket.send(message)
    while True:
        received = socket.recv(PATIENCE_SECONDS, decode=False)
        if len(received) > 100:  # bytes: the last message of an answer is short
            continue
        answer = ForwardMsg.FromString(received)
        if answer.script_finished in (
            ForwardMsg.FINISHED_SUCCESSFULLY,
            ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY,
        ) and (answer.WhichOneof("type") == "script_finished"):
            return time.perf_counter() - begun


def visit(server: Server, messages: Sequence[bytes], seed: int, pause: float) -> list[float]:
    """One visitor: how many seconds they waited for each answer, the opening's last."""
    dice = Random(seed)  # noqa: S311 - pauses are no secret
    time.sleep(dice.random() * pause)
    waited = []
    with server.websocket(server.url) as socket:
        opening = ask(socket, messages[0])
        for message in messages[1:]:
            time.sleep(dice.expovariate(1 / pause) if pause else 0)
            waited.append(ask(socket, message))
    return [*waited, opening]


def many(
    server: Server, recorded: Sequence[bytes], count: int, pause: float
) -> tuple[list[float], float, float]:
    """Seconds waited by all visitors, processor seconds of a run, and the server's memory in bytes."""
    process = psutil.Process(server.process.pid)
    before = sum(process.cpu_times()[:2])
    with ThreadPoolExecutor(count) as pool:
        visits = pool.map(
            lambda number: visit(server, of_visitor(recorded, number), number, pause), range(count)
        )
        waited = [second for seconds in visits for second in seconds[:-1]]
    used = sum(process.cpu_times()[:2]) - before
    return waited, used / (len(waited) + count), process.memory_info().rss


def main(counts: Sequence[int], cold: int, pause: float) -> None:
    """Record, let them come, and print."""
    with tempfile.TemporaryDirectory() as home, running(Path(home)) as server, launched() as browser:
        report = Report("Visitors of Explore who click every 3 s", browser.version)
        load_the_model(browser, server.url)
        recorded = [exchange.message for exchange in record(browser, server)]
        many(server, recorded, min(counts), 0)  # fills the caches
        for count in counts:
            waited, run, memory = many(server, recorded, count, pause)
            p50, p95, p99 = np.percentile(waited, (50, 95, 99))
            report.section(f"{count} visitors, {len(waited):,} clicks")
            row = partial(report.row, "from a click to the end of its answer: p50 / p95 / p99")
            figure = f"{p50 * 1000:.0f} / {p95 * 1000:.0f} / {p99 * 1000:.0f} ms"
            target = TARGETS.get(count)
            if target is None:
                row(figure)
            else:
                row(figure, f"p95 ≤ {target * 1000:.0f} ms", met=p95 <= target)
            report.row("processor time of a run", f"{run * 1000:.0f} ms")
            report.row("memory of the server", f"{memory / 1e6:.0f} MB")
    typed = next(number for number, message in enumerate(recorded) if SENTENCE.encode() in message)
    with tempfile.TemporaryDirectory() as home, running(Path(home)) as server:
        waited, _, _ = many(server, [recorded[0], recorded[typed]], cold, 0)
        report.section(f"A server that has just started, {cold} visitors with a sentence each")
        longest = max(waited)
        report.row(
            "the longest wait", f"{longest:.1f} s", f"≤ {COLD_TARGET:.0f} s", met=longest <= COLD_TARGET
        )
    report.end()


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("visitors", type=int, nargs="*", default=VISITORS)
    asked = arguments.parse_args()
    if asked.smoke:
        main((2,), 2, 0.1)
    else:
        main(asked.visitors, COLD_VISITORS, PAUSE_SECONDS)
