"""A live training: what it prints, and that it ends with its input."""

import subprocess
import sys

import pytest

from attnviz.trained import live
from attnviz.trained.snapshots import Snapshot

STARTED = """
import time
from attnviz.trained import live
live.watch = lambda variant, seed, steps: (print(variant, seed, steps, flush=True), time.sleep(60)) and []
live.main("guided", 7, 60)
"""


@pytest.mark.parametrize("steps", [1, 60, 1234])
def test_it_looks_at_the_beginning_and_at_the_end(steps: int) -> None:
    found = live.moments(steps)
    assert (found[0], found[-1]) == (0, steps)
    assert list(found) == sorted(set(found))


def test_a_storyteller_is_watched_from_its_beginning_to_its_end() -> None:
    found = list(live.watch("storyteller", 7, 2))
    assert [news.step if isinstance(news, Snapshot) else news for news in found] == [0, 1, 2]


def test_it_ends_when_its_input_is_closed() -> None:
    command = [sys.executable, "-c", STARTED]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdin
        assert process.stdout.readline() == "guided 7 60\n"
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(60) == 0  # on a busy machine, starting takes long
