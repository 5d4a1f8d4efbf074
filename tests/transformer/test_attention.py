"""Scaled dot-product attention, checked against worked examples, PyTorch, and general properties."""

from math import log

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError
from torch import Tensor

from attnviz.errors import InvalidMask
from attnviz.transformer.attention import AttentionSteps, scaled_dot_product_attention

# Two tokens, d_head 4, so the scale is 1/√4 = 1/2:
#   q₁·k₁/2 = ln 3,  q₁·k₂/2 = 0     → softmax (3, 1)/4 = (3/4, 1/4)
#   q₂·k₁/2 = 0,     q₂·k₂/2 = ln 7  → softmax (1, 7)/8 = (1/8, 7/8)
QUERY = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0]])
KEY = torch.tensor([[2 * log(3), 0, 0, 0], [0, 2 * log(7), 0, 0]])
VALUE = torch.tensor([[4.0, 0], [0, 8]])


def close(actual: Tensor, expected: list[list[float]]) -> bool:
    return torch.allclose(actual, torch.tensor(expected), atol=1e-6)


def test_a_known_example() -> None:
    steps = scaled_dot_product_attention(QUERY, KEY, VALUE)
    assert close(steps.dot_products, [[2 * log(3), 0], [0, 2 * log(7)]])
    assert close(steps.scores, [[log(3), 0], [0, log(7)]])
    assert torch.equal(steps.masked, steps.scores)
    assert close(steps.weights, [[3 / 4, 1 / 4], [1 / 8, 7 / 8]])
    # First row: 3/4 · (4, 0) + 1/4 · (0, 8) = (3, 2); second: 1/8 · (4, 0) + 7/8 · (0, 8) = (1/2, 7).
    assert close(steps.output, [[3, 2], [0.5, 7]])


def test_masked_weights_are_0_and_other_weights_sum_to_1() -> None:
    steps = scaled_dot_product_attention(QUERY, KEY, VALUE, torch.tensor([[True, False], [True, True]]))
    assert close(steps.scores, [[log(3), 0], [0, log(7)]])
    assert close(steps.masked, [[log(3), float("-inf")], [0, log(7)]])
    assert close(steps.weights, [[1, 0], [1 / 8, 7 / 8]])
    assert close(steps.output, [[4, 0], [0.5, 7]])


def test_the_scale_can_be_changed() -> None:
    # Without the division, 2 ln 3 = ln 9 and 2 ln 7 = ln 49: softmax (9, 1)/10 and (1, 49)/50.
    steps = scaled_dot_product_attention(QUERY, KEY, VALUE, scale=1.0)
    assert close(steps.weights, [[9 / 10, 1 / 10], [1 / 50, 49 / 50]])


def random_attention(
    seed: int, heads: int = 2, queries: int = 3, keys: int = 5, size: float = 1.0
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return a query, key and value with d_head 7 and d_value 11, and a mask; no row is masked completely."""
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(heads, queries, 7, generator=generator) * size
    key = torch.randn(heads, keys, 7, generator=generator)
    value = torch.randn(heads, keys, 11, generator=generator)
    mask = torch.rand(queries, keys, generator=generator) < 0.5
    mask[torch.arange(queries), torch.randint(keys, (queries,), generator=generator)] = True
    return query, key, value, mask


def test_shape_annotations_are_checked_in_these_tests() -> None:
    query, key, value, _ = random_attention(seed=0)
    with pytest.raises(TypeCheckError, match="d_head"):
        scaled_dot_product_attention(query, key[..., :-1], value)


@pytest.mark.parametrize("masked", [False, True])
def test_equals_pytorch(masked: bool) -> None:
    query, key, value, random_mask = random_attention(seed=1)
    mask = random_mask if masked else None
    expected = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    torch.testing.assert_close(
        scaled_dot_product_attention(query, key, value, mask).output, expected, atol=1e-6, rtol=0
    )


sizes = st.integers(1, 13)
seeds = st.integers(0, 2**31)


@given(seed=seeds, queries=sizes, keys=sizes, size=st.sampled_from([1e-3, 1.0, 1e3]))
def test_rows_sum_to_one_and_masked_weights_are_0(seed: int, queries: int, keys: int, size: float) -> None:
    query, key, value, mask = random_attention(seed, 2, queries, keys, size)
    weights = scaled_dot_product_attention(query, key, value, mask).weights
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, queries), atol=1e-5, rtol=0)
    assert (weights[:, ~mask] == 0).all()
    assert (weights >= 0).all()


@given(seed=seeds, keys=sizes, data=st.data())
def test_attention_is_independent_of_the_order_of_keys(seed: int, keys: int, data: st.DataObject) -> None:
    query, key, value, mask = random_attention(seed, keys=keys)
    order = data.draw(st.permutations(range(keys)))
    original = scaled_dot_product_attention(query, key, value, mask)
    shuffled = scaled_dot_product_attention(query, key[:, order], value[:, order], mask[:, order])
    torch.testing.assert_close(shuffled.weights, original.weights[..., order], atol=1e-6, rtol=0)
    torch.testing.assert_close(shuffled.output, original.output, atol=1e-5, rtol=0)


def attend(mask: Tensor) -> AttentionSteps:
    query, key, value, _ = random_attention(seed=0)
    return scaled_dot_product_attention(query, key, value, mask)


def test_a_query_with_all_keys_masked_is_refused() -> None:
    mask = torch.ones(3, 5, dtype=torch.bool)
    mask[1] = False
    with pytest.raises(InvalidMask, match="All keys are masked for query token 2"):
        attend(mask)


@pytest.mark.usefixtures("without_shape_checks")
@pytest.mark.parametrize(("queries", "keys"), [(1, 5), (3, 1), (5, 3)])
def test_a_mask_is_not_broadcast(queries: int, keys: int) -> None:
    with pytest.raises(InvalidMask, match=f"{queries} × {keys}, but there are 3 queries and 5 keys"):
        attend(torch.ones(queries, keys, dtype=torch.bool))
