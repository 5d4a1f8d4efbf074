"""What two readings have in common, and how far their heads are from each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnviz.analysis.aligned import (
    Grid,
    Overlap,
    Place,
    Side,
    grid,
    overlap,
)
from attnviz.analysis.display_tokens import DisplayTokens, left_share, shown_mask
from attnviz.analysis.distance import changes, largest_difference
from attnviz.app import traces
from attnviz.app.server.cache import cached
from attnviz.capture.model import ModelInput
from attnviz.errors import AttnvizError
from attnviz.models.catalogue import Entry
from attnviz.trace import Block, Floats, Kind


@dataclass(frozen=True)
class Comparison:
    """Two texts that a model reads, perhaps without special tokens (`hide`); a key of the caches."""

    model: Entry
    kind: Kind
    first: ModelInput
    second: ModelInput
    hide: bool = False

    def blocks(self, side: Side) -> tuple[Block, ...]:
        """The attention of one side, by layer."""
        given = self.first if side == "first" else self.second
        return traces.trace(self.model, given).of_kind(self.kind)


@dataclass(frozen=True, eq=False)
class Placed:
    """One head's weights on the aligned grid.

    Attributes:
        weights: [row, column]; NaN where there is no such word, or a mask.
        left: [row], how much of the model's own row that is; NaN where there is no such word.
        hidden: what the rest went to.
    """

    weights: Floats
    left: Floats
    hidden: str


@dataclass(frozen=True, eq=False)
class Aligned(Grid):
    """The grid of both sides.

    Attributes:
        overlap: how many words the two have in common.
    """

    overlap: Overlap


@cached()
def aligned(compared: Comparison) -> Aligned:
    """The words of both sides, on one grid.

    Raises:
        AttnvizError: a text cannot be read, the two share too few words, or together they are too long.
    """
    first, second = (_shown(compared, side) for side in ("first", "second"))
    both = grid(first, second)
    heads = compared.model.heads * len(compared.blocks("first"))
    if (cells := len(both.rows) * len(both.columns) * heads) > traces.MAX_WEIGHTS:
        raise AttnvizError(
            f"Side by side, the two have {len(both.rows)} × {len(both.columns)} words in {heads} "
            f"heads: {cells:,} weights, more than this page can show ({traces.MAX_WEIGHTS:,}). Shorten them."
        )
    shared = overlap(both.columns, first[-1].groups, second[-1].groups)
    return Aligned(**vars(both), overlap=shared)


def weights(compared: Comparison, side: Side) -> Floats:
    """One side's weights between its words, [layer, head, query, key]."""
    given = compared.first if side == "first" else compared.second
    return traces.weights(compared.model, given, compared.kind, compared.hide, True)


def placed(compared: Comparison, side: Side, layer: int, head: int) -> Placed:
    """Return one head's weights on the grid."""
    both, shown = aligned(compared), _shown(compared, side)
    block = compared.blocks(side)[layer]
    seen = shown_mask(block.mask, *shown)
    numbers = np.where(seen, weights(compared, side)[layer, head], np.float32(np.nan))
    left = both.place_rows(left_share(block.weights[head], *shown), side)
    return Placed(both.place(numbers, side), left, shown[-1].hidden)


@cached()
def moved(compared: Comparison) -> Floats:
    """The total variation of each head's rows, [layer, head, shared row]."""
    return changes(*_both(compared))


@cached()
def largest(compared: Comparison) -> float:
    """The largest change of one weight in any head."""
    return largest_difference(*_both(compared))


def _both(compared: Comparison) -> tuple[Floats, Floats, tuple[Place, ...], tuple[Place, ...]]:
    both = aligned(compared)
    return weights(compared, "first"), weights(compared, "second"), both.rows, both.columns


def _shown(compared: Comparison, side: Side) -> tuple[DisplayTokens, ...]:
    """The words of one side: of queries and keys, or once for both."""
    given = compared.first if side == "first" else compared.second
    return traces.shown(compared.model, given, compared.kind, compared.hide, True)
