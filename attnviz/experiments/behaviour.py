"""What is asked of every head over many sentences: the rules, the shapes, and how much two heads differ."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from attnviz.analysis import divergence, shapes
from attnviz.analysis.divergence import Divergences
from attnviz.analysis.shapes import ShapeSums
from attnviz.capture.batches import Batch
from attnviz.experiments.corpus import Measure

MOST_COMPARED, LEAST_COMPARED = 400, 25
"""In how many lines every head is compared with every other: pairs of heads are many."""

_MOST_PAIRS = 8_000_000  # of heads, over all lines: 400 lines with 200 heads

_SENTENCES = Path(__file__).with_name("sentences.txt")


def bundled() -> str:
    """The sentences that ship with attnviz, of our own writing, one a line."""
    return _SENTENCES.read_text("utf-8")


def measures(lines: int, heads: int) -> dict[str, Measure]:
    """What is summed beside the rules of a `Tally`, by name: “shapes” and “divergences”.

    Args:
        lines: of the text; of a long one, every second, third … line is used for divergences.
        heads: of the model, in all layers.
    """
    return {"shapes": shapes_of, "divergences": partial(divergences_of, every=compared_every(lines, heads))}


def compared_every(lines: int, heads: int) -> int:
    """Every how many lines so many heads are compared, in a text of so many lines."""
    pairs = max(1, heads * (heads - 1) // 2)
    most = max(LEAST_COMPARED, min(MOST_COMPARED, _MOST_PAIRS // pairs))
    return max(1, -(-lines // most))


def shapes_of(batch: Batch) -> ShapeSums:
    """What the shapes of all heads follow from."""
    return shapes.shapes(batch.weights, batch.masks, [token.sentence for token in batch.tokens[0]])


def divergences_of(batch: Batch, every: int) -> Divergences:
    """How much any two heads differ in the lines whose number is a multiple of `every`."""
    chosen = np.array([line % every == 0 for line in batch.lines], dtype=np.bool_)
    return divergence.divergences([layer[chosen] for layer in batch.weights])
