"""Steps of a training: what is written is read, what is told is understood; the stored ones are its own."""

from pathlib import Path

import numpy as np
import pytest

from attnviz.errors import ModelFilesDamaged
from attnviz.trained import live
from attnviz.trained.storyteller import forming
from attnviz.trained.storyteller.copying import look, watch
from attnviz.trained.storyteller.forming import Copying, Snapshot
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.storyteller.storyteller import Storyteller
from tests.trained.storyteller.both import SMALL_FIRST


def made(step: int, score: float) -> Snapshot:
    scores = np.array([[0.1, 0.2], [0.3, score]], np.float32)
    weights = np.eye(3, dtype=np.float32)[None, None].repeat(2, axis=0).repeat(2, axis=1)
    return forming.snapshot(step, Copying(scores[::-1], scores, 0.25, 6.5, 0.125), weights)


def assert_same(one: Snapshot, other: Snapshot) -> None:
    assert one.step == other.step
    for first, second in zip(one.copying, other.copying, strict=True):
        np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(one.weights, other.weights)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    snapshots = (made(0, 0.4), made(50, 0.9))
    forming.write({"seed": "3"}, snapshots, tmp_path / "steps.npz")
    found = forming.read(tmp_path / "steps.npz")
    assert found.about == {"seed": "3"}
    for told, heard in zip(snapshots, found.snapshots, strict=True):
        assert_same(told, heard)
        assert not heard.weights.flags.writeable
        assert not heard.copying.prefix_matching.flags.writeable


def test_what_is_told_is_understood() -> None:
    heard = forming.understood(forming.line(made(75, 0.6)))
    assert isinstance(heard, Snapshot)
    assert_same(heard, made(75, 0.6))
    assert forming.understood(live.step_line(17)) == 17
    for other in ("", "Warning: 7", "[1]", '{"step": 3, "copying": {}, "weights": []}'):
        assert forming.understood(other) is None


@pytest.mark.parametrize("contents", [None, b"", b"none of ours"])
def test_a_missing_or_damaged_file_is_named_with_the_command(tmp_path: Path, contents: bytes | None) -> None:
    file = tmp_path / "storyteller-steps.npz"
    if contents is not None:
        file.write_bytes(contents)
    with pytest.raises(ModelFilesDamaged, match="python -m attnviz learning --variant storyteller"):
        forming.read(file)


def test_it_has_formed_where_a_head_gives_half_of_its_weight_to_what_followed() -> None:
    early, late = made(50, 0.49), made(75, 0.5)
    assert forming.formed((early, late)) is late
    assert forming.formed((early,)) is None


@pytest.mark.parametrize("steps", [1, 800, 2400])
def test_it_is_looked_at_in_the_beginning_and_in_the_end(steps: int) -> None:
    looked = forming.steps_to_store(steps)
    assert (looked[0], looked[-1]) == (0, steps)
    assert list(looked) == sorted(set(looked))


@pytest.mark.parametrize("size", SMALL_FIRST)
def test_the_stored_training_ends_in_the_shipped_model_and_begins_as_it_begins(size: str) -> None:
    stored = forming.shipped(size).snapshots
    last = look(Storyteller.load(SIZES[size].file), stored[-1].step)
    np.testing.assert_allclose(stored[-1].copying.prefix_matching, last.copying.prefix_matching, atol=2e-3)
    np.testing.assert_allclose(stored[-1].weights.astype(int), last.weights.astype(int), atol=5)
    first, *steps = watch(size, 0, 2, (0,))
    assert isinstance(first, Snapshot)
    assert steps == [1, 2]
    np.testing.assert_allclose(stored[0].weights.astype(int), first.weights.astype(int), atol=2)
