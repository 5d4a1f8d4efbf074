"""The figures of the recurrent network and the transformer by distance: records, and the file they are in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from attnviz.errors import ModelFilesDamaged
from attnviz.text import head_name
from attnviz.trained.translator.variants import WEIGHTS

Name = Literal["recurrent", "transformer"]
Gender = Literal["il", "elle"]

NAMES: tuple[Name, ...] = ("recurrent", "transformer")
GENDERS: tuple[Gender, ...] = ("il", "elle")

COMMAND = "python -m attnviz distances"

_FIGURES = "distances.json"


@dataclass(frozen=True)
class Spread:
    """Many numbers: a quarter of them lies below `low`, half below `middle`, a quarter above `high`."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True)
class Point:
    """One network's translations of sentences of one length.

    Attributes:
        exact: how many are right, word for word.
        words: the share of the right words that are there, in their order, on average.
        pronoun: in how many, after all that is right before it, the right one of "il" and "elle" wins.
        gradient: how strongly that choice reacts to the noun that is meant: `contest.reactions`.
        untrained: the same, before the network learned anything.
    """

    exact: int
    words: float
    pronoun: int
    gradient: Spread
    untrained: Spread


@dataclass(frozen=True)
class Learned:
    """How one network came about.

    Attributes:
        parameters: how many numbers it learned.
        steps: from how many batches of sentences.
        digest: the SHA-256 of its file of weights: these are the ones that were measured.
        points: its measures, for 0, 1, 2 … inserted clauses.
    """

    parameters: int
    steps: int
    digest: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Head:
    """A head of the transformer's decoder, where "il" or "elle" is chosen; layer and head from 0.

    Attributes:
        weights: on what it looks at most, on average, for 0, 1, 2 … inserted clauses.
    """

    layer: int
    head: int
    weights: tuple[float, ...]

    @property
    def name(self) -> str:
        """As on screen: "2-1"."""
        return head_name(self.layer, self.head)


@dataclass(frozen=True)
class Distances:
    """All that was measured.

    Attributes:
        sentences: how many for each number of clauses.
        longest_learned: the most clauses in the sentences that the networks learned from.
        words: for 0, 1, 2 … inserted clauses: how far "it" stands from the noun that it means, on average.
        networks: each network.
        back: for sentences with "il", and for those with "elle": of the heads that look back at the French so
            far, the one that looks most at the noun that is meant, or its article.
        across: of the heads that look across at the English, the one that looks most at its end: at the last
            word, the reason by which one knows what "it" means, or at [END] behind it.
    """

    sentences: int
    longest_learned: int
    words: tuple[float, ...]
    networks: Mapping[Name, Learned]
    back: Mapping[Gender, Head]
    across: Head


def weights_of(name: Name, folder: Path = WEIGHTS) -> Path:
    """Where a network's weights lie."""
    return folder / f"distance-{name}.safetensors"


def read(folder: Path = WEIGHTS) -> Distances:
    """What was measured, from its file.

    Raises:
        ModelFilesDamaged: the file is missing or damaged; the message names the command that makes it.
    """
    file = folder / _FIGURES
    try:
        written = json.loads(file.read_text("utf-8"))
        networks = {name: _learned(written["networks"][name]) for name in NAMES}
        heads = {
            "back": {gender: _head(written["back"][gender]) for gender in GENDERS},
            "across": _head(written["across"]),
        }
        return Distances(**written | {"words": tuple(written["words"]), "networks": networks} | heads)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ModelFilesDamaged(f"{file} is missing or damaged. Make it again with: {COMMAND}") from error


def write(distances: Distances, folder: Path = WEIGHTS) -> None:
    """Write down what was measured; `read` undone."""
    (folder / _FIGURES).write_text(json.dumps(asdict(distances), indent=1) + "\n", "utf-8")


def _learned(written: dict[str, Any]) -> Learned:
    points = tuple(
        Point(**point | {which: Spread(**point[which]) for which in ("gradient", "untrained")})
        for point in written["points"]
    )
    return Learned(**written | {"points": points})


def _head(written: dict[str, Any]) -> Head:
    return Head(**written | {"weights": tuple(written["weights"])})
