"""The plane of queries and keys of every head of a model, over the beginning of a text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnviz.analysis.plane import jointly_scaled, nearest_kept, plane
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.progress import Progress
from attnviz.experiments.text_index import index
from attnviz.trace import Doubles

MOST_LINES = 100
"""How many lines of the text are read, empty ones included."""

SIDE = 40
"""How many places a small picture has across and up."""

_NOTHING = 127  # the level of a place without points, in the middle of a scale of two sides


@dataclass(frozen=True, eq=False)
class AllPlanes:
    """A small picture for each head, and how far it can be trusted.

    Attributes:
        pictures: uint8 [layer × head, up, across]: 127 where no point lies, below it where queries do, above
            it where keys do; where both do, what is more.
        kept: [layer, head], the share of the variance that the plane keeps.
        near: [layer, head], the share of the nearest points that it keeps.
        tokens, lines: of so many.
    """

    pictures: NDArray[np.uint8]
    kept: Doubles
    near: Doubles
    tokens: int
    lines: int


def all_planes(
    corpus: Corpus, model: str, scaled: bool, most_bytes: int
) -> Iterator[Progress[AllPlanes | None]]:
    """Read the beginning of a text, then lay the planes of all heads; nothing is found before the last step.

    Args:
        corpus: one sentence a line.
        model: as `loading.load` takes it.
        scaled: whether queries and keys are moved and scaled jointly first.
        most_bytes: how much memory the queries and keys may take meanwhile.

    Raises:
        AttnvizError: as for `text_index.index`.
    """
    lines = [line for line, _ in zip(corpus, range(MOST_LINES), strict=False)]
    beginning = Corpus.from_text("\n".join(lines), corpus.name)
    for step in index(beginning, model, most_bytes=most_bytes):
        read, layers = step.found, len(step.found.key.layers)
        total = step.total + layers
        yield Progress(step.done, total, None)
    kept, near = np.zeros((2, layers, read.query.shape[1]))
    pictures = []
    for layer, head in np.ndindex(*kept.shape):
        query, key = (np.asarray(read.vectors(by)[layer, head], np.float64) for by in ("query", "key"))
        if scaled:
            query, key = jointly_scaled(query, key)
        laid = plane(query, key, "distances")
        kept[layer, head], near[layer, head] = laid.kept, nearest_kept(laid, query, key)
        pictures.append(_picture(laid.queries, laid.keys))
        if head == 0:
            yield Progress(read.done + layer, total, None)
    yield Progress(total, total, AllPlanes(np.stack(pictures), kept, near, read.tokens, read.done))


def _picture(queries: Doubles, keys: Doubles) -> NDArray[np.uint8]:
    """Where queries lie, and where keys; both axes have one scale."""
    every = np.concatenate([queries, keys])
    low, high = every.min(axis=0), every.max(axis=0)
    middle, half = (low + high) / 2, max(float((high - low).max()) / 2, 1e-9)
    counts = []
    for points in (queries, keys):
        at = np.clip((points - middle + half) / (2 * half) * SIDE, 0, SIDE - 1).astype(int)
        flat = np.bincount((SIDE - 1 - at[:, 1]) * SIDE + at[:, 0], minlength=SIDE * SIDE)
        counts.append(flat.reshape(SIDE, SIDE))
    difference = (counts[1] - counts[0]) / max(1, *(int(each.max()) for each in counts))
    return np.asarray(
        np.round(_NOTHING + _NOTHING * np.sign(difference) * np.sqrt(np.abs(difference))), np.uint8
    )
