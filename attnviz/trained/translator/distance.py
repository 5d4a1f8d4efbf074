"""The figures of recurrent networks and a transformer by distance: records, and the file they are in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from attnviz.errors import ModelFilesDamaged
from attnviz.text import head_name
from attnviz.trained.translator.variants import WEIGHTS

Name = Literal["lstm", "lstm_attention", "transformer"]
Gender = Literal["il", "elle"]

NAMES: tuple[Name, ...] = ("lstm", "lstm_attention", "transformer")
GENDERS: tuple[Gender, ...] = ("il", "elle")

COMMAND = "python -m attnviz distances"

_FIGURES = "distances.json"


@dataclass(frozen=True)
class Point:
    """How one trained network does on sentences of one length.

    Attributes:
        exact: how many of its translations are right, word for word.
        words: the share of words that are right after the right ones before them, of all words.
        pronoun: in how many, after all that is right before it, the right one of "il" and "elle" wins.
        gradient: how strongly that choice reacts to the noun that is meant, the median of all sentences:
            `contest.reactions`.
        untrained: the same, before the network learned anything.
    """

    exact: int
    words: float
    pronoun: int
    gradient: float
    untrained: float


@dataclass(frozen=True)
class Moment:
    """A point of a learning curve: after so many steps, how many of the sentences to tune on are exact."""

    step: int
    exact: int


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
class Looks:
    """The heads of the transformer's decoder that look most at what decides between "il" and "elle".

    Attributes:
        back: for sentences with "il", and for those with "elle": of the heads that look back at the French so
            far, the one that looks most at the noun that is meant, or its article.
        across: of the heads that look across at the English, the one that looks most at its end: at the last
            word, the reason by which one knows what "it" means, or at [END] behind it.
    """

    back: Mapping[Gender, Head]
    across: Head


@dataclass(frozen=True)
class Run:
    """One training of one network.

    Attributes:
        learning_rate, seed, steps: what sets it apart from the other ones.
        seconds: how long one processor core took for it.
        parameters: how many numbers the network learned.
        curve: its last moment is what the learning rate is chosen by.
        points: its measures, for 0, 1, 2 … inserted clauses.
        looks: where it looks; None: it is no transformer.
    """

    name: Name
    learning_rate: float
    seed: int
    steps: int
    seconds: float
    parameters: int
    curve: tuple[Moment, ...]
    points: tuple[Point, ...]
    looks: Looks | None


@dataclass(frozen=True)
class Distances:
    """All that was measured.

    Attributes:
        sentences: how many for each number of clauses.
        tuned_on: how many sentences the learning curves are measured on.
        longest_learned: the most clauses in the sentences that the networks learned from.
        batch: how many sentences a step learned from.
        words: for 0, 1, 2 … inserted clauses: how far "it" stands from the noun that it means, on average.
        forgetful: the reaction of an untrained LSTM whose forget gates have the bias 0, and not 1 as here.
        runs: every training.
        digests: the SHA-256 of each file of weights that is kept: these are the ones that were measured.
    """

    sentences: int
    tuned_on: int
    longest_learned: int
    batch: int
    words: tuple[float, ...]
    forgetful: tuple[float, ...]
    runs: tuple[Run, ...]
    digests: Mapping[Name, str]

    def chosen(self, name: Name) -> list[Run]:
        """A network's trainings with its best learning rate, by seed; of the first one the weights are kept.

        The best rate is the one with which most sentences to tune on are exact, over all seeds together.

        Raises:
            ValueError: the network was not trained.
        """
        return max(self.by_rate(name), key=lambda runs: sum(run.curve[-1].exact for run in runs))

    def by_rate(self, name: Name) -> list[list[Run]]:
        """A network's trainings: for each learning rate, the highest first, one for each seed."""
        runs = sorted(
            (run for run in self.runs if run.name == name), key=lambda run: (-run.learning_rate, run.seed)
        )
        return [list(some) for _, some in groupby(runs, key=lambda run: run.learning_rate)]

    @property
    def looks(self) -> Looks:
        """Where the transformer looks whose weights are kept."""
        return next(run.looks for run in self.chosen("transformer") if run.looks)


def weights_of(name: Name, folder: Path = WEIGHTS) -> Path:
    """Where a network's weights lie."""
    return folder / f"distance-{name}.safetensors"


def exists(folder: Path) -> bool:
    """Whether anything is written down there."""
    return (folder / _FIGURES).exists()


def read(folder: Path = WEIGHTS) -> Distances:
    """What was measured, from its file.

    Raises:
        ModelFilesDamaged: the file is missing or damaged; the message names the command that makes it.
    """
    file = folder / _FIGURES
    try:
        written = json.loads(file.read_text("utf-8"))
        read = {
            "words": tuple(written["words"]),
            "forgetful": tuple(written["forgetful"]),
            "runs": tuple(map(_run, written["runs"])),
        }
        return Distances(**written | read)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ModelFilesDamaged(
            f"{file} is missing or damaged. Make it again with: {COMMAND} --out {folder}"
        ) from error


def write(distances: Distances, folder: Path = WEIGHTS) -> None:
    """Write down what was measured; `read` undone."""
    (folder / _FIGURES).write_text(json.dumps(asdict(distances), indent=1) + "\n", "utf-8")


def _run(written: dict[str, Any]) -> Run:
    looks = written["looks"]
    return Run(
        **written
        | {
            "curve": tuple(Moment(**moment) for moment in written["curve"]),
            "points": tuple(Point(**point) for point in written["points"]),
            "looks": looks
            and Looks({gender: _head(looks["back"][gender]) for gender in GENDERS}, _head(looks["across"])),
        }
    )


def _head(written: dict[str, Any]) -> Head:
    return Head(**written | {"weights": tuple(written["weights"])})
