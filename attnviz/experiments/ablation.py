"""Ablate heads or remove tokens, and measure how outputs and predictions change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attnviz.capture import loading
from attnviz.capture.model import ModelInput, OcclusionMethod, Outcomes
from attnviz.errors import AttnvizError
from attnviz.experiments.progress import Progress
from attnviz.interventions.edit import Edit
from attnviz.models import resolve
from attnviz.trace import Floats, checked_place

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class OutcomeDistances:
    """Changes of a model's outcomes caused by each variant (a set of edits).

    Attributes:
        cosine_change: [variant, token], 1 − cosine between a token's output before and after the edits: 0 for
            the same direction, 1 for orthogonal vectors. In an encoder–decoder, the tokens are the decoder's.
        source: [variant, source token], 1 − cosine for the encoder of an encoder–decoder; otherwise None.
        expected: [variant], change of the probability of the token that the unedited model predicts at the
            requested position; None if no position was requested.
        variation: [variant], total variation distance at this position, ½ Σ |p − q|, 0 to 1; or None.
    """

    cosine_change: Numbers
    source: Numbers | None = None
    expected: Numbers | None = None
    variation: Numbers | None = None


@dataclass(frozen=True, eq=False)
class Ablation:
    """Effects of the ablations run so far.

    Attributes:
        ablated: The ablated head of each variant.
        distances: The changes that each variant causes.
    """

    ablated: tuple[Edit, ...]
    distances: OutcomeDistances


@dataclass(frozen=True, eq=False)
class WordOcclusion:
    """Effect of removing each token on the output of one token.

    Attributes:
        cosine_change: [token], 1 − cosine between that output before and after the token is removed; NaN if
            the method cannot remove the token.
        replaced_by: The mask token, if it replaced each removed token; otherwise None.
    """

    cosine_change: Numbers
    replaced_by: str | None


def heads_of(model: str) -> tuple[Edit, ...]:
    """Return, for each head of a model, the edit that ablates it, sorted by kind, layer and head.

    Raises:
        AttnvizError: there is no such model.
    """
    entry = resolve.entry(model)
    return tuple(
        Edit(kind, layer, head)
        for kind in entry.kinds
        for layer in entry.numbers_of(kind)
        for head in range(entry.heads)
    )


def ablate(model: str, given: ModelInput, place: int | None = None) -> Iterator[Progress[Ablation]]:
    """Ablate each head of a model in turn on one text (as in Michel et al. 2019, section 3.2).

    Args:
        place: A position of `Model.prediction_positions`; None skips predictions.

    Yields:
        The effects of all heads so far, after each layer.

    Raises:
        AttnvizError: the model or the text cannot be used.
    """
    heads, batch = heads_of(model), resolve.entry(model).heads
    before = loading.load(model).outcomes(given, [()], place)
    parts: list[OutcomeDistances] = []
    for first in range(0, len(heads), batch):
        variants = [(edit,) for edit in heads[first : first + batch]]
        parts.append(outcome_distances(before, loading.load(model).outcomes(given, variants, place)))
        done = first + len(variants)
        yield Progress(done, len(heads), Ablation(heads[:done], _joined(parts)))


def occlude_words(
    model: str, text: str | ModelInput, place: int | str, method: OcclusionMethod | None = None
) -> WordOcclusion:
    """Remove each token in turn and measure the change of one token's output.

    Args:
        place: Position, from 0, or unique text of the token whose output is measured.
        method: Occlusion method; None selects the first that the model supports.

    Raises:
        AttnvizError: the model or the text cannot be used, or the model does not support the method.
    """
    loaded = loading.load(model)
    with loading.gate:  # attnviz's own models do not need transformers
        from attnviz.capture.attribution import occlusion
        from attnviz.capture.stack import stack_of

    stack = stack_of(loaded, text)
    method = stack.occlusion_methods[0] if method is None else method
    if method not in stack.occlusion_methods:
        raise AttnvizError(
            f"This model does not support {method!r}. Choose one of: {', '.join(stack.occlusion_methods)}."
        )
    *_, last = occlusion(stack, checked_place(place, stack.tokens), None, method)
    replaced_by = stack.mask_token if method == "mask vector" else None
    return WordOcclusion(last.cosine_change.astype(np.float64), replaced_by)


def outcome_distances(before: Outcomes, after: Outcomes) -> OutcomeDistances:
    """Return the changes of the outcomes from `before`, without edits, to each variant in `after`."""
    likely = before.probabilities
    if likely is None or after.probabilities is None:
        prediction: dict[str, Numbers] = {}
    else:
        p, q = likely.astype(np.float64), after.probabilities.astype(np.float64)
        best = int(p[0].argmax())
        prediction = {
            "expected": q[:, best] - p[0, best],
            "variation": np.abs(q - p).sum(axis=1) / 2,
        }
    source = None
    if before.source is not None and after.source is not None:
        source = cosine_change(before.source[0], after.source)
    return OutcomeDistances(cosine_change(before.states[0], after.states), source, **prediction)


def cosine_change(before: Floats, after: Floats) -> Numbers:
    """Return 1 − cosine between the vectors before and after an edit.

    It is computed as ½ ‖u − v‖² of the unit vectors, which is accurate for small angles.

    Args:
        before: [token, d_model].
        after: [variant, token, d_model].

    Returns:
        [variant, token].
    """
    distance: Numbers = ((_unit(after) - _unit(before)) ** 2).sum(axis=-1) / 2
    return distance


def angles(cosine_change: Numbers | float) -> Numbers:
    """Convert 1 − cosine, of any shape, to an angle in degrees: 0 is 0°, 1 is 90°, 2 is 180°."""
    degrees: Numbers = np.degrees(2 * np.arcsin(np.sqrt(np.clip(cosine_change, 0, 2) / 2)))
    return degrees


def _joined(parts: Sequence[OutcomeDistances]) -> OutcomeDistances:
    fields: dict[str, Numbers] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in OutcomeDistances.__dataclass_fields__
        if getattr(parts[0], name) is not None
    }
    return OutcomeDistances(**fields)


def _unit(vectors: Floats) -> Numbers:
    doubles = vectors.astype(np.float64)
    unit: Numbers = doubles / np.linalg.norm(doubles, axis=-1, keepdims=True)
    return unit
