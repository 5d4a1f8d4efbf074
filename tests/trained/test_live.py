"""Live training returns snapshots, and its process ends when its input is closed."""

import subprocess
import sys
from dataclasses import replace

import pytest

from attnviz.trained import live
from attnviz.trained.snapshots import Snapshot
from attnviz.trained.translator import training
from attnviz.trained.translator.translator import Sizes

SCRIPT = """
import time
from attnviz.trained import live
live.train_with_snapshots = lambda *arguments: (print(*arguments, flush=True), time.sleep(60)) and []
live.main("guided", 7, 60)
"""


@pytest.mark.parametrize("steps", [1, 60, 1234])
def test_snapshot_steps_include_the_first_and_last_step(steps: int) -> None:
    found = live.snapshot_steps(steps)
    assert (found[0], found[-1]) == (0, steps)
    assert list(found) == sorted(set(found))


def test_snapshots_of_a_translator(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = replace(
        training.Settings.live("candidates", 7, 2),
        sentences=200,
        sizes=Sizes(d_model=12, n_heads=2, d_feed_forward=7),
    )
    calls = []

    def shorter(variant: str, seed: int, steps: int) -> training.Settings:
        calls.append((variant, seed, steps))
        return settings

    monkeypatch.setattr(training.Settings, "live", shorter)
    monkeypatch.setattr(live, "SENTENCES", 6)
    # After two steps a model never generates [END], and each translation would have thirty words.
    monkeypatch.setattr("attnviz.trained.translator.translator.max_translation_words", lambda _source: 3)
    found = list(live.train_with_snapshots("candidates", 7, 2))
    assert calls == [("candidates", 7, 2)]
    assert [news.step if isinstance(news, Snapshot) else news for news in found] == [0, 1, 2]
    assert [news.step for news in found if isinstance(news, Snapshot)] == [0, 2]


def test_snapshots_of_a_storyteller() -> None:
    found = list(live.train_with_snapshots("storyteller", 7, 2))
    assert [news.step if isinstance(news, Snapshot) else news for news in found] == [0, 1, 2]


def test_process_ends_when_its_input_is_closed() -> None:
    command = [sys.executable, "-c", SCRIPT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdin
        assert process.stdout.readline() == "guided 7 60\n"
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(60) == 0  # starting takes a long time on a busy machine
