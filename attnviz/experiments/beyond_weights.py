"""What each measure says of one token: the weights, and what else was proposed to look at beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnviz.analysis.decomposition import ResidualStream, around_attention
from attnviz.analysis.flow import flow, mixed, rollout
from attnviz.analysis.norms import head_norms, layer_norms, surrounded_norms
from attnviz.analysis.rank_correlation import rank_correlation, ranks
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.errors import AttnvizError, ModelNotSupported
from attnviz.experiments.progress import Progress
from attnviz.trace import Block, Floats, Kind, Mask

if TYPE_CHECKING:
    from attnviz.capture.attribution import Occluded
    from attnviz.capture.stack import ExpectedToken

OCCLUSION = "Leaving it out"
HEAD_WEIGHTS, LAYER_WEIGHTS = "Weights of the head", "Weights of the layer"
HEAD_NORMS, LAYER_NORMS = "Norms of the head", "Norms of the layer"
NORMS_AROUND = "Norms after Add & Norm"
ROLLOUT, FLOW = "Rollout", "Flow"
GRADIENT_ATTENTION, GRADIENT_INPUT = "Gradient × attention", "Gradient × input"
GRADIENT = "Input gradient"

MEASURES = (
    OCCLUSION,
    HEAD_WEIGHTS,
    LAYER_WEIGHTS,
    HEAD_NORMS,
    LAYER_NORMS,
    NORMS_AROUND,
    ROLLOUT,
    FLOW,
    GRADIENT_ATTENTION,
    GRADIENT_INPUT,
    GRADIENT,
)
"""All measures, the yardstick first; a link names them so."""

MOST_NODES = 2000
"""The largest network that the flow is computed in: (layers + 1) × tokens."""


@dataclass(frozen=True)
class Followed:
    """The token whose probability the yardstick and the gradients follow; see `capture.stack.Expected`."""

    text: str
    probability: float
    kind: str
    actual: bool


@dataclass(frozen=True, eq=False)
class MeasuredToken:
    """What has been measured so far, of one token of one text.

    Attributes:
        place: the token, from 0.
        seen: [token], where it can look.
        values: for each measure [token], [layer, token] or [layer, head, token], as far as it goes.
        missing: why this model cannot give a measure.
        stand_in: the token whose vector took each word's place when it was left out; None: the mean of all.
        followed: the token whose probability is followed; None: the chosen token's output is.
        probabilities: [token], that of the followed token without each of the tokens; None where none is.
    """

    place: int
    seen: Mask
    values: Mapping[str, Floats] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    stand_in: str | None = None
    followed: Followed | None = None
    probabilities: Floats | None = None

    def plus(self, values: Mapping[str, Floats]) -> MeasuredToken:
        """The same with more values."""
        return replace(self, values={**self.values, **values})

    def without(self, measures: Sequence[str], reason: AttnvizError) -> MeasuredToken:
        """The same with the reason why there are no values of these."""
        return replace(self, missing={**self.missing, **dict.fromkeys(measures, str(reason))})

    def of(self, measure: str, layer: int, head: int) -> Floats | None:
        """A measure's values [token], of a layer and a head (from 0) where it is of one; None: not there."""
        values = self.values.get(measure)
        if values is None:
            return None
        return np.asarray(values[(layer, head)[: values.ndim - 1]], dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Row:
    """One measure beside the yardstick.

    Attributes:
        measure: its name.
        values: [token].
        ranks: [token], 1 for the largest among those that are counted; 0 where a token is not.
        agreement: Spearman's ρ with the yardstick over those that are counted; NaN where there is none.
    """

    measure: str
    values: Floats
    ranks: NDArray[np.float64]
    agreement: float


def rows(found: MeasuredToken, layer: int, head: int, counted: Mask) -> tuple[Row, ...]:
    """The yardstick, and every other measure that is there, the one that agrees best with it first.

    Args:
        layer, head: from 0.
        counted: [token], those that are ranked.
    """
    yardstick = found.of(OCCLUSION, layer, head)
    made = []
    for measure in MEASURES:
        values = found.of(measure, layer, head)
        if values is None:
            continue
        ranked = np.zeros(len(values))
        ranked[counted] = ranks(values[counted])
        agreement = float("nan")
        if yardstick is not None:
            agreement = rank_correlation(values[counted], yardstick[counted])
        made.append(Row(measure, values, ranked, agreement))
    return tuple(
        sorted(made, key=lambda row: (row.measure != OCCLUSION, -np.nan_to_num(row.agreement, nan=-2)))
    )


def agreements(found: MeasuredToken, measure: str, counted: Mask) -> Floats:
    """ρ with the yardstick, of each layer [layer] or head [layer, head]; both must have been measured."""
    values, yardstick = found.values[measure], found.values[OCCLUSION]
    lines = values.reshape(-1, values.shape[-1])[:, counted]
    each = [rank_correlation(line, yardstick[counted]) for line in lines]
    return np.array(each, dtype=np.float32).reshape(values.shape[:-1])


def measured(name: str, text: str, kind: Kind, place: int) -> Iterator[Progress[MeasuredToken]]:
    """Every measure of one token, the quick ones first.

    Args:
        kind: which self-attention: "encoder", or "decoder" of a model without an encoder.
        place: the token, from 0.

    Yields:
        What was found, again and again, each time with more; the steps are single computations.

    Raises:
        AttnvizError: the model cannot be used, or cannot read the text.
    """
    model = loading.load(name)  # imports torch, if need be, in safety
    from attnviz.capture.attribution import gradients, occlusion
    from attnviz.capture.residual_stream import residual_stream
    from attnviz.capture.stack import expected, stack_of

    blocks = loading.trace(name, ModelInput(text)).of_kind(kind)
    weights = np.stack([block.weights for block in blocks])
    tokens = weights.shape[-1]
    total = 2 + 3 * tokens  # two quick steps, and three long ones that take longer the more tokens there are
    found = MeasuredToken(place, np.logical_or.reduce([block.mask[place] for block in blocks]))
    found = found.plus(
        {
            HEAD_WEIGHTS: weights[:, :, place],
            LAYER_WEIGHTS: weights[:, :, place].mean(axis=1),
            ROLLOUT: rollout(weights)[-1, place],
        }
    )
    try:
        found = found.plus(_norms(blocks, place))
    except AttnvizError as error:
        found = found.without((HEAD_NORMS, LAYER_NORMS), error)
    yield Progress(1, total, found)

    try:
        found = found.plus({NORMS_AROUND: _norms_around(residual_stream(model, text, place, kind), place)})
    except AttnvizError as error:
        found = found.without((NORMS_AROUND,), error)
    yield Progress(2, total, found)

    try:
        stack = stack_of(model, text)
    except ModelNotSupported as error:
        found = found.without((OCCLUSION, GRADIENT_ATTENTION, GRADIENT_INPUT, GRADIENT), error)
    else:
        followed = expected(stack, place)
        for left_out in occlusion(stack, place, followed):
            so_far = len(left_out.turned)
            if so_far == tokens:
                found = replace(_without_words(found, left_out, followed), stand_in=stack.replaced_by)
            yield Progress(2 + so_far, total, found)
        for so_far, numbers, slopes in gradients(stack, place, followed):
            if so_far == numbers:
                found = found.plus(
                    {
                        GRADIENT_ATTENTION: slopes.weights_times,
                        GRADIENT_INPUT: slopes.words_times,
                        GRADIENT: slopes.words,
                    }
                )
            yield Progress(2 + tokens + tokens * so_far // numbers, total, found)
    yield from _flows(found, mixed(weights), 2 + 2 * tokens)


def _without_words(found: MeasuredToken, left_out: Occluded, followed: ExpectedToken | None) -> MeasuredToken:
    if followed is None or left_out.log_probability is None:
        return found.plus({OCCLUSION: left_out.turned})
    moved = np.abs(left_out.log_probability - np.log(np.float32(followed.probability)))
    return replace(
        found.plus({OCCLUSION: moved}),
        followed=Followed(followed.text, followed.probability, followed.kind, followed.actual),
        probabilities=np.exp(left_out.log_probability),
    )


def _norms(blocks: Sequence[Block], place: int) -> dict[str, Floats]:
    return {
        HEAD_NORMS: np.stack([head_norms(block, place) for block in blocks]),
        LAYER_NORMS: np.stack([layer_norms(block, place) for block in blocks]),
    }


def _norms_around(stream: ResidualStream, place: int) -> Floats:
    return np.stack(
        [
            surrounded_norms(block, place, residual, norm)
            for block, residual, norm in around_attention(stream)
            if block.kind != "cross"
        ]
    )


def _flows(found: MeasuredToken, layers: Floats, done: int) -> Iterator[Progress[MeasuredToken]]:
    """The flow to one input after the other; it is shown when all are there."""
    tokens = layers.shape[-1]
    nodes = (len(layers) + 1) * tokens
    if nodes > MOST_NODES:
        fewer = MOST_NODES // (len(layers) + 1)
        reason = AttnvizError(
            f"{len(layers)} layers and {tokens} tokens make a network of {nodes:,} nodes, and the flow is "
            f"computed in {MOST_NODES:,} at most. Shorten the text to {fewer} tokens."
        )
        yield Progress(done + tokens, done + tokens, found.without((FLOW,), reason))
        return
    flows = np.zeros(tokens, dtype=np.float32)
    for source in range(tokens):
        flows[source] = flow(layers, found.place, source)
        if source == tokens - 1:
            found = found.plus({FLOW: flows})
        yield Progress(done + source + 1, done + tokens, found)
