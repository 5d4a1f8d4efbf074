"""The numbers, tokens and texts of Explore's pictures of heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from attnviz.analysis.behaviour import facts as describe
from attnviz.analysis.change import Change, change, largest_changes
from attnviz.analysis.display_tokens import (
    DisplayToken,
    DisplayTokens,
    faint,
    shown_mask,
    shown_scores,
    shown_share,
)
from attnviz.analysis.picture import Levels, Picture, Scale, diverging, sequential, thumbnails
from attnviz.analysis.stages import at_stage
from attnviz.app import traces
from attnviz.app.server.cache import cached
from attnviz.app.traces import EVERYWHERE
from attnviz.capture.model import ModelInput
from attnviz.models.catalogue import Entry
from attnviz.text import decimal, percent, signed_percent
from attnviz.trace import Floats, Kind, Mask

WEIGHTS = "weights"

SENTENCES = (" ᴬ", " ᴮ")
"""Marks that are drawn after the tokens of the first and the second sentence of a pair."""

Unit = Literal["percent", "signed percent", "score"]


@dataclass(frozen=True)
class View:
    """Model, inputs and display options of all heads, independent of the open head; a cache key.

    Attributes:
        model: The model.
        kind: "encoder", "decoder" or "cross".
        given: The input; in a comparison, the first one.
        changed: The second input of a comparison, or None.
        stage: A name in `analysis.stages.STAGES`.
        scale: "shared" or "per head".
        hide, merge: Hide special tokens; merge word pieces.
        between: A key of `traces.BETWEEN`.
    """

    model: Entry
    kind: Kind
    given: ModelInput
    changed: ModelInput | None
    stage: str
    scale: Scale
    hide: bool
    merge: bool
    between: str = EVERYWHERE

    @property
    def signed(self) -> bool:
        """True if numbers can be negative: for scores and for changes."""
        return self.changed is not None or self.stage != WEIGHTS

    @property
    def unit(self) -> Unit:
        """Number format of this view: "percent", "signed percent" or "score"."""
        if self.stage != WEIGHTS:
            return "score"
        return "signed percent" if self.changed is not None else "percent"


@cached()
def values(view: View) -> Floats:
    """Return numbers, [layer, head, shown query, shown key]; −inf for masked scores and undefined changes."""
    return _values(view, view.given) if view.changed is None else comparison(view).values


@cached()
def shown_shares(view: View) -> Floats:
    """Return the fraction of each row's weight on shown tokens, [layer, head, shown query]; 1 for scores.

    In a comparison, the smaller of the two fractions.
    """
    if view.stage != WEIGHTS:
        return np.ones(values(view).shape[:-1], dtype=np.float32)

    def of(given: ModelInput) -> Floats:
        return shown_share(traces.model_weights(view.model, given, view.kind), *_shown(view, given))

    if view.changed is None:
        return of(view.given)
    grid = comparison(view)
    return np.fmin(grid.place_rows(of(view.given), "first"), grid.place_rows(of(view.changed), "second"))


def hidden_names(view: View) -> str:
    """Return the names of the hidden tokens: "[CLS] and [SEP]"; "" for none, and for scores."""
    return _shown(view, view.given)[-1].hidden if view.stage == WEIGHTS else ""


@cached()
def comparison(view: View) -> Change:
    """Return the second input's numbers minus the first input's, by word; all 0 without a second input.

    Raises:
        AttnvizError: the two texts share too few words, or are too long together.
    """
    second = view.changed or view.given
    found = change(
        _values(view, view.given), _shown(view, view.given), _values(view, second), _shown(view, second)
    )
    layers, heads, *cells = found.values.shape
    traces.check_size(layers * heads, *cells)
    return found


def index_in(view: View, given: ModelInput, at: int, side: Literal["query", "key"]) -> int | None:
    """Return the index of a token of `groups` in this input; None if the input has no such token."""
    if view.changed is None:
        return at
    grid = comparison(view)
    place = (grid.rows if side == "query" else grid.columns)[at]
    return place.index("first" if given == view.given else "second")


@cached()
def drawn(view: View) -> Picture:
    """Return a view's numbers as levels for the browser, [layer, head, shown query, shown key]."""
    draw = diverging if view.signed else sequential
    seen = mask(view)
    return draw(faint(values(view), shown_shares(view)), view.scale, None if seen is None else seen[:, None])


@cached()
def atlas_thumbnails(view: View) -> Levels:
    """Return thumbnails of all heads, uint8 [layer × head, size, size]; used only for long texts."""
    picture = drawn(view)
    return thumbnails(picture.levels.reshape(-1, *picture.levels.shape[2:]), picture.kind)


@cached()
def allowed(view: View) -> Mask:
    """Return the mask, True where attention is allowed: [layer, shown query, shown key].

    In a comparison, True where both inputs allow it; False where an input lacks the token.
    """

    def of(given: ModelInput) -> Mask:
        masks = traces.model_masks(view.model, given, view.kind)
        return np.stack([shown_mask(mask, *_shown(view, given)) for mask in masks])

    if view.changed is None:
        return of(view.given)
    grid = comparison(view)
    first = grid.place(of(view.given).astype(np.float32), "first")
    second = grid.place(of(view.changed).astype(np.float32), "second")
    return np.asarray((first == 1) & (second == 1))


def mask(view: View) -> Mask | None:
    """Return `allowed` if the stage applies the mask; None for stages before it."""
    return allowed(view) if view.stage in ("masked", "minus sink", WEIGHTS) else None


def head_numbers(view: View, layer: int, heads: Sequence[int]) -> Floats:
    """Return the numbers of some heads of a layer (from 1), [head, shown query, shown key]; NaN where masked.

    NaN distinguishes masked weights from unmasked weights that are 0.
    """
    numbers = values(view)[layer - 1, [head - 1 for head in heads]]
    seen = mask(view)
    is_number = np.isfinite(numbers) if seen is None else np.isfinite(numbers) & seen[layer - 1]
    return np.where(is_number, numbers, np.float32(np.nan))


@cached()
def facts(view: View) -> tuple[str, ...]:
    """Return a description of each head, [layer × head]: its average attention, or its largest change."""
    without_weights, (_, heads, *_) = dict(view.model.without_weights), values(view).shape
    return tuple(
        fact if (name := without_weights.get(at // heads)) is None else f"{name}, no attention weights"
        for at, fact in enumerate(_facts(view))
    )


def _facts(view: View) -> tuple[str, ...]:
    if view.changed is not None:
        grid = comparison(view)
        return tuple(
            f"largest change: from “{query}” to “{key}”, {formatted(view, move)}"
            for query, key, move in largest_changes(grid.values, grid.queries, grid.keys)
        )
    tokens = _shown(view, view.given)
    shares = (
        shown_share(traces.model_weights(view.model, view.given, view.kind), *tokens)
        if tokens[-1].has_hidden
        else None
    )
    described = describe(weights(view, view.given), *tokens, shown=shares)
    # These are averages over all tokens; a single token may attend elsewhere.
    return tuple(f"on average {fact}" for fact in described)


def groups(view: View) -> tuple[tuple[DisplayToken, ...], tuple[DisplayToken, ...]]:
    """Return the tokens of rows and columns; in a comparison, of both sentences: "tired → narrow"."""
    if view.changed is not None:
        return comparison(view).queries, comparison(view).keys
    tokens = _shown(view, view.given)
    return _marked(tokens[0]), _marked(tokens[-1])


def formatted(view: View, number: float) -> str:
    """Return a number in the format of this view."""
    if view.unit == "percent":
        return percent(number)
    if view.unit == "signed percent":
        return signed_percent(number)
    return decimal(number)


def weights(view: View, given: ModelInput) -> Floats:
    """Return an input's weights, whatever the view's stage, [layer, head, shown query, shown key]."""
    return traces.weights(view.model, given, view.kind, view.hide, view.merge, view.between)


def _marked(shown: DisplayTokens) -> tuple[DisplayToken, ...]:
    """Return the shown tokens; in a sentence pair, each with the mark of its sentence."""
    if shown.second is None:
        return shown.groups
    return tuple(
        replace(group, label=group.label + SENTENCES[shown.tokens[group.positions[0]].sentence])
        for group in shown.groups
    )


def _shown(view: View, given: ModelInput) -> tuple[DisplayTokens, ...]:
    return traces.shown(view.model, given, view.kind, view.hide, view.merge, view.between)


def _values(view: View, given: ModelInput) -> Floats:
    if view.stage == WEIGHTS:
        return weights(view, given)
    trace = traces.trace(view.model, given)
    scores = [at_stage(block, view.stage) for block in trace.of_kind(view.kind)]
    every = traces.stack_layers(trace, view.kind, scores, -np.inf)
    return shown_scores(every, *_shown(view, given))
