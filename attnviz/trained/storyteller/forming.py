"""How a circuit forms: stored steps of a training, and the file in which they are kept.

`python -m attnviz learning` trains once more and writes the file; numpy is enough to
read it. Weights are kept in thousandths, so a page may print them to a tenth of a percent.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import ModelFilesDamaged
from attnviz.trace import Floats
from attnviz.trained import live
from attnviz.trained.storyteller import grammar
from attnviz.trained.storyteller.figures import Heads, with_role
from attnviz.trained.storyteller.sizes import WEIGHTS

PROBE = tuple(grammar.said_twice(Random(3), 12))  # noqa: S311 - words are no secret
"""The text that is watched: [CHANT], and twelve random words twice."""

_THOUSAND = 1000


class Copying(NamedTuple):
    """What a storyteller does with random words that are said twice, on average over many.

    Attributes:
        previous_word, prefix_matching: [layer, head], as in `measures.HeadScores`.
        right: how often the right word is the likeliest one, of the words that are said again; not of the
            first of them, before which nothing tells that they will be.
        first_loss: −ln of the right word's probability, on average, when the words are said first.
        second_loss: when they are said again, without the first of them.
    """

    previous_word: Floats
    prefix_matching: Floats
    right: float
    first_loss: float
    second_loss: float

    @property
    def previous_word_heads(self) -> Heads:
        """The heads that look one word back, the clearest first; layer and head from 0."""
        return _with_role(self.previous_word)

    @property
    def induction_heads(self) -> Heads:
        """The heads that look at what followed the last time, as above."""
        return _with_role(self.prefix_matching)


def _with_role(scores: Floats) -> Heads:
    return tuple((layer - 1, head - 1) for layer, head in with_role(scores.tolist()))


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What a storyteller can do after some steps.

    Attributes:
        step: how many batches it has learned from.
        copying: how well it copies.
        weights: [layer, head, query, key], its weights in the watched text, in thousandths.
    """

    step: int
    copying: Copying
    weights: NDArray[np.uint16]

    @property
    def shares(self) -> Floats:
        """The weights as shares of 1."""
        return (self.weights / _THOUSAND).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Forming:
    """One training from its beginning to its end: how it was made, and its snapshots in order."""

    about: Mapping[str, str]
    snapshots: tuple[Snapshot, ...]


def snapshot(step: int, copying: Copying, weights: Floats) -> Snapshot:
    """A snapshot, its numbers rounded as a file keeps them."""
    rounded = {name: np.round(part, 4) for name, part in copying._asdict().items()}
    return _assembled(step, rounded, (_THOUSAND * weights).round())


def steps_to_store(steps: int) -> tuple[int, ...]:
    """After which of so many steps a snapshot is stored: often while the heads form."""
    often = range(550, 900, 25)  # with the steps of the shipped storytellers
    return tuple(sorted({*range(0, steps, 100), *(step for step in often if step < steps), steps}))


def line(told: Snapshot) -> str:
    """A line of a live training that tells a snapshot; see `live.tell`."""
    parts = {name: np.asarray(part).tolist() for name, part in told.copying._asdict().items()}
    return json.dumps({"step": told.step, "copying": parts, "weights": told.weights.tolist()})


def understood(told: str) -> int | Snapshot | None:
    """What a line of a live training tells; see `live.understood`."""
    return live.understood(
        told, "copying", lambda parts: _assembled(int(parts["step"]), parts["copying"], parts["weights"])
    )


def _assembled(step: int, copying: Mapping[str, Any], weights: Any) -> Snapshot:
    back, match = (
        _read_only(np.array(copying[name], np.float32)) for name in ("previous_word", "prefix_matching")
    )
    right, first, second = (float(copying[name]) for name in ("right", "first_loss", "second_loss"))
    found = Copying(back, match, right, first, second)
    return Snapshot(step, found, _read_only(np.array(weights, np.uint16)))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


def write(about: Mapping[str, str], snapshots: Sequence[Snapshot], file: Path) -> None:
    """Write a training; the same one gives the same bytes."""
    arrays = {
        name: np.stack([getattr(snapshot.copying, name) for snapshot in snapshots])
        for name in Copying._fields
    }
    np.savez_compressed(
        file,
        allow_pickle=False,
        about=np.frombuffer(json.dumps(dict(about)).encode(), np.uint8),
        steps=np.array([snapshot.step for snapshot in snapshots], np.int32),
        weights=np.stack([snapshot.weights for snapshot in snapshots]),
        **arrays,
    )


def read(file: Path) -> Forming:
    """Read a training.

    Raises:
        ModelFilesDamaged: the file is missing, or is none of ours.
    """
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        snapshots = tuple(
            _assembled(int(step), {name: arrays[name][at] for name in Copying._fields}, arrays["weights"][at])
            for at, step in enumerate(arrays["steps"])
        )
        return Forming(json.loads(arrays["about"].tobytes()), snapshots)
    except (OSError, EOFError, ValueError, LookupError, TypeError, zipfile.BadZipFile) as error:
        raise ModelFilesDamaged(
            f"The stored steps of the training, {file.name}, are missing or damaged. Make them again: "
            f"python -m attnviz learning --variant {file.stem.removesuffix('-steps')} --out {file}"
        ) from error


@cache
def shipped(variant: str) -> Forming:
    """The training that made the shipped storyteller of this name.

    Raises:
        ModelFilesDamaged: its file is missing, or is none of ours.
    """
    return read(WEIGHTS / f"{variant}-steps.npz")


def formed(snapshots: Iterable[Snapshot]) -> Snapshot | None:
    """The first snapshot in which some head gives at least half of its weight to what followed."""
    return next((each for each in snapshots if each.copying.prefix_matching.max() >= 1 / 2), None)
