"""Stored steps of a training: what a model could do after each, and the file in which they are kept.

`python -m attnviz learning` trains a variant once more and writes the file; numpy is enough to read it.
Weights and probabilities are kept in thousandths, so a page may print them to a tenth of a percent.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import ModelFilesDamaged
from attnviz.trace import Floats, Kind
from attnviz.trained.translator.variants import WEIGHTS

THOUSAND = 1000
SENTENCES = 300
"""Held-out sentences of either sort for the stored measures: one of them is a third of a percent."""

Thousandths = NDArray[np.uint16]


@dataclass(frozen=True)
class Probe:
    """A sentence that is watched all through the training, together with its right translation.

    Attributes:
        source: the English words.
        target: the French words that are right.
        referent: the noun that "it" means.
        other: the noun that it could mean, and does not.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    referent: str
    other: str

    @property
    def it(self) -> int:
        """Where "it" stands in the source, from 0."""
        return self.source.index("it")

    @property
    def pronoun(self) -> int:
        """Where "il" or "elle" stands in the target, from 0: the decoder's row that chooses it."""
        return next(place for place, word in enumerate(self.target) if word in {"il", "elle"})


# What "it" means stands in [ ], what it could mean and does not in ( ); below, the right translation.
_WRITTEN = """
the [dog] did not cross the (road) as it was too tired
le chien n' a pas traversé la route car il était trop fatigué
the (dog) did not cross the [road] as it was too narrow
le chien n' a pas traversé la route car elle était trop étroite
the [trophy] does not fit in the (suitcase) as it is too big
le trophée ne rentre pas dans la valise car il est trop grand
the (trophy) does not fit in the [suitcase] as it is too small
le trophée ne rentre pas dans la valise car elle est trop petite
the [goat] did not enter the (garden) because it was too tired
la chèvre n' est pas entrée dans le jardin parce qu' elle était trop fatiguée
the (goat) did not enter the [garden] because it was too muddy
la chèvre n' est pas entrée dans le jardin parce qu' il était trop boueux
the (cat) did not chase the [mouse] since it was too fast
le chat n' a pas poursuivi la souris puisqu' elle était trop rapide
as it was too tired the [dog] did not cross the (road)
comme il était trop fatigué le chien n' a pas traversé la route
"""


def _probe(source: str, target: str) -> Probe:
    words = source.split()
    referent, other = (next(word for word in words if word[0] == sign)[1:-1] for sign in "[(")
    return Probe(tuple(word.strip("[]()") for word in words), tuple(target.split()), referent, other)


_LINES = _WRITTEN.strip().splitlines()
PROBES = tuple(map(_probe, _LINES[::2], _LINES[1::2]))
"""Both readings of three sentences, a chase, and one whose "it" comes before its noun."""


@dataclass(frozen=True, eq=False)
class ProbeAnswer:
    """What the model makes of one probe.

    Attributes:
        weights: all its weights, in thousandths: of the encoder [layer, head, source, source], of the decoder
            [layer, head, target, target] and across [layer, head, target, source]. The source ends with
            [END]; the decoder reads the right translation from [START] on, whatever it would have said.
        said: its own translation, word by word; at most as long as the model may speak.
        il, elle: how probable each is in the place of the pronoun, in thousandths.
    """

    weights: Mapping[Kind, Thousandths]
    said: tuple[str, ...]
    il: int
    elle: int

    def shares(self, kind: Kind) -> Floats:
        """The weights of one kind of attention, [layer, head, query, key], as shares of 1."""
        return (self.weights[kind] / THOUSAND).astype(np.float32)


class Measures(NamedTuple):
    """How well a model does on sentences that no training sees.

    Attributes:
        loss: −ln of the right word's probability, on average over all words.
        exact: the share of sentences that it translates word for word.
        pronoun: the share of sentences in which the right one of "il" and "elle" is the more probable one;
            by chance, half of them.
        referent, other: what the taught head gives, in these sentences, from "it" to the noun that is meant
            and to the other one, on average.
    """

    loss: float
    exact: float
    pronoun: float
    referent: float
    other: float


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What a model can do after some steps.

    Attributes:
        step: how many batches it has learned from.
        measures: how well it does.
        glances: what it makes of each probe.
    """

    step: int
    measures: Measures
    glances: tuple[ProbeAnswer, ...]


@dataclass(frozen=True, eq=False)
class Learning:
    """One training from its beginning to its end.

    Attributes:
        about: its settings, by name.
        probes: the sentences that were watched.
        snapshots: in the order of the steps.
    """

    about: Mapping[str, str]
    probes: tuple[Probe, ...]
    snapshots: tuple[Snapshot, ...]

    @property
    def steps(self) -> tuple[int, ...]:
        """After how many steps the snapshots were taken."""
        return tuple(snapshot.step for snapshot in self.snapshots)


def stored_steps(steps: int) -> tuple[int, ...]:
    """After which of so many steps a snapshot is stored: often at first, when most is learned."""
    early = (0, 25, *range(50, 800, 50), *range(800, 2000, 100), *range(2000, steps, 500))
    return (*(step for step in early if step < steps), steps)


def file_of(variant: str) -> Path:
    """Where the stored steps of a variant lie."""
    return WEIGHTS / f"{variant}-steps.npz"


def write(learning: Learning, file: Path) -> None:
    """Write a training; the same one gives the same bytes."""
    snapshots = learning.snapshots
    arrays: dict[str, NDArray[Any]] = {"steps": np.array(learning.steps, np.int32)}
    arrays["measures"] = np.array([snapshot.measures for snapshot in snapshots], np.float32)
    for number in range(len(learning.probes)):
        glances = [snapshot.glances[number] for snapshot in snapshots]
        arrays[f"{number}.pronoun"] = np.array([(glance.il, glance.elle) for glance in glances], np.uint16)
        for kind in get_args(Kind):
            arrays[f"{number}.{kind}"] = np.stack([glance.weights[kind] for glance in glances])
    header = {
        "about": dict(learning.about),
        "probes": [vars(probe) for probe in learning.probes],
        "said": [[glance.said for glance in snapshot.glances] for snapshot in snapshots],
    }
    arrays["header"] = np.frombuffer(json.dumps(header, ensure_ascii=False).encode(), np.uint8)
    np.savez_compressed(file, allow_pickle=False, **arrays)


def read(file: Path) -> Learning:
    """Read a training.

    Raises:
        ModelFilesDamaged: the file is missing, or is none of ours.
    """
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
            return _assembled({name: arrays[name] for name in arrays.files})
    except (OSError, EOFError, ValueError, LookupError, TypeError, zipfile.BadZipFile) as error:
        raise ModelFilesDamaged(
            f"The stored steps of the training, {file.name}, are missing or damaged. "
            f"Make them again: python -m attnviz learning --variant {file.stem.removesuffix('-steps')} "
            f"--out {file}"
        ) from error


@cache
def shipped(variant: str) -> Learning:
    """The training that made the shipped model of a variant.

    Raises:
        ModelFilesDamaged: its file is missing, or is none of ours.
    """
    return read(file_of(variant))


def stored() -> tuple[str, ...]:
    """The variants whose steps are stored, in the order of their names."""
    return tuple(sorted(file.stem.removesuffix("-steps") for file in WEIGHTS.glob("*-steps.npz")))


def _assembled(arrays: Mapping[str, NDArray[Any]]) -> Learning:
    header = json.loads(arrays["header"].tobytes())
    probes = tuple(
        Probe(tuple(probe["source"]), tuple(probe["target"]), probe["referent"], probe["other"])
        for probe in header["probes"]
    )
    snapshots = tuple(
        Snapshot(
            int(step),
            Measures(*arrays["measures"][at].tolist()),
            tuple(_glance(arrays, number, at, said) for number, said in enumerate(header["said"][at])),
        )
        for at, step in enumerate(arrays["steps"])
    )
    return Learning(header["about"], probes, snapshots)


def _glance(arrays: Mapping[str, NDArray[Any]], number: int, at: int, said: Sequence[str]) -> ProbeAnswer:
    il, elle = arrays[f"{number}.pronoun"][at].tolist()
    weights: dict[Kind, Thousandths] = {}
    for kind in get_args(Kind):
        weights[kind] = arrays[f"{number}.{kind}"][at]
        weights[kind].setflags(write=False)
    return ProbeAnswer(weights, tuple(said), il, elle)
