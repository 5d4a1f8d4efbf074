"""Snapshots of a model during training, as lines of JSON: stored in files, or streamed from a live run.

Weights and probabilities are stored in thousandths, so that a page can show a tenth of a percent.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.trace import Floats, Kind
from attnviz.trained.storyteller import sizes
from attnviz.trained.translator import variants

STORED = ("guided", "unguided", "candidates", *sizes.SIZES)
"""Variants of the translator and sizes of the storyteller with stored training steps."""

THOUSAND = 1000

Thousandths = NDArray[np.uint16]


@dataclass(frozen=True, eq=False)
class TextSnapshot:
    """Attention and predictions of a model in training, for one tracked text.

    Attributes:
        weights: Weights in thousandths, [layer, head, query, key], by kind of attention. A translator's
            source ends with [END]; its decoder reads [START] and the reference translation.
        translation: A translator's own translation.
        il, elle: Probability of each at the pronoun's position, in thousandths.
    """

    weights: Mapping[Kind, Thousandths]
    translation: tuple[str, ...] = ()
    il: int = 0
    elle: int = 0

    def shares(self, kind: Kind) -> Floats:
        """Return the weights of one kind of attention, [layer, head, query, key], 0 to 1."""
        return (self.weights[kind] / THOUSAND).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Results of a model after some training steps.

    Attributes:
        step: Number of training batches so far.
        measures: For a translator, on held-out sentences: `loss` (−ln of the correct word's probability),
            `exact` (fraction of correct translations), `pronoun` (fraction in which the correct one of "il"
            and "elle" is more likely), and the mean weights of the guided head from "it" to its `referent`
            and to the `other` noun. For a storyteller, as in `figures.Copying`: `right`, `first_loss` and
            `second_loss`.
        texts: Attention and predictions for each tracked text.
        scores: For a storyteller, [layer, head]: `previous_word` and `prefix_matching`.
    """

    step: int
    measures: Mapping[str, float]
    texts: tuple[TextSnapshot, ...]
    scores: Mapping[str, Floats] = field(default_factory=dict)

    def value(self, name: str) -> float:
        """Return a measure, or the highest score of a head."""
        return float(self.scores[name].max()) if name in self.scores else self.measures[name]


@dataclass(frozen=True, eq=False)
class Stored:
    """A stored training run.

    Attributes:
        about: Settings by name.
        snapshots: Snapshots in order of steps.
    """

    about: Mapping[str, str]
    snapshots: tuple[Snapshot, ...]

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps of the snapshots."""
        return tuple(snapshot.step for snapshot in self.snapshots)


def thousandths(shares: NDArray[Any]) -> Thousandths:
    """Round fractions to thousandths."""
    return _read_only((THOUSAND * shares).round(), np.uint16)


def line(news: int | Snapshot) -> str:
    """Return a step number or a snapshot as one line of JSON."""
    if isinstance(news, int):
        return json.dumps({"step": news})
    return json.dumps(news, default=_plain, separators=(",", ":"))


def _plain(part: Any) -> Any:
    return part.tolist() if isinstance(part, np.ndarray) else vars(part)


def parse_line(text: str) -> int | Snapshot | None:
    """Parse a line of a live training run: a step or a snapshot; None for any other line."""
    try:
        sent = json.loads(text)
    except ValueError:
        return None
    if not isinstance(sent, dict):
        return None
    return _snapshot(sent) if "measures" in sent else int(sent["step"])


def _snapshot(written: Mapping[str, Any]) -> Snapshot:
    texts = (
        TextSnapshot(
            {kind: _read_only(weights, np.uint16) for kind, weights in each["weights"].items()},
            tuple(each["translation"]),
            each["il"],
            each["elle"],
        )
        for each in written["texts"]
    )
    scores = {name: _read_only(of_heads, np.float32) for name, of_heads in written["scores"].items()}
    return Snapshot(written["step"], written["measures"], tuple(texts), scores)


def file_of(variant: str) -> Path:
    """Return the file with the stored steps of a variant or a size."""
    folder = sizes.WEIGHTS if variant in sizes.SIZES else variants.WEIGHTS
    return folder / f"{variant}-steps.jsonl.gz"


def write(about: Mapping[str, str], snapshots: Iterable[Snapshot], file: Path) -> None:
    """Write a training run, first its settings; the output is deterministic."""
    lines = [json.dumps(about), *map(line, snapshots)]
    file.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))


@cache
def stored(variant: str) -> Stored:
    """Read the training run of a bundled model, one of `STORED`."""
    with gzip.open(file_of(variant), "rt", encoding="utf-8") as lines:
        about, *snapshots = map(json.loads, lines)
    return Stored(about, tuple(map(_snapshot, snapshots)))


def _read_only(values: Any, dtype: type[np.generic]) -> NDArray[Any]:
    array = np.array(values, dtype)
    array.setflags(write=False)
    return array
