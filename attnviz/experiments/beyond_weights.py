"""Importance measures for one token: attention weights, norms, rollout, gradients and occlusion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from attnviz.analysis.decomposition import around_attention
from attnviz.analysis.norms import head_norms, layer_norms, residual_norms
from attnviz.analysis.rank_correlation import correlation_of_ranks, ranks
from attnviz.analysis.rollout import rollout
from attnviz.capture import loading
from attnviz.capture.model import OCCLUSION_METHODS, ExpectedToken, ModelInput, OcclusionMethod
from attnviz.errors import AttnvizError, ModelNotSupported
from attnviz.experiments.progress import Progress
from attnviz.trace import Doubles, Floats, Kind, Mask

if TYPE_CHECKING:
    from attnviz.capture.stack import Stack

OCCLUSION = "Occlusion"
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
"""Names of all measures, as in links; occlusion is first."""


@dataclass(frozen=True, eq=False)
class MeasuredToken:
    """Partial results for one token of one text.

    Attributes:
        place: Position of the token, from 0.
        visible: [token], whether the token at `place` may attend to this token in any layer.
        values: Values of each finished measure except occlusion: [token], [layer, token] or
            [layer, head, token].
        occluded: For each occlusion method, [token], the size of the change of the output or log-probability;
            NaN for a token that the method cannot remove.
        missing: For each measure or occlusion method that the model does not support, the reason.
        target: The token whose probability is measured; None if the change of the output is measured.
    """

    place: int
    visible: Mask
    values: Mapping[str, Floats] = field(default_factory=dict)
    occluded: Mapping[OcclusionMethod, Floats] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    target: ExpectedToken | None = None

    def with_values(self, values: Mapping[str, Floats]) -> MeasuredToken:
        """Return a copy with more values."""
        return replace(self, values={**self.values, **values})

    def with_missing(self, measures: Sequence[str], reason: AttnvizError) -> MeasuredToken:
        """Return a copy with the reason why the model does not support these measures."""
        return replace(self, missing={**self.missing, **dict.fromkeys(measures, str(reason))})

    def values_for(self, measure: str, layer: int, head: int) -> Floats | None:
        """Return a measure's values, [token], for a layer and a head, from 0; None if not computed."""
        values = self.values.get(measure)
        if values is None:
            return None
        return np.asarray(values[(layer, head)[: values.ndim - 1]], dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Row:
    """The values of one measure, or of one occlusion method.

    Attributes:
        measure: Name of the measure.
        values: [token].
        ranks: [token], 1 for the largest value among the counted tokens; 0 for tokens that are not counted.
        agreements: [method], Spearman's ρ with each occlusion method over the counted tokens, NaN if
            undefined; empty in the row of an occlusion method.
        method: The occlusion method; None for other measures.
    """

    measure: str
    values: Floats
    ranks: Doubles
    agreements: Floats
    method: OcclusionMethod | None = None

    @property
    def lowest(self) -> float:
        """The smallest agreement; NaN if any is NaN, or if there are no agreements."""
        return float(self.agreements.min()) if self.agreements.size else float("nan")

    @property
    def highest(self) -> float:
        """The largest agreement; NaN in the same cases as `lowest`."""
        return float(self.agreements.max()) if self.agreements.size else float("nan")


def rows(found: MeasuredToken, layer: int, head: int, counted: Mask) -> tuple[Row, ...]:
    """Return a row for each occlusion method, then one for every other computed measure.

    The other measures are sorted by their smallest rank correlation with occlusion, highest first.

    Args:
        layer, head: Indices from 0.
        counted: [token], whether the token is ranked.
    """

    def ranked(values: Floats) -> Doubles:
        all_ranks = np.zeros(len(values))
        all_ranks[counted] = ranks(values[counted])
        return all_ranks

    none = np.zeros(0, dtype=np.float32)
    occluded = [
        Row(OCCLUSION, values, ranked(values), none, method) for method, values in found.occluded.items()
    ]
    others = []
    for measure in found.values:
        values = found.values_for(measure, layer, head)
        assert values is not None  # noqa: S101 - for the type checker
        others.append(Row(measure, values, ranked(values), _agreements(values, found, counted)))
    return (*occluded, *sorted(others, key=lambda row: -np.nan_to_num(row.lowest, nan=-2)))


def _agreements(values: Floats, found: MeasuredToken, counted: Mask) -> Floats:
    """Return the rank correlations of values, [..., token], with each occlusion method: [method, ...]."""
    lines = [ranks(line) for line in values.reshape(-1, values.shape[-1])[:, counted]]
    occluded = [ranks(each[counted]) for each in found.occluded.values()]
    each = [correlation_of_ranks(line, row) for row in occluded for line in lines]
    return np.array(each, dtype=np.float32).reshape(len(occluded), *values.shape[:-1])


def measure_token(name: str, text: str, kind: Kind, place: int) -> Iterator[Progress[MeasuredToken]]:
    """Compute every measure for one token, the fast ones first.

    Args:
        kind: "encoder", or "decoder" for a model without an encoder.
        place: Position of the token, from 0.

    Yields:
        Partial results; each includes the previous one.

    Raises:
        AttnvizError: the model or the text cannot be used.
    """
    model = loading.load(name)
    with loading.gate:  # attnviz's own models do not need transformers
        from attnviz.capture.attribution import gradients
        from attnviz.capture.residual_stream import residual_stream
        from attnviz.capture.stack import expected, stack_of

    read = loading.trace(name, ModelInput(text))
    blocks = read.of_kind(kind)
    read = replace(read, blocks=blocks)
    weights = read.stack()
    tokens = weights.shape[-1]
    slow_steps = len(OCCLUSION_METHODS) + 1  # each counts once per token; the first two steps are fast
    total = 2 + slow_steps * tokens
    found = MeasuredToken(place, np.logical_or.reduce([block.mask[place] for block in blocks]))
    found = found.with_values(
        {
            HEAD_WEIGHTS: weights[:, :, place],
            LAYER_WEIGHTS: weights[:, :, place].mean(axis=1),
            ROLLOUT: rollout(read)[-1, place],
        }
    )
    try:
        found = found.with_values(
            {
                HEAD_NORMS: np.stack([head_norms(block, place) for block in blocks]),
                LAYER_NORMS: np.stack([layer_norms(block, place) for block in blocks]),
            }
        )
    except AttnvizError as error:
        found = found.with_missing((HEAD_NORMS, LAYER_NORMS), error)
    yield Progress(1, total, found)

    try:
        around = around_attention(residual_stream(model, text, place, kind))
        norms = [residual_norms(one[0], place, *one[1:]) for one in around if one[0].kind != "cross"]
        found = found.with_values({NORMS_AROUND: np.stack(norms)})
    except AttnvizError as error:
        found = found.with_missing((NORMS_AROUND,), error)
    yield Progress(2, total, found)

    try:
        stack = stack_of(model, text)
    except ModelNotSupported as error:
        yield Progress(
            total, total, found.with_missing((OCCLUSION, GRADIENT_ATTENTION, GRADIENT_INPUT, GRADIENT), error)
        )
    else:
        target = expected(stack, place)
        for done, with_occlusion in _occlusions(stack, target, found):
            found = with_occlusion
            yield Progress(2 + done, total, found)
        for passes, total_passes, result in gradients(stack, place, target):
            if passes == total_passes:
                found = found.with_values(
                    {
                        GRADIENT_ATTENTION: result.attention_x_gradient,
                        GRADIENT_INPUT: result.input_x_gradient,
                        GRADIENT: result.input_gradient,
                    }
                )
            occlusions = len(OCCLUSION_METHODS) * tokens
            yield Progress(2 + occlusions + tokens * passes // total_passes, total, found)


def _occlusions(
    stack: Stack, target: ExpectedToken | None, found: MeasuredToken
) -> Iterator[tuple[int, MeasuredToken]]:
    """Run all occlusion methods; yield the number of removed tokens and `found`, at the end with results."""
    from attnviz.capture.attribution import occlusion

    changes: dict[OcclusionMethod, Floats] = {}
    for number, method in enumerate(OCCLUSION_METHODS):
        if method not in stack.occlusion_methods:
            found = found.with_missing((method,), ModelNotSupported("This model has no mask token."))
            continue
        for each in occlusion(stack, found.place, target, method):
            yield number * len(stack.tokens) + len(each.cosine_change), found
        changes[method] = each.cosine_change
        if target is not None and each.log_probability is not None:
            changes[method] = np.abs(each.log_probability - np.log(np.float32(target.probability)))
    found = replace(found, occluded=changes, target=target)
    yield len(OCCLUSION_METHODS) * len(stack.tokens), found
