"""Snapshots of a model during training: stored in files, or streamed from a live run.

Weights and probabilities are stored in thousandths, so that a page can show a tenth of a percent.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import ModelFilesDamaged
from attnviz.trace import Floats, Kind
from attnviz.trained.storyteller import sizes
from attnviz.trained.translator import variants

STORED = ("guided", "candidates", *sizes.SIZES)
"""The variants of the translator and the sizes of the storyteller whose steps are stored."""

THOUSAND = 1000

Thousandths = NDArray[np.uint16]

_TRANSLATOR_MEASURES = ("loss", "exact", "pronoun", "referent", "other")
_STORYTELLER_MEASURES = ("right", "first_loss", "second_loss")
_KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")
_SCORES = ("previous_word", "prefix_matching")


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
    texts = [
        {
            "weights": {kind: weights.tolist() for kind, weights in text_snapshot.weights.items()},
            "outputs": text_snapshot.translation,
            "il": text_snapshot.il,
            "elle": text_snapshot.elle,
        }
        for text_snapshot in news.texts
    ]
    scores = {name: of_heads.tolist() for name, of_heads in news.scores.items()}
    return json.dumps({"step": news.step, "measures": dict(news.measures), "texts": texts, "scores": scores})


def parse_line(text: str) -> int | Snapshot | None:
    """Parse a line of a live training run: a step or a snapshot; None for any other line."""
    try:
        sent = json.loads(text)
        if not isinstance(sent, dict):
            return None
        if "measures" not in sent:
            return int(sent["step"])
        texts = tuple(
            TextSnapshot(
                {
                    kind: _read_only(text_snapshot["weights"][kind], np.uint16)
                    for kind in text_snapshot["weights"]
                },
                tuple(text_snapshot["outputs"]),
                int(text_snapshot["il"]),
                int(text_snapshot["elle"]),
            )
            for text_snapshot in sent["texts"]
        )
        scores = {name: _read_only(of_heads, np.float32) for name, of_heads in sent["scores"].items()}
        return Snapshot(int(sent["step"]), sent["measures"], texts, scores)
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def file_of(variant: str) -> Path:
    """Return the file with the stored steps of a variant or a size."""
    folder = sizes.WEIGHTS if variant in sizes.SIZES else variants.WEIGHTS
    return folder / f"{variant}-steps.npz"


@cache
def stored(variant: str) -> Stored:
    """Read the training run of a bundled model, one of `STORED`.

    Raises:
        ModelFilesDamaged: its file is missing or damaged.
    """
    file = file_of(variant)
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as loaded:
            arrays = {name: loaded[name] for name in loaded.files}
        return _of_storyteller(arrays) if variant in sizes.SIZES else _of_translator(arrays)
    except (OSError, EOFError, ValueError, LookupError, TypeError, zipfile.BadZipFile) as error:
        raise ModelFilesDamaged(
            f"The stored steps of the training, {file.name}, are missing or damaged. Install attnviz again."
        ) from error


def _of_storyteller(arrays: Mapping[str, NDArray[Any]]) -> Stored:
    snapshots = tuple(
        Snapshot(
            int(step),
            {name: float(arrays[name][at]) for name in _STORYTELLER_MEASURES},
            (TextSnapshot({"decoder": _read_only(arrays["weights"][at], np.uint16)}),),
            {name: _read_only(arrays[name][at], np.float32) for name in _SCORES},
        )
        for at, step in enumerate(arrays["steps"])
    )
    return Stored(json.loads(arrays["about"].tobytes()), snapshots)


def _of_translator(arrays: Mapping[str, NDArray[Any]]) -> Stored:
    header = json.loads(arrays["header"].tobytes())

    def text_snapshot(number: int, at: int, translation: list[str]) -> TextSnapshot:
        weights: dict[Kind, Thousandths] = {
            kind: _read_only(arrays[f"{number}.{kind}"][at], np.uint16) for kind in _KINDS
        }
        return TextSnapshot(weights, tuple(translation), *arrays[f"{number}.pronoun"][at].tolist())

    snapshots = tuple(
        Snapshot(
            int(step),
            dict(zip(_TRANSLATOR_MEASURES, arrays["measures"][at].tolist(), strict=True)),
            tuple(
                text_snapshot(number, at, translation)
                for number, translation in enumerate(header["outputs"][at])
            ),
        )
        for at, step in enumerate(arrays["steps"])
    )
    return Stored(header["about"], snapshots)


def _read_only(values: Any, dtype: type[np.generic]) -> NDArray[Any]:
    array = np.array(values, dtype)
    array.setflags(write=False)
    return array
