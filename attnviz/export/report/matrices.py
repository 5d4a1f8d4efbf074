"""The matrices of a page: of a trace, of the difference of two traces, or of pooled heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from attnviz.analysis.aligned import combined_tokens
from attnviz.analysis.behaviour import facts as describe
from attnviz.analysis.change import largest_changes
from attnviz.analysis.display_tokens import (
    DisplayTokens,
    faint_note,
    merged_mask,
    merged_weights,
    queries_and_keys,
    select_cells,
    shown_mask,
    shown_share,
    shown_weights,
)
from attnviz.analysis.window import Summary, summary
from attnviz.errors import AttnvizError
from attnviz.text import plural, signed_percent
from attnviz.trace import Difference, Floats, Kind, Mask, Top, Trace

MAX_LARGEST = 2**22
"""Maximum number of values (keys and weights) stored for one layer of a long text; 17 MB."""

MAX_TOP = 32
"""Maximum number of stored weights per query of a long text."""

Pool = Literal["mean", "max"]
"""Statistic that combines the weights of several heads."""


@dataclass(frozen=True, eq=False)
class TokenView:
    """The shown tokens: all tokens, or all except special tokens.

    Attributes:
        queries, keys: Shown tokens.
        rows, columns: Indices of these tokens in the matrices.
        left: [layer, head, shown query], divisor of each row: its weight on shown tokens; None: no rescaling.
        facts: Description of each head, layer by layer.
        explanation: How the numbers were computed.
    """

    queries: DisplayTokens
    keys: DisplayTokens
    rows: Sequence[int]
    columns: Sequence[int]
    left: Floats | None
    facts: Sequence[str]
    explanation: str

    def row_of(self, token: int | None) -> int | None:
        """Return the matrix row of a token, both from 0; None for a hidden token or for None."""
        at = None if token is None else self.queries.index_of(token)
        return None if at is None else self.rows[at]


@dataclass(frozen=True, eq=False)
class Matrices:
    """Weights or differences of one kind of attention.

    Attributes:
        kind: Kind of attention.
        layers: Layer numbers, from 1.
        values: [layer, head, query, key], weights or differences.
        mask: [layer, query, key], True where a weight is not masked.
        token_views: "plain" has all tokens; "hidden", if there are special tokens, has the other tokens.
        signed: True for differences, from −`high` to `high`.
        heading: Title of a picture of pooled heads; "" for single heads.
        spread: Minimum and maximum of the values pooled into each number; None if not pooled.
    """

    kind: Kind
    layers: Sequence[int]
    values: Floats
    mask: Mask
    token_views: dict[str, TokenView]
    signed: bool = False
    heading: str = ""
    spread: tuple[Floats, Floats] | None = None

    @property
    def high(self) -> float:
        """The maximum of the colour scale."""
        return float(np.abs(self.values).max()) or 1.0 if self.signed else 1.0

    def shown(self, token_view: TokenView) -> tuple[Floats, Mask]:
        """Return the values between shown tokens, [layer, head, shown query, shown key], and their mask."""
        values, mask = (
            select_cells(self.values, token_view.rows, token_view.columns),
            select_cells(self.mask, token_view.rows, token_view.columns),
        )
        if token_view.left is not None:
            values = np.divide(
                values, np.where(token_view.left > 0, token_view.left, 1)[..., None], dtype=np.float32
            )
        return values, mask[:, None]


def matrices(trace: Trace, kind: Kind, words: bool = False) -> Matrices:
    """Return the matrices of a trace.

    Args:
        words: True to merge the pieces of a word.
    """
    blocks = trace.of_kind(kind)
    stack, mask = trace.stack(kind), np.stack([block.mask for block in blocks])
    plain = queries_and_keys(trace, kind, merge_words=words)
    tokens, hidden = {"plain": plain}, _without_special(trace, kind, words)
    if any(side.has_hidden for side in hidden):
        tokens["hidden"] = hidden
    return Matrices(
        kind,
        [block.layer + 1 for block in blocks],
        merged_weights(stack, *plain),
        np.stack([merged_mask(each, *_queries_and_keys(plain)) for each in mask]),
        {name: _token_view(stack, of) for name, of in tokens.items()},
    )


@dataclass(frozen=True, eq=False)
class LargestWeights:
    """A layer with too many weights for a page, reduced to the largest weights of each query and to blocks.

    Attributes:
        kind: Kind of attention.
        layer: Layer number, from 1.
        queries, keys: The tokens.
        top: [head], largest weights of each query, with their keys.
        summaries: [head], weights pooled in blocks.
    """

    kind: Kind
    layer: int
    queries: DisplayTokens
    keys: DisplayTokens
    top: Sequence[Top]
    summaries: Sequence[Summary]

    @property
    def explanation(self) -> str:
        """Description of the included and the omitted weights."""
        return (
            f"exact: the overview and the {self.top[0].keys.shape[1]} largest weights of each token; for "
            "other weights, an upper bound"
        )


def largest_weights(trace: Trace, kind: Kind, layer: int) -> LargestWeights:
    """Return the largest weights of a layer, in at most `MAX_LARGEST` numbers; `layer` counts from 0."""
    block, tokens = trace.block(kind, layer), queries_and_keys(trace, kind)
    heads, queries, _ = block.shape
    count = min(MAX_TOP, max(1, MAX_LARGEST // (2 * heads * queries)))
    return LargestWeights(
        kind,
        layer + 1,
        *_queries_and_keys(tokens),
        [block.top(head, count) for head in range(heads)],
        [summary(block, head) for head in range(heads)],
    )


def _queries_and_keys(tokens: Sequence[DisplayTokens]) -> tuple[DisplayTokens, DisplayTokens]:
    return tokens[0], tokens[-1]


def _without_special(trace: Trace, kind: Kind, words: bool) -> tuple[DisplayTokens, ...]:
    try:
        return queries_and_keys(trace, kind, hide_special=True, merge_words=words)
    except AttnvizError:  # all tokens are special
        return queries_and_keys(trace, kind, merge_words=words)


def _token_view(stack: Floats, tokens: Sequence[DisplayTokens]) -> TokenView:
    queries, keys = _queries_and_keys(tokens)
    left = shown_share(stack, queries, keys) if keys.has_hidden else None
    facts = describe(shown_weights(stack, queries, keys), *tokens, shown=left)
    return TokenView(
        queries,
        keys,
        queries.visible,
        keys.visible,
        left,
        [f"on average {fact}" for fact in facts],
        f"{_explanation(tokens)}{faint_note(keys.hidden)}",
    )


def _explanation(tokens: Sequence[DisplayTokens]) -> str:
    """Return how the shown weights were computed; queries and keys may come from different texts."""
    queries, keys = tokens[0].explanation_of_scores, tokens[-1].explanation  # hiding queries rescales nothing
    return keys if len(tokens) == 1 or queries == keys else f"queries: {queries}; keys: {keys}"


def difference(given: Difference, kind: Kind, hide_special: bool, words: bool) -> Matrices:
    """Return the difference of the shown weights of two traces."""
    tokens_of = (
        _without_special
        if hide_special
        else lambda *named: queries_and_keys(*named[:2], merge_words=named[2])
    )
    own = [tokens_of(trace, kind, words) for trace in (given.trace, given.minus)]
    tokens = tuple(combined_tokens(minus, trace) for trace, minus in zip(*own, strict=True))
    one, other = (
        shown_weights(trace.stack(kind), *sides)
        for trace, sides in zip((given.trace, given.minus), own, strict=True)
    )
    blocks, others = given.trace.of_kind(kind), given.minus.of_kind(kind)
    masks = [
        shown_mask(a.mask & b.mask, *_queries_and_keys(tokens)) for a, b in zip(blocks, others, strict=True)
    ]
    mask, values = np.stack(masks), np.where(np.stack(masks)[:, None], one - other, 0)
    queries, keys = _queries_and_keys(tokens)
    facts = [
        f"largest change: from “{query}” to “{key}”, {signed_percent(move)}"
        for query, key, move in largest_changes(values, queries.groups, keys.groups)
    ]
    places = range(len(queries)), range(len(keys))
    explanation = f"{_explanation(tokens)}; points are percentage points"
    token_view = TokenView(queries, keys, *places, None, facts, explanation)
    return Matrices(
        kind, [block.layer + 1 for block in blocks], values, mask, {"plain": token_view}, signed=True
    )


def pooled(source: Matrices, token_view: TokenView, how: Pool) -> Matrices:
    """Return one matrix, pooled over all heads.

    Raises:
        AttnvizError: the maximum of differences is requested.
    """
    if source.signed and how == "max":
        raise AttnvizError('The maximum over heads of signed differences is not supported. Use pool="mean".')
    values, mask = source.shown(token_view)
    lowest, highest, mean = (
        reduce(values, axis=(0, 1), keepdims=True) for reduce in (np.min, np.max, np.mean)
    )
    heads = values.shape[0] * values.shape[1]
    layers = f"layer {source.layers[0]}" if len(source.layers) == 1 else plural(len(source.layers), "layer")
    heading = f"{'Mean' if how == 'mean' else 'Maximum'} over the {plural(heads, 'head')} of {layers}"
    places = range(values.shape[2]), range(values.shape[3])
    one = TokenView(
        token_view.queries,
        token_view.keys,
        *places,
        None,
        [heading],
        f"{heading[0].lower()}{heading[1:]}; {token_view.explanation}",
    )
    return Matrices(
        source.kind,
        source.layers[:1],
        (mean if how == "mean" else highest).astype(np.float32),
        np.asarray(mask.any(axis=(0, 1)))[None],
        {"plain": one},
        source.signed,
        heading,
        (lowest, highest),
    )
