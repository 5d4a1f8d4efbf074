"""Snapshots of a training run: parsing, saving, and the stored snapshots."""

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
from tests.trained.random_snapshots import storyteller_snapshot, translator_snapshot
from tests.trained.storyteller.tested_sizes import TESTED_SIZES

TRANSLATORS = [variant for variant in STORED if variant in VARIANTS]


@pytest.mark.parametrize("snapshot", [translator_snapshot(75), storyteller_snapshot(75)])
def test_snapshot_is_parsed_from_its_line(snapshot: Snapshot) -> None:
    found = parse_line(line(snapshot))
    assert isinstance(found, Snapshot)
    np.testing.assert_equal(asdict(found), asdict(snapshot))
    arrays: list[NDArray[Any]] = [*found.scores.values(), *found.texts[0].weights.values()]
    assert {array.dtype for array in arrays} <= {np.dtype(np.uint16), np.dtype(np.float32)}
    assert not any(array.flags.writeable for array in arrays)


@pytest.mark.parametrize("text", ["", "UserWarning: something", "17", "null", "[1]"])
def test_other_lines_are_not_parsed(text: str) -> None:
    assert parse_line(text) is None


def test_snapshots_are_saved_reproducibly_and_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = {"variant": "guided", "seed": "3"}
    written = [translator_snapshot(step) for step in (0, 25, 300)]
    files = [tmp_path / name for name in "ab"]
    for file in files:
        snapshots.write(about, written, file)
    assert files[0].read_bytes() == files[1].read_bytes()
    monkeypatch.setattr(snapshots, "file_of", lambda _: files[0])
    loaded = stored.__wrapped__("guided")
    assert (loaded.about, loaded.steps) == (about, (0, 25, 300))
    for found, expected in zip(loaded.snapshots, written, strict=True):
        np.testing.assert_equal(asdict(found), asdict(expected))


@pytest.fixture(scope="module", params=TRANSLATORS)
def shipped(request: pytest.FixtureRequest) -> Stored:
    return stored(request.param)


def test_last_stored_step_is_the_shipped_translator(shipped: Stored) -> None:
    translator = Translator.load(VARIANTS[shipped.about["variant"]].file)
    assert translator.about["steps"] == str(shipped.steps[-1])
    for probe, text in zip(PROBES, shipped.snapshots[-1].texts, strict=True):
        expected = text_snapshot(translator, probe, translator.translate(probe.source))
        assert text.translation == expected.translation == probe.target
        for kind, weights in text.weights.items():
            # Other machines may round the last bit differently.
            np.testing.assert_allclose(weights, expected.weights[kind], atol=1)


@pytest.mark.parametrize("size", TESTED_SIZES)
def test_stored_training_starts_and_ends_like_the_shipped_storyteller(size: str) -> None:
    steps = stored(size).snapshots
    last = snapshot(Storyteller.load(SIZES[size].file), steps[-1].step)
    np.testing.assert_allclose(steps[-1].scores["prefix_matching"], last.scores["prefix_matching"], atol=2e-3)

    def weights(snapshot: Snapshot) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        return snapshot.texts[0].weights["decoder"].astype(int)

    np.testing.assert_allclose(weights(steps[-1]), weights(last), atol=5)
    first, *step_numbers = train_storyteller(size, 0, 2, (0,))
    assert isinstance(first, Snapshot)
    assert step_numbers == [1, 2]
    np.testing.assert_allclose(weights(steps[0]), weights(first), atol=2)
