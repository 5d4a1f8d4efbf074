"""Snapshots of a training: read from files and lines as they were written, and the stored ones."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attnviz.trained import snapshots
from attnviz.trained.snapshots import STORED, Snapshot, Stored, line, parse_line, stored
from attnviz.trained.storyteller.copying import snapshot
from attnviz.trained.storyteller.copying import train_with_snapshots as train_storyteller
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.storyteller.storyteller import Storyteller
from attnviz.trained.translator.evaluation import text_snapshot
from attnviz.trained.translator.probes import PROBES
from attnviz.trained.translator.translator import Translator
from attnviz.trained.translator.variants import VARIANTS
from tests.trained.made_up import of_storyteller, of_translator
from tests.trained.storyteller.both import SMALL_FIRST

TRANSLATORS = [variant for variant in STORED if variant in VARIANTS]


@pytest.mark.parametrize("sent", [of_translator(75), of_storyteller(75)])
def test_a_snapshot_is_read_from_its_line(sent: Snapshot) -> None:
    found = parse_line(line(sent))
    assert isinstance(found, Snapshot)
    np.testing.assert_equal(asdict(found), asdict(sent))
    arrays: list[NDArray[Any]] = [*found.scores.values(), *found.texts[0].weights.values()]
    assert {array.dtype for array in arrays} <= {np.dtype(np.uint16), np.dtype(np.float32)}
    assert not any(array.flags.writeable for array in arrays)


@pytest.mark.parametrize("text", ["", "UserWarning: something", "17", "null", "[1]"])
def test_any_other_line_is_none(text: str) -> None:
    assert parse_line(text) is None


def test_what_is_written_is_read_and_the_same_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = {"variant": "guided", "seed": "3"}
    made = [of_translator(step) for step in (0, 25, 300)]
    files = [tmp_path / name for name in "ab"]
    for file in files:
        snapshots.write(about, made, file)
    assert files[0].read_bytes() == files[1].read_bytes()
    monkeypatch.setattr(snapshots, "file_of", lambda _: files[0])
    read = stored.__wrapped__("guided")
    assert (read.about, read.steps) == (about, (0, 25, 300))
    for found, expected in zip(read.snapshots, made, strict=True):
        np.testing.assert_equal(asdict(found), asdict(expected))


@pytest.fixture(scope="module", params=TRANSLATORS)
def shipped(request: pytest.FixtureRequest) -> Stored:
    return stored(request.param)


def test_the_last_stored_step_is_the_shipped_translator(shipped: Stored) -> None:
    translator = Translator.load(VARIANTS[shipped.about["variant"]].file)
    assert translator.about["steps"] == str(shipped.steps[-1])
    for probe, kept in zip(PROBES, shipped.snapshots[-1].texts, strict=True):
        own = text_snapshot(translator, probe, translator.translate(probe.source))
        assert kept.translation == own.translation == probe.target
        for kind, weights in kept.weights.items():
            # Another machine may round the last bit otherwise.
            np.testing.assert_allclose(weights, own.weights[kind], atol=1)


@pytest.mark.parametrize("size", SMALL_FIRST)
def test_the_stored_training_ends_in_the_shipped_storyteller_and_begins_as_it_begins(size: str) -> None:
    kept = stored(size).snapshots
    last = snapshot(Storyteller.load(SIZES[size].file), kept[-1].step)
    np.testing.assert_allclose(kept[-1].scores["prefix_matching"], last.scores["prefix_matching"], atol=2e-3)

    def weights(snapshot: Snapshot) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        return snapshot.texts[0].weights["decoder"].astype(int)

    np.testing.assert_allclose(weights(kept[-1]), weights(last), atol=5)
    first, *steps = train_storyteller(size, 0, 2, (0,))
    assert isinstance(first, Snapshot)
    assert steps == [1, 2]
    np.testing.assert_allclose(weights(kept[0]), weights(first), atol=2)
