"""What is public of the analyses: of a trace as of its weights, and kind to what it cannot take."""

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
def test_a_trace_is_its_weights(compute: Callable[[Any], Any], tired: Trace) -> None:
    assert np.array_equal(compute(tired), compute(tired.stack()))


def test_behaviour_is_that_of_all_tokens(tired: Trace) -> None:
    expected = behaviours(tired.stack(), DisplayTokens(tired.tokens, tired.text))
    for one, other in zip(analysis.behaviour(tired), expected, strict=True):
        assert one.sentence == other.sentence
        assert np.array_equal(one.score, other.score)
        assert np.array_equal(one.found, other.found)


def test_divergence_of_heads_that_look_at_another_text() -> None:
    weights = np.zeros((1, 2, 3, 2), dtype=np.float32)
    weights[0, 0, :, 0] = weights[0, 1, :, 1] = 1
    np.testing.assert_allclose(analysis.divergence(weights), [[[[0, 1]], [[1, 0]]]], atol=1e-6)


def test_distance_by_hand() -> None:
    weights = [[[1, 0, 0], [0.5, 0, 0.5], [0.25, 0.25, 0.5]], [[0, 0, 1], [0, 1, 0], [0, 1, 0]]]
    found = analysis.attention_distance(np.array([weights]))
    assert found.tolist() == [[pytest.approx((0 + 1 + 0.75) / 3), 1]]


@pytest.mark.parametrize("compute", OF_WEIGHTS)
def test_what_is_no_array_is_told_how_to_become_one(compute: Callable[[Any], Any]) -> None:
    said = r"weights must be an array of NumPy, \[.*key\].*, not tuple\. .* Trace\.from_weights\(attentions"
    with pytest.raises(TypeError, match=said):
        compute((WEIGHTS,))


@pytest.mark.parametrize(
    ("compute", "found"),
    [
        *((each, WEIGHTS[0]) for each in OF_WEIGHTS if each is not analysis.entropy),
        (analysis.entropy, np.array(1.0)),
    ],
)
def test_other_dimensions_are_told(compute: Callable[[Any], Any], found: Any) -> None:
    with pytest.raises(InvalidTrace, match=r"weights has the shape \(.*\); needed is \[.*key\]\."):
        compute(found)


@pytest.mark.parametrize("compute", [analysis.rollout, analysis.attention_distance])
def test_queries_must_be_the_keys(compute: Callable[[Any], Any]) -> None:
    with pytest.raises(InvalidTrace, match="weights has 4 queries and 5 keys; needed is a self-attention"):
        compute(WEIGHTS[:, :, :4])


@pytest.mark.parametrize("compute", [analysis.total_variation])
def test_rows_that_cannot_be_compared(compute: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(InvalidTrace, match=r"first has the shape \(3, 5\) and second \(3, 4\)"):
        compute(ROWS, np.full((3, 4), 0.25))
    with pytest.raises(TypeError, match=r"second must be an array of NumPy, \[\.\.\., key\].*, not list"):
        compute(ROWS, ROWS.tolist())


OF_ARRAYS: list[Callable[[Any], Any]] = [
    *OF_WEIGHTS,
    lambda weights: analysis.total_variation(WEIGHTS, weights),
    lambda weights: analysis.total_variation(weights, WEIGHTS),
]


@pytest.mark.parametrize("compute", OF_ARRAYS)
@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0.7, r"\[.*1, 3\] sums to 1\.5, not to 1\. .*divide each row by it"),
        (-0.3, r"\[.*1, 3\] holds -0\.3\. Weights are from 0 to 1"),
        (np.nan, r"\[.*1, 3\] holds numbers that are not finite"),
    ],
)
def test_rows_that_are_none_of_weights(compute: Callable[[Any], Any], number: float, said: str) -> None:
    weights = WEIGHTS.copy()
    weights[0, 1, 3, 2] = number
    weights[0, 1, 0, 0] += 0.01  # as rounding does
    with pytest.raises(InvalidTrace, match=r"(weights|layers|first|second)" + said):
        compute(weights)


@pytest.mark.parametrize("compute", OF_WEIGHTS)
@pytest.mark.parametrize("shape", [(0, 1, 2, 2), (1, 0, 2, 2), (1, 1, 0, 0)])
def test_there_must_be_some_weights(compute: Callable[[Any], Any], shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidTrace, match=r"weights has the shape \(.*0.*key\], none of them 0\."):
        compute(np.zeros(shape))


def test_weights_are_numbers(tired: Trace) -> None:
    with pytest.raises(
        TypeError, match=r"first must be an array of NumPy, .* not Trace\. .*trace\.stack\(\)"
    ):
        analysis.total_variation(tired, tired)  # type: ignore[arg-type]  # this is what must fail
    with pytest.raises(TypeError, match=r"weights must be an array of NumPy, .* of numbers, not one of <U1"):
        analysis.rollout(np.full((1, 1, 1, 1), "a"))


@pytest.mark.parametrize("compute", [analysis.head_norms, analysis.layer_norms])
def test_norms_are_of_one_layer_and_one_token(compute: Callable[[Any, Any], Any], tired: Trace) -> None:
    with pytest.raises(
        TypeError, match=r"block must be one layer's attention, as in trace\.block.*, not Trace"
    ):
        compute(tired, 1)
    with pytest.raises(InvalidTrace, match="There is no token 15: counted from 0, the last one is 14"):
        compute(tired.block(), 15)


def test_behaviour_is_of_a_trace() -> None:
    with pytest.raises(TypeError, match=r"A trace is needed, .* not ndarray"):
        analysis.behaviour(WEIGHTS)  # type: ignore[arg-type]  # this is what must fail


def test_of_several_kinds_one_must_be_named() -> None:
    both = Trace.from_weights([[[[1]]]], ["a"], cross=[[[[1]]]], target_tokens=["b"])
    with pytest.raises(InvalidTrace, match=r'Name one kind, as in trace\.stack\("encoder"\)'):
        analysis.entropy(both)
