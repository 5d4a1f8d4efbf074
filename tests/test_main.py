"""The command line: what it makes, and what it says to whoever asks for something else."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch

from attnviz import __main__ as command_line
from attnviz.translation import measures, training
from attnviz.translation.training import Settings
from attnviz.translation.translator import Sizes, Translator
from attnviz.translation.variants import VARIANTS

ROOT = Path(__file__).parents[1]
SIZES = Sizes(d_model=12, n_heads=3, d_feed_forward=7)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Trainings of a few steps, measured on a few sentences, with as many threads as before."""
    threads = torch.get_num_threads()
    of, measure = Settings.of, measures.measure

    def shortly(variant: str, seed: int | None = None) -> Settings:
        return replace(of(variant, seed), steps=6, warm_up=2, sentences=100, batch=16, sizes=SIZES)

    monkeypatch.setattr(training.Settings, "of", shortly)
    monkeypatch.setattr(measures, "measure", lambda translator: measure(translator, sentences=4, pairs=3))
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where figures are written instead."""
    monkeypatch.setattr(command_line, "FIGURES", tmp_path / "figures.json")
    return tmp_path / "figures.json"


Say = Callable[..., str]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """Run a command that works, and return what it says."""

    def run(*arguments: object) -> str:
        assert command_line.main([str(argument) for argument in arguments]) == 0
        return capsys.readouterr().out

    return run


def test_training_writes_a_translator(say: Say, tmp_path: Path) -> None:
    out = tmp_path / "mine.safetensors"
    said = say("train", "--variant", "candidates", "--seed", 3, "--out", out)
    assert "6 of 6 steps" in said
    translator = Translator.load(out)
    assert translator.sizes == SIZES
    assert translator.about["command"] == "python -m attnviz train --variant candidates --seed 3"
    assert [*tmp_path.iterdir()] == [out]


def test_ctrl_c_leaves_a_checkpoint_and_the_same_command_goes_on(
    say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "mine.safetensors"
    step = training.Training.step

    def step_and_stop(self: training.Training) -> float:
        if self.done == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return step(self)

    with monkeypatch.context() as patched:
        patched.setattr(training.Training, "step", step_and_stop)
        said = say("train", "--out", out)
    assert "goes on from" in said
    assert not out.exists()
    said = say("train", "--out", out)
    assert re.findall(r"(\d) of 6", said) == ["5", "6"]
    in_one_go = tmp_path / "other.safetensors"
    say("train", "--out", in_one_go)
    broken_off, whole = Translator.load(out).model, Translator.load(in_one_go).model
    for one, other in zip(broken_off.parameters(), whole.parameters(), strict=True):
        assert torch.equal(one, other)


def test_measuring_prints_every_figure_and_what_is_missed(say: Say, tmp_path: Path, figures: Path) -> None:
    out = tmp_path / "mine.safetensors"
    say("train", "--out", out)
    said = say("measure", out)
    found = measures.measure(Translator.load(out))
    for name, value in measures.flat(found).items():
        assert re.search(rf"^ *{name} +{value:.4g}$", said, re.MULTILINE)
    assert "mine misses a target: exact triple is 0" in said
    assert not figures.exists()


def test_figures_are_written_for_each_training_once(say: Say, tmp_path: Path, figures: Path) -> None:
    files = [tmp_path / f"{number}.safetensors" for number in range(3)]
    for file, (variant, seed) in zip(files, [("untold", 1), ("taught", 2), ("taught", 0)], strict=True):
        say("train", "--variant", variant, "--seed", seed, "--out", file)
    say("measure", "--write", files[0], files[1])
    say("measure", "--write", files[1], files[2])
    written = json.loads(figures.read_text("utf-8"))
    assert [(run["variant"], run["seed"]) for run in written] == [
        ("taught", "0"),
        ("taught", "2"),
        ("untold", "1"),
    ]
    assert not any(run["shipped"] for run in written)
    found = asdict(measures.measure(Translator.load(files[2])))
    assert written[0].items() >= found.items()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "COMMAND"),
        (["dance"], "invalid choice: 'dance'"),
        (["train", "--variant", "taugth"], "invalid choice: 'taugth'"),
        (["train", "--seed", "one"], "invalid int value: 'one'"),
        (["train", "--fast"], "unrecognized arguments: --fast"),
    ],
)
def test_what_does_not_exist_is_named(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        command_line.main(arguments)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_missing_weights_are_named_with_the_command_that_makes_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.main(["measure", str(tmp_path / "taught.safetensors")]) == 2
    said = capsys.readouterr().err
    assert "taught.safetensors is missing" in said
    assert "python -m attnviz train --variant taught" in said
    assert "Traceback" not in said


def test_asking_for_help_waits_for_no_model() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "attnviz", "--help"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in ("train", "measure", "corpus"):
        assert re.search(rf"^ +{name} ", answer.stdout, re.MULTILINE)
    assert " torch\n" not in answer.stderr


def test_every_variant_can_be_trained() -> None:
    assert [*VARIANTS] == ["taught", "training-wheels", "candidates", "untold", "decorative"]
