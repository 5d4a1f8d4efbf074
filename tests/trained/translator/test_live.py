"""What a live training tells arrives as it was told; everything else is passed by."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from attnviz.trained.live import step_line
from attnviz.trained.translator import live, training
from attnviz.trained.translator.learning import Snapshot
from attnviz.trained.translator.translator import Sizes
from tests.trained.translator.steps import same, snapshot

STARTED = """
import time
from attnviz.cli import translators as commands
commands.tell = lambda variant, seed, steps: (print(variant, seed, steps, flush=True), {})
commands.live("taught", 7, 60)
"""


def test_a_snapshot_arrives_as_it_was_told() -> None:
    told = snapshot(75)
    heard = live.understood(live.snapshot_line(told))
    assert not isinstance(heard, int)
    assert heard is not None
    assert same(told, heard)
    assert not heard.glances[0].weights["cross"].flags.writeable


def test_a_step_arrives_as_it_was_told() -> None:
    assert live.understood(step_line(17)) == 17


@pytest.mark.parametrize(
    "line",
    [
        "",
        "UserWarning: something",
        "17",
        "null",
        "[1]",
        "{}",
        '{"step": null}',
        '{"step": 3, "measures": {}, "glances": []}',
        json.dumps({"step": 3, "measures": json.loads(live.snapshot_line(snapshot(1)))["measures"]}),
    ],
)
def test_what_is_no_message_is_passed_by(line: str) -> None:
    assert live.understood(line) is None


@pytest.mark.parametrize("steps", [1, 60, 200, 1200, 1234])
def test_it_looks_at_the_beginning_and_at_the_end(steps: int) -> None:
    looked = live.snapshots(steps)
    assert looked[0] == 0
    assert looked[-1] == steps
    assert list(looked) == sorted(set(looked))


def test_a_training_is_told_from_its_beginning_to_its_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = replace(
        training.Settings.live("candidates", seed=7),
        sentences=200,
        sizes=Sizes(d_model=12, n_heads=2, d_feed_forward=7),
    )
    asked = []

    def shorter(variant: str, seed: int) -> training.Settings:
        asked.append((variant, seed))
        return settings

    monkeypatch.setattr(training.Settings, "live", shorter)
    monkeypatch.setattr(live, "SENTENCES", 6)
    monkeypatch.setattr("attnviz.trained.live._PAUSE_SECONDS", 0)
    # Who learned for two steps never says [END], and would be asked for thirty words each time.
    monkeypatch.setattr("attnviz.trained.translator.translator.longest_translation", lambda _source: 3)
    live.tell("candidates", 7, 2)
    told = [live.understood(line) for line in capsys.readouterr().out.splitlines()]
    assert asked == [("candidates", 7)]
    assert [news.step if isinstance(news, Snapshot) else news for news in told] == [0, 1, 2]
    seen = [news.step for news in told if isinstance(news, Snapshot)]
    assert seen == [0, 2]


def start(then: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", STARTED.format(then)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_it_ends_when_its_input_is_closed() -> None:
    with start("time.sleep(60)") as process:
        assert process.stdout
        assert process.stdin
        assert process.stdout.readline() == "taught 7 60\n"
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(60) == 0  # on a busy machine, starting takes long


def test_it_ends_by_itself_while_its_input_is_open() -> None:
    with start("None") as process:
        assert process.wait(60) == 0  # on a busy machine, starting takes long
