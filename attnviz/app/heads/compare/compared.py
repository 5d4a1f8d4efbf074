"""The aligned words of two texts, and the distance between their attention weights in each head."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from attnviz.analysis.aligned import Grid, Side, grid
from attnviz.analysis.display_tokens import DisplayTokens, shown_mask
from attnviz.analysis.distance import total_variation
from attnviz.app import traces
from attnviz.app.server.cache import cached
from attnviz.capture.model import ModelInput
from attnviz.errors import AttnvizError
from attnviz.models.catalogue import Entry
from attnviz.trace import Floats, Kind


@dataclass(frozen=True)
class Comparison:
    """Two inputs of one model, used as a cache key."""

    model: Entry
    kind: Kind
    first: ModelInput
    second: ModelInput

    def input_of(self, side: Side) -> ModelInput:
        """Return the input of one side."""
        return self.first if side == "first" else self.second


@cached()
def aligned(compared: Comparison) -> Grid:
    """Align the words of both sides on one grid.

    Raises:
        AttnvizError: a text is invalid, or the texts share too few words or are too long together.
    """
    both = grid(_shown(compared, "first"), _shown(compared, "second"))
    heads = weights(compared, "first").shape[0] * compared.model.heads
    if (cells := len(both.rows) * len(both.columns) * heads) > traces.MAX_WEIGHTS:
        raise AttnvizError(
            f"The comparison has {len(both.rows)} × {len(both.columns)} words in {heads} heads: {cells:,} "
            f"weights, more than the limit of {traces.MAX_WEIGHTS:,}. Shorten the sentences."
        )
    return both


def weights(compared: Comparison, side: Side) -> Floats:
    """Return the weights between the words of one side, [layer, head, query, key]."""
    return traces.weights(compared.model, compared.input_of(side), compared.kind, False, True)


def aligned_weights(compared: Comparison, side: Side, layer: int, head: int) -> Floats:
    """Return one head's weights on the grid, [row, column]; NaN for missing words and masked cells."""
    block = traces.trace(compared.model, compared.input_of(side)).of_kind(compared.kind)[layer]
    mask = shown_mask(block.mask, *_shown(compared, side))
    numbers = np.where(mask, weights(compared, side)[layer, head], np.float32(np.nan))
    return aligned(compared).place(numbers, side)


@cached()
def distances(compared: Comparison) -> Floats:
    """Return the total variation between the two rows of each shared word, [layer, head, shared row].

    A word that only one text has counts as a word with weight 0 in the other text.
    """
    return np.stack([total_variation(*map(np.nan_to_num, both)) for both in _layers(compared)])


@cached()
def largest_change(compared: Comparison) -> float:
    """Return the largest absolute change of a weight in any head."""
    return max(float(np.nanmax(np.abs(new - old), initial=0.0)) for old, new in _layers(compared))


def _layers(compared: Comparison) -> Iterator[tuple[Floats, Floats]]:
    """Yield the shared rows of both sides layer by layer, to save memory: [head, shared row, column]."""
    both = aligned(compared)
    for one, other in zip(weights(compared, "first"), weights(compared, "second"), strict=True):
        yield both.place(one, "first")[:, both.shared], both.place(other, "second")[:, both.shared]


def _shown(compared: Comparison, side: Side) -> tuple[DisplayTokens, ...]:
    """Return the words of one side: queries and keys, or a single item if both are the same."""
    return traces.shown(compared.model, compared.input_of(side), compared.kind, False, True)
