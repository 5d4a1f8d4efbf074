"""The public analysis functions: traces and arrays, and errors for invalid input."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attnviz import analysis
from attnviz.analysis.behaviour import behaviours
from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.errors import InvalidTrace
from attnviz.trace import Trace

OF_WEIGHTS = [analysis.rollout, analysis.entropy, analysis.divergence, analysis.attention_distance]
WEIGHTS = np.full((2, 3, 5, 5), 0.2, dtype=np.float32)
ROWS = np.full((3, 5), 0.2, dtype=np.float32)


@pytest.mark.parametrize("compute", OF_WEIGHTS)
def test_result_for_a_trace_equals_result_for_its_weights(
    compute: Callable[[Any], Any], tired: Trace
) -> None:
    assert np.array_equal(compute(tired), compute(tired.stack()))


def test_behaviour_equals_behaviours_of_all_tokens(tired: Trace) -> None:
    expected = behaviours(tired.stack(), DisplayTokens(tired.tokens, tired.text))
    for one, other in zip(analysis.behaviour(tired), expected, strict=True):
        assert one.sentence == other.sentence
        assert np.array_equal(one.score, other.score)
        assert np.array_equal(one.found, other.found)


def test_divergence_of_cross_attention() -> None:
    weights = np.zeros((1, 2, 3, 2), dtype=np.float32)
    weights[0, 0, :, 0] = weights[0, 1, :, 1] = 1
    np.testing.assert_allclose(analysis.divergence(weights), [[[[0, 1]], [[1, 0]]]], atol=1e-6)


def test_attention_distance() -> None:
    weights = [[[1, 0, 0], [0.5, 0, 0.5], [0.25, 0.25, 0.5]], [[0, 0, 1], [0, 1, 0], [0, 1, 0]]]
    found = analysis.attention_distance(np.array([weights]))
    assert found.tolist() == [[pytest.approx((0 + 1 + 0.75) / 3), 1]]


OF_ARRAYS: list[Callable[[Any], Any]] = [
    *OF_WEIGHTS,
    lambda weights: analysis.total_variation(WEIGHTS, weights),
    lambda weights: analysis.total_variation(weights, WEIGHTS),
]


@pytest.mark.parametrize("compute", OF_ARRAYS)
@pytest.mark.parametrize(
    ("number", "message"),
    [
        (0.7, r"\[.*1, 3\] sums to 1\.5, not to 1\. .*divide each row by it"),
        (-0.3, r"\[.*1, 3\] contains -0\.3\. Weights must be from 0 to 1"),
        (np.nan, r"\[.*1, 3\] contains numbers that are not finite"),
    ],
)
def test_invalid_weights_are_refused(compute: Callable[[Any], Any], number: float, message: str) -> None:
    weights = WEIGHTS.copy()
    weights[0, 1, 3, 2] = number
    weights[0, 1, 0, 0] += 0.01  # a rounding error is accepted
    with pytest.raises(InvalidTrace, match=r"(weights|layers|first|second)" + message):
        compute(weights)


BOTH = Trace.from_weights([[[[1]]]], ["a"], cross=[[[[1]]]], target_tokens=["b"])


REFUSED: list[tuple[Callable[..., Any], tuple[Any, ...], type[Exception]]] = [
    *((each, ((WEIGHTS,),), TypeError) for each in OF_WEIGHTS),
    *((each, (WEIGHTS[0],), InvalidTrace) for each in OF_WEIGHTS if each is not analysis.entropy),
    *(
        (each, (np.zeros(shape),), InvalidTrace)
        for each in OF_WEIGHTS
        for shape in ((0, 1, 2, 2), (1, 0, 2, 2), (1, 1, 0, 0))
    ),
    (analysis.entropy, (np.array(1.0),), InvalidTrace),
    (analysis.entropy, (BOTH,), InvalidTrace),  # two kinds of attention: select one
    (analysis.rollout, (WEIGHTS[:, :, :4],), InvalidTrace),  # queries and keys differ
    (analysis.attention_distance, (WEIGHTS[:, :, :4],), InvalidTrace),
    (analysis.rollout, (np.full((1, 1, 1, 1), "a"),), TypeError),
    (analysis.total_variation, (ROWS, np.full((3, 4), 0.25)), InvalidTrace),
    (analysis.total_variation, (ROWS, ROWS.tolist()), TypeError),
    (analysis.total_variation, (BOTH, BOTH), TypeError),
    (analysis.behaviour, (WEIGHTS,), TypeError),
    (analysis.head_norms, (BOTH, 1), TypeError),  # these accept only a Block
    (analysis.layer_norms, (BOTH, 1), TypeError),
]


@pytest.mark.parametrize(("compute", "arguments", "error"), REFUSED)
def test_invalid_input_is_refused(
    compute: Callable[..., Any], arguments: tuple[Any, ...], error: type[Exception]
) -> None:
    with pytest.raises(error):
        compute(*arguments)
