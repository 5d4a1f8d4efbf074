"""Snapshots of a training: read from files and lines as they were written, and the stored ones."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from attnviz.errors import ModelFilesDamaged
from attnviz.trained import snapshots
from attnviz.trained.snapshots import STORED, Snapshot, Stored, line, parse_line, stored
from attnviz.trained.storyteller.copying import look
from attnviz.trained.storyteller.copying import watch as watch_storyteller
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.storyteller.storyteller import Storyteller
from attnviz.trained.translator.examination import text_snapshot
from attnviz.trained.translator.probes import PROBES
from attnviz.trained.translator.translator import Translator
from attnviz.trained.translator.variants import VARIANTS
from tests.trained.made_up import of_storyteller, of_translator, same
from tests.trained.storyteller.both import SMALL_FIRST

TRANSLATORS = [variant for variant in STORED if variant in VARIANTS]


@pytest.mark.parametrize("sent", [of_translator(75), of_storyteller(75)])
def test_a_snapshot_is_read_from_its_line(sent: Snapshot) -> None:
    found = parse_line(line(sent))
    assert isinstance(found, Snapshot)
    assert same(sent, found)
    assert not any(array.flags.writeable for array in found.scores.values())
    assert not any(array.flags.writeable for array in found.texts[0].weights.values())


@pytest.mark.parametrize(
    "text",
    [
        *("", "UserWarning: something", "17", "null", "[1]", "{}", '{"step": null}'),
        '{"step": 3, "measures": {}, "texts": [{}], "scores": {}}',
        '{"step": 3, "measures": {}, "texts": [], "scores": []}',
    ],
)
def test_any_other_line_is_none(text: str) -> None:
    assert parse_line(text) is None


@pytest.fixture
def _empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(snapshots, "file_of", lambda variant: tmp_path / f"{variant}-steps.npz")
    stored.cache_clear()
    yield
    stored.cache_clear()


@pytest.mark.usefixtures("_empty")
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "another", "pickle"])
def test_a_damaged_file_is_named(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "candidates-steps.npz"
    if damage == "empty":
        file.write_bytes(b"")
    elif damage == "cut":
        np.savez(file, steps=np.arange(3))
        file.write_bytes(file.read_bytes()[:-100])
    elif damage == "another":
        np.savez(file, steps=np.arange(3))
    elif damage == "pickle":
        np.savez(file, header=np.array([{}], dtype=object), about=np.array([{}], dtype=object))
    with pytest.raises(ModelFilesDamaged, match="candidates-steps"):
        stored("candidates")


@pytest.mark.parametrize("variant", TRANSLATORS)
def test_the_stored_probes_are_those_of_a_live_training(variant: str) -> None:
    with np.load(snapshots.file_of(variant), allow_pickle=False) as arrays:
        header = json.loads(arrays["header"].tobytes())
    assert [(tuple(each["source"]), tuple(each["target"])) for each in header["probes"]] == [
        (probe.source, probe.target) for probe in PROBES
    ]


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
    last = look(Storyteller.load(SIZES[size].file), kept[-1].step)
    np.testing.assert_allclose(kept[-1].scores["prefix_matching"], last.scores["prefix_matching"], atol=2e-3)

    def weights(snapshot: Snapshot) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        return snapshot.texts[0].weights["decoder"].astype(int)

    np.testing.assert_allclose(weights(kept[-1]), weights(last), atol=5)
    first, *steps = watch_storyteller(size, 0, 2, (0,))
    assert isinstance(first, Snapshot)
    assert steps == [1, 2]
    np.testing.assert_allclose(weights(kept[0]), weights(first), atol=2)
