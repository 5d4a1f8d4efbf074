"""Rotary positions: known examples, general properties, and comparison with Llama."""

from math import cos, sin

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from attnviz.transformer.rotary import rotary_frequencies, rotate

TOKENS = 7
D_HEAD = 22  # twice a prime, since the size of a head must be even


def test_known_frequencies() -> None:
    # d_head 4: 10000^0 = 1 and 10000^(−2/4) = 1/100.
    assert rotary_frequencies(4).tolist() == pytest.approx([1, 0.01])
    assert rotary_frequencies(6, base=8.0).tolist() == pytest.approx([1, 0.5, 0.25])


def test_a_known_rotation() -> None:
    # At position 3 the pairs are rotated by 3 and by 0.03.
    rotated = rotate(torch.tensor([[1.0, 0, 0, 2]]), torch.tensor([3]))
    assert rotated[0].tolist() == pytest.approx([cos(3), sin(3), -2 * sin(0.03), 2 * cos(0.03)])


def test_an_odd_size_is_refused() -> None:
    with pytest.raises(ValueError, match="must be even"):
        rotate(torch.randn(TOKENS, 5), torch.arange(TOKENS))


@given(seed=st.integers(0, 999), position=st.integers(0, 5000))
def test_rotation_keeps_lengths(seed: int, position: int) -> None:
    vectors = torch.randn(3, TOKENS, D_HEAD, generator=torch.Generator().manual_seed(seed))
    rotated = rotate(vectors, torch.arange(position, position + TOKENS))
    torch.testing.assert_close(rotated.norm(dim=-1), vectors.norm(dim=-1))


@given(
    seed=st.integers(0, 999),
    query_at=st.integers(0, 500),
    key_at=st.integers(0, 500),
    offset=st.integers(0, 4000),
)
def test_scores_depend_only_on_the_distance(seed: int, query_at: int, key_at: int, offset: int) -> None:
    query, key = torch.randn(2, 1, D_HEAD, generator=torch.Generator().manual_seed(seed))

    def score(query_at: int, key_at: int) -> torch.Tensor:
        rotated = rotate(query, torch.tensor([query_at])), rotate(key, torch.tensor([key_at]))
        return (rotated[0] * rotated[1]).sum()

    torch.testing.assert_close(
        score(query_at, key_at), score(query_at + offset, key_at + offset), atol=2e-5, rtol=0
    )


def test_equals_llama_up_to_the_order_of_the_dimensions() -> None:
    # Llama pairs dimension i with i + d/2; the paper and our code pair adjacent dimensions.
    query, key = torch.randn(2, 1, 5, TOKENS, D_HEAD)
    llama_order = [*range(0, D_HEAD, 2), *range(1, D_HEAD, 2)]
    position = torch.arange(11, 11 + TOKENS)
    angle = torch.cat([position.unsqueeze(1) * 10_000 ** (-torch.arange(0, D_HEAD, 2) / D_HEAD)] * 2, dim=1)
    theirs = apply_rotary_pos_emb(
        query[..., llama_order], key[..., llama_order], angle.cos()[None], angle.sin()[None]
    )
    for vectors, expected in zip((query, key), theirs, strict=True):
        torch.testing.assert_close(rotate(vectors, position)[..., llama_order], expected, atol=1e-5, rtol=0)
