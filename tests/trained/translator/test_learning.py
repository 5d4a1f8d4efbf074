"""The stored steps of a training: written, read again, and refused where they are damaged."""

from pathlib import Path

import numpy as np
import pytest

from attnviz.errors import ModelFilesDamaged
from attnviz.trained.translator import grammar, learning
from tests.trained.translator.steps import learning as made_up
from tests.trained.translator.steps import same


def test_what_was_written_is_read(tmp_path: Path) -> None:
    file = tmp_path / "taught-steps.npz"
    written = made_up(0, 25, 300)
    learning.write(written, file)
    read = learning.read(file)
    assert read.about == written.about
    assert read.probes == written.probes
    assert read.steps == (0, 25, 300)
    assert all(same(a, b) for a, b in zip(written.snapshots, read.snapshots, strict=True))
    weights = read.snapshots[1].glances[0]
    assert not weights.weights["encoder"].flags.writeable
    np.testing.assert_array_equal(
        weights.shares("encoder"), (weights.weights["encoder"] / 1000).astype(np.float32)
    )


def test_the_same_training_gives_the_same_bytes(tmp_path: Path) -> None:
    files = [tmp_path / "a.npz", tmp_path / "b.npz"]
    for file in files:
        learning.write(made_up(0, 25), file)
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "another", "pickle"])
def test_a_damaged_file_is_named_with_the_command_that_makes_it(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "candidates-steps.npz"
    if damage == "empty":
        file.write_bytes(b"")
    elif damage == "cut":
        learning.write(made_up(0), file)
        file.write_bytes(file.read_bytes()[:-1000])
    elif damage == "another":
        np.savez(file, steps=np.arange(3))
    elif damage == "pickle":
        np.savez(file, header=np.array([{}], dtype=object))
    with pytest.raises(ModelFilesDamaged) as refused:
        learning.read(file)
    assert "candidates-steps.npz" in str(refused.value)
    assert "python -m attnviz learning --variant candidates" in str(refused.value)


@pytest.mark.parametrize("probe", learning.PROBES, ids=lambda probe: " ".join(probe.source))
def test_a_probe_is_a_sentence_of_the_grammar_and_its_translation_is_right(probe: learning.Probe) -> None:
    places = [probe.it, probe.pronoun, probe.source.index(probe.referent), probe.source.index(probe.other)]
    understood = {(pair.target, pair.pronoun) for pair in grammar.understood(probe.source)}
    assert understood == {(probe.target, grammar.Pronoun(*places))}
