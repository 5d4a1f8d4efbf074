"""What two readings have in common, and how far their heads are from each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnviz.analysis.aligned import (
    Grid,
    Overlap,
    Place,
    Side,
    aligned_sentences,
    aligned_tokenizers,
    grid,
    in_common_words,
    overlap,
)
from attnviz.analysis.display_tokens import DisplayTokens, left_share, shown_mask, shown_weights
from attnviz.analysis.distance import changes, from_one_head, largest_difference, rows_on
from attnviz.app import traces
from attnviz.app.server.cache import cached
from attnviz.capture.model import ModelInput
from attnviz.errors import AttnvizError
from attnviz.models.catalogue import Entry
from attnviz.trace import Block, Floats, Kind


@dataclass(frozen=True)
class ComparedSide:
    """One side of a comparison: a model, what it reads, and which of its attentions."""

    model: Entry
    given: ModelInput
    kind: Kind


@dataclass(frozen=True)
class Comparison:
    """Two sides, perhaps without their special tokens (`hide`); a key of the caches."""

    first: ComparedSide
    second: ComparedSide
    hide: bool = False

    @property
    def two_models(self) -> bool:
        """Whether two models read one text, rather than one model two."""
        return self.first.model.name != self.second.model.name

    def of(self, side: Side) -> ComparedSide:
        """One of the two sides."""
        return self.first if side == "first" else self.second


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
    align = aligned_tokenizers if compared.two_models else aligned_sentences
    between = " / " if compared.two_models else " → "
    both = grid(first, second, align, between)
    heads = max(read.model.heads for read in (compared.first, compared.second))
    layers = max(len(_blocks(read)) for read in (compared.first, compared.second))
    if (cells := len(both.rows) * len(both.columns) * heads * layers) > traces.MAX_WEIGHTS:
        raise AttnvizError(
            f"Side by side, the two have {len(both.rows)} × {len(both.columns)} words in {heads * layers} "
            f"heads: {cells:,} weights, more than this page can show ({traces.MAX_WEIGHTS:,}). Shorten them."
        )
    shared = overlap(both.columns, first[-1].groups, second[-1].groups)
    return Aligned(**vars(both), overlap=shared)


def weights(compared: Comparison, side: Side) -> Floats:
    """One side's weights between its words, [layer, head, query, key]."""
    read = compared.of(side)
    if not compared.two_models:
        return traces.weights(read.model, read.given, read.kind, compared.hide, True)
    return _in_common_words(compared, side)


def placed(compared: Comparison, side: Side, layer: int, head: int) -> Placed:
    """Return one head's weights on the grid."""
    both, read = aligned(compared), compared.of(side)
    shown = _shown(compared, side)
    seen = shown_mask(_blocks(read)[layer].mask, *shown)
    numbers = np.where(seen, weights(compared, side)[layer, head], np.float32(np.nan))
    left = both.place_rows(left_share(_blocks(read)[layer].weights[head], *shown), side)
    return Placed(both.place(numbers, side), left, shown[-1].hidden)


@cached()
def moved(compared: Comparison) -> Floats:
    """The total variation of each head's rows, [layer, head, shared row]; for two texts of one model."""
    return changes(*_both(compared))


@cached()
def largest(compared: Comparison) -> float:
    """The largest change of one weight in any head; for two texts that one model reads."""
    return largest_difference(*_both(compared))


def away_from(compared: Comparison, side: Side, head: tuple[int, int], row: int | None) -> Floats:
    """Return the distance of each head of the other model to one of this side's (from 0), [layer, head].

    `row` is the chosen one of the shared rows; None: the mean over all.
    """
    other: Side = "second" if side == "first" else "first"
    return from_one_head(_rows(compared, side, row)[head], _rows(compared, other, row))


def _rows(compared: Comparison, side: Side, row: int | None) -> Floats:
    """What one model's heads are measured on, [layer, head, row, column]."""
    both = aligned(compared)
    rows = rows_on(weights(compared, side), both.rows, both.columns, side)
    return rows if row is None else rows[..., [row], :]


def _both(compared: Comparison) -> tuple[Floats, Floats, tuple[Place, ...], tuple[Place, ...]]:
    both = aligned(compared)
    return weights(compared, "first"), weights(compared, "second"), both.rows, both.columns


def _blocks(read: ComparedSide) -> tuple[Block, ...]:
    return traces.trace(read.model, read.given).of_kind(read.kind)


def _shown(compared: Comparison, side: Side) -> tuple[DisplayTokens, ...]:
    """The words of one side: of queries and keys, or once for both."""
    read = compared.of(side)
    if not compared.two_models:
        return traces.shown(read.model, read.given, read.kind, compared.hide, True)
    return (_of_two_tokenizers(compared)[0 if side == "first" else 1],)


@cached()
def _of_two_tokenizers(compared: Comparison) -> tuple[DisplayTokens, DisplayTokens]:
    reads = compared.first, compared.second
    tokens = [_blocks(read)[0].query_tokens for read in reads]
    text = compared.first.given.text
    first, second = in_common_words(tokens[0], tokens[1], text)
    return (
        DisplayTokens(first, text, hide_special=compared.hide, merge_words=True),
        DisplayTokens(second, text, hide_special=compared.hide, merge_words=True),
    )


@cached()
def _in_common_words(compared: Comparison, side: Side) -> Floats:
    read = compared.of(side)
    weights = traces.own_weights(read.model, read.given, read.kind)
    return shown_weights(weights, *_shown(compared, side))
