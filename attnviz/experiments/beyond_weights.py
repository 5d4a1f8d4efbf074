"""All measures of one token: the weights, and the measures proposed beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from attnviz.analysis.decomposition import around_attention
from attnviz.analysis.norms import head_norms, layer_norms, surrounded_norms
from attnviz.analysis.rank_correlation import correlation_of_ranks, ranks
from attnviz.analysis.rollout import rollout
from attnviz.capture import loading
from attnviz.capture.model import WAYS, ExpectedToken, ModelInput, Way
from attnviz.errors import AttnvizError, ModelNotSupported
from attnviz.experiments.progress import Progress
from attnviz.trace import Doubles, Floats, Kind, Mask

if TYPE_CHECKING:
    from attnviz.capture.stack import Stack

OCCLUSION = "Leaving it out"
HEAD_WEIGHTS, LAYER_WEIGHTS = "Weights of the head", "Weights of the layer"
HEAD_NORMS, LAYER_NORMS = "Norms of the head", "Norms of the layer"
NORMS_AROUND = "Norms after Add & Norm"
ROLLOUT = "Rollout"
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
    GRADIENT_ATTENTION,
    GRADIENT_INPUT,
    GRADIENT,
)
"""All measures, the yardstick first; a link names them so."""


@dataclass(frozen=True, eq=False)
class MeasuredToken:
    """What has been measured so far, of one token of one text.

    Attributes:
        place: the token, from 0.
        seen: [token], where it can look.
        values: for each measure but the yardstick [token], [layer, token] or [layer, head, token], as far as
            it goes.
        omitted: the yardstick: for each way of leaving a token out [token], how far it moves what is
            followed; NaN where a way cannot leave the token out.
        missing: why this model cannot give a measure, or leave tokens out in a way.
        mask_token: the token with the vector that replaces a word's in one of the ways, if there is one.
        followed: the token with the measured probability; None: the chosen token's output is measured.
        probabilities: for each way [token], that of the followed token without each of the tokens; empty
            where none is.
    """

    place: int
    seen: Mask
    values: Mapping[str, Floats] = field(default_factory=dict)
    omitted: Mapping[Way, Floats] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    mask_token: str | None = None
    followed: ExpectedToken | None = None
    probabilities: Mapping[Way, Floats] = field(default_factory=dict)

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
    """One measure, or one way of the yardstick.

    Attributes:
        measure: its name.
        values: [token].
        ranks: [token], 1 for the largest among those that are counted; 0 where a token is not.
        agreements: [way], Spearman's ρ over those that are counted with each way of leaving tokens out; NaN
            where there is none.
        way: of a row of the yardstick, which one.
    """

    measure: str
    values: Floats
    ranks: Doubles
    agreements: Floats
    way: Way | None = None

    @property
    def lowest(self) -> float:
        """The smallest of its agreements; NaN where one of them is, or where there are none."""
        return float(self.agreements.min()) if self.agreements.size else float("nan")

    @property
    def highest(self) -> float:
        """The largest of them."""
        return float(self.agreements.max()) if self.agreements.size else float("nan")


def rows(found: MeasuredToken, layer: int, head: int, counted: Mask) -> tuple[Row, ...]:
    """The yardstick, a row for each way, and every other measure that is there.

    Those come first that agree best with the yardstick, by the lowest of their agreements.

    Args:
        layer, head: from 0.
        counted: [token], those that are ranked.
    """

    def ranked(values: Floats) -> Doubles:
        all_ranks = np.zeros(len(values))
        all_ranks[counted] = ranks(values[counted])
        return all_ranks

    none = np.zeros(0, dtype=np.float32)
    yardstick = [
        Row(OCCLUSION, found.omitted[way], ranked(found.omitted[way]), none, way)
        for way in ways(found, counted)
    ]
    made = []
    for measure in found.values:
        values = found.of(measure, layer, head)
        assert values is not None  # noqa: S101 - it is there; for the type checker
        made.append(Row(measure, values, ranked(values), _agreements(values, found, counted)))
    return (*yardstick, *sorted(made, key=lambda row: -np.nan_to_num(row.lowest, nan=-2)))


def ways(found: MeasuredToken, counted: Mask) -> tuple[Way, ...]:
    """The ways in which each of these tokens [token] could be removed."""
    return tuple(way for way, values in found.omitted.items() if not np.isnan(values[counted]).any())


def _agreements(values: Floats, found: MeasuredToken, counted: Mask) -> Floats:
    """[..., token] → [way, ...]."""
    lines = [ranks(line) for line in values.reshape(-1, values.shape[-1])[:, counted]]
    yardstick = [ranks(found.omitted[way][counted]) for way in ways(found, counted)]
    each = [correlation_of_ranks(line, row) for row in yardstick for line in lines]
    return np.array(each, dtype=np.float32).reshape(len(yardstick), *values.shape[:-1])


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
    model = loading.load(name)
    with loading.gate:  # our own models come without transformers
        from attnviz.capture.attribution import gradients
        from attnviz.capture.residual_stream import residual_stream
        from attnviz.capture.stack import expected, stack_of

    read = loading.trace(name, ModelInput(text))
    blocks = read.of_kind(kind)
    read = replace(read, blocks=blocks)
    weights = read.stack()
    tokens = weights.shape[-1]
    steps = len(WAYS) + 1  # long ones, which take longer the more tokens there are; and two quick ones
    total = 2 + steps * tokens
    found = MeasuredToken(place, np.logical_or.reduce([block.mask[place] for block in blocks]))
    found = found.plus(
        {
            HEAD_WEIGHTS: weights[:, :, place],
            LAYER_WEIGHTS: weights[:, :, place].mean(axis=1),
            ROLLOUT: rollout(read)[-1, place],
        }
    )
    try:
        found = found.plus(
            {
                HEAD_NORMS: np.stack([head_norms(block, place) for block in blocks]),
                LAYER_NORMS: np.stack([layer_norms(block, place) for block in blocks]),
            }
        )
    except AttnvizError as error:
        found = found.without((HEAD_NORMS, LAYER_NORMS), error)
    yield Progress(1, total, found)

    try:
        around = around_attention(residual_stream(model, text, place, kind))
        norms = [surrounded_norms(one[0], place, *one[1:]) for one in around if one[0].kind != "cross"]
        found = found.plus({NORMS_AROUND: np.stack(norms)})
    except AttnvizError as error:
        found = found.without((NORMS_AROUND,), error)
    yield Progress(2, total, found)

    try:
        stack = stack_of(model, text)
    except ModelNotSupported as error:
        yield Progress(
            total, total, found.without((OCCLUSION, GRADIENT_ATTENTION, GRADIENT_INPUT, GRADIENT), error)
        )
    else:
        followed = expected(stack, place)
        for done, with_ways in _left_out(stack, followed, found):
            found = with_ways
            yield Progress(2 + done, total, found)
        for so_far, numbers, slopes in gradients(stack, place, followed):
            if so_far == numbers:
                found = found.plus(
                    {
                        GRADIENT_ATTENTION: slopes.weights_times,
                        GRADIENT_INPUT: slopes.words_times,
                        GRADIENT: slopes.words,
                    }
                )
            yield Progress(2 + len(WAYS) * tokens + tokens * so_far // numbers, total, found)


def _left_out(
    stack: Stack, followed: ExpectedToken | None, found: MeasuredToken
) -> Iterator[tuple[int, MeasuredToken]]:
    """Remove tokens in one way after the other; yield them when all are done."""
    from attnviz.capture.attribution import occlusion

    moved: dict[Way, Floats] = {}
    probabilities: dict[Way, Floats] = {}
    for number, way in enumerate(WAYS):
        if way not in stack.ways:
            found = found.without((way,), ModelNotSupported("This model has no token for a masked word."))
            continue
        try:
            for each in occlusion(stack, found.place, followed, way):
                yield number * len(stack.tokens) + len(each.turned), found
        except ModelNotSupported as error:
            found = found.without((way,), error)
            continue
        moved[way] = each.turned
        if followed is not None and each.log_probability is not None:
            moved[way] = np.abs(each.log_probability - np.log(np.float32(followed.probability)))
            probabilities[way] = np.exp(each.log_probability)
    found = replace(
        found, omitted=moved, probabilities=probabilities, followed=followed, mask_token=stack.mask_token
    )
    yield len(WAYS) * len(stack.tokens), found
