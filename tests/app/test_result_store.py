"""What is kept on a disk comes back as it was, and no disk is ever in the way."""

import logging
import math
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnviz.analysis.divergence import Divergences
from attnviz.analysis.shapes import ShapeSums
from attnviz.analysis.tally import Tally
from attnviz.analysis.words import Span
from attnviz.app import result_store
from attnviz.app.jobs import Job
from attnviz.capture.model import ExpectedToken
from attnviz.experiments.behaviour import BehaviourFindings, Skipped
from attnviz.experiments.beyond_weights import MeasuredToken
from attnviz.experiments.coreference import Verdicts
from attnviz.experiments.pairs import bundled
from attnviz.experiments.progress import Progress
from attnviz.experiments.sentences import SkippedSentence
from attnviz.experiments.syntax import Annotated, Answers, Grammar, Relation

ARRAY = np.arange(6, dtype=np.float32).reshape(2, 3)
COUNTS = np.arange(4)
DOUBLES = np.array([0.1, math.nan])
TALLY = Tally(np.array(3), np.array(20), COUNTS, *[DOUBLES] * 6)
SENTENCE = Annotated("“Å” sleeps", (Relation("subject", Span(0, 3), Span(4, 10)),))
EXPECTED = ExpectedToken(7, "road", 0.1, "next", True)
SKIPPED = (SkippedSentence("☃", "No snowman."),)

FOUND = (
    Verdicts(bundled()[:2], ARRAY, SKIPPED),
    Grammar(
        *(1, COUNTS, COUNTS, (Counter({-1: 2, 3: 1}),), SKIPPED),
        (Answers(SENTENCE, (Span(0, 3),), COUNTS, COUNTS, ARRAY),),
    ),
    BehaviourFindings(
        TALLY,
        {"shapes": ShapeSums(3, DOUBLES, DOUBLES, DOUBLES), "divergences": Divergences(3, 20, DOUBLES)},
        named=(Skipped(7, "empty"),),
        parts=frozenset({0, 2}),
    ),
    MeasuredToken(1, ARRAY > 2, {"Rollout": ARRAY}, missing={"Flow": "too long"}, followed=EXPECTED),
)
KEY = ("relations", "minilm", "fingerprint")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(result_store.SETTING, str(tmp_path / "store"))
    return tmp_path / "store"


class Computed:
    """Finds a result in two steps, and counts how often it was asked to."""

    times = 0

    def __call__(self) -> Iterator[Progress[Any]]:
        self.times += 1
        yield Progress(1, 2, (1,))
        yield Progress(2, 2, (1, 2))


def find(computed: Computed, *, ours: bool = True) -> Progress[Any] | None:
    """As a server does that has just started."""
    job = Job(result_store.kept(KEY, computed, ours=ours))
    job.start()
    assert job.wait(10) == "finished"
    return job.latest


@pytest.mark.parametrize("found", FOUND, ids=lambda found: type(found).__name__)
def test_what_is_read_is_what_was_written(found: object, tmp_path: Path) -> None:
    result_store.write(tmp_path / "a.npz", Progress(2, 2, found))
    assert repr(result_store.read(tmp_path / "a.npz")) == repr(Progress(2, 2, found))


def test_arrays_keep_their_bits_and_cannot_be_written(tmp_path: Path) -> None:
    arrays: tuple[np.typing.NDArray[Any], ...] = (ARRAY, DOUBLES, COUNTS)
    result_store.write(tmp_path / "a.npz", arrays)
    for back, array in zip(result_store.read(tmp_path / "a.npz"), arrays, strict=True):
        assert (back.dtype, back.tobytes()) == (array.dtype, array.tobytes())
        assert not back.flags.writeable


def test_nothing_else_is_written(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"No .*Path can be kept"):
        result_store.write(tmp_path / "a.npz", (tmp_path,))
    assert not list(tmp_path.iterdir())


def test_a_server_that_starts_anew_computes_nothing_again(store: Path) -> None:
    computed = Computed()
    assert find(computed) == find(computed) == Progress(2, 2, (1, 2))
    assert computed.times == 1
    assert len(list(store.iterdir())) == 1


def test_what_visitors_bring_is_not_kept(store: Path) -> None:
    find(Computed(), ours=False)
    assert not store.exists()


def test_without_the_setting_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(result_store.SETTING, raising=False)
    monkeypatch.chdir(tmp_path)
    find(Computed())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("damage", ["cut", "flipped", "foreign", "another kind", "empty"])
def test_a_damaged_or_foreign_file_is_made_again(store: Path, damage: str) -> None:
    computed = Computed()
    find(computed)
    (file,) = store.iterdir()
    content = file.read_bytes()
    if damage == "another kind":  # of a later version, or of somebody who means harm
        np.savez(file, header=np.frombuffer(b'["system", "true"]', dtype=np.uint8))
    else:
        at = content.index(b"Progress")
        flipped = content[:at] + b"Q" + content[at + 1 :]
        file.write_bytes(
            {"cut": content[:-30], "flipped": flipped, "foreign": b"\x80\x04N.", "empty": b""}[damage]
        )
    assert find(computed) == Progress(2, 2, (1, 2))
    assert computed.times == 2
    assert file.read_bytes() == content


def test_a_store_that_is_away_or_full_costs_nothing(
    store: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store.write_text("no folder")
    assert find(Computed()) == Progress(2, 2, (1, 2))
    store.unlink()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    assert find(Computed()) == Progress(2, 2, (1, 2))
    assert not list(store.iterdir())
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


def test_what_was_not_read_for_longest_makes_room(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.mkdir()
    foreign = store / "notes.txt"
    foreign.write_bytes(bytes(5000))
    for age, name in enumerate(("young", "middle", "old")):
        file = store / f"attnviz-{name}.npz"
        file.write_bytes(bytes(1000))
        os.utime(file, (1000 - age, 1000 - age))
    others = set(store.iterdir())
    find(Computed())
    (newest,) = set(store.iterdir()) - others
    assert all(file.exists() for file in others)
    monkeypatch.setattr(result_store, "MOST_BYTES", newest.stat().st_size + 1500)
    result_store._make_room(newest)
    assert {file.name for file in store.iterdir()} == {newest.name, "attnviz-young.npz", "notes.txt"}
