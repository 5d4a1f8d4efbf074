"""Rotary positions: turns by hand, lengths kept, scores that know the distance alone, parity with Llama."""

from math import cos, sin

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from attnviz.transformer.rotary import rotary_frequencies, rotate

PRIME = 7  # tokens
D_HEAD = 22  # twice a prime: a head's numbers must come in pairs


def test_frequencies_worked_by_hand() -> None:
    # d_head 4: 10000^0 = 1 and 10000^(−2/4) = 1/100.
    assert rotary_frequencies(4).tolist() == pytest.approx([1, 0.01])
    assert rotary_frequencies(6, base=8.0).tolist() == pytest.approx([1, 0.5, 0.25])


def test_a_turn_worked_by_hand() -> None:
    # At position 3 the pairs turn by 3 and by 0.03.
    turned = rotate(torch.tensor([[1.0, 0, 0, 2]]), torch.tensor([3]))
    assert turned[0].tolist() == pytest.approx([cos(3), sin(3), -2 * sin(0.03), 2 * cos(0.03)])


def test_an_odd_number_has_no_partner() -> None:
    with pytest.raises(ValueError, match="must be even"):
        rotate(torch.randn(PRIME, 5), torch.arange(PRIME))


@given(seed=st.integers(0, 999), position=st.integers(0, 5000))
def test_a_turn_keeps_every_length(seed: int, position: int) -> None:
    vectors = torch.randn(3, PRIME, D_HEAD, generator=torch.Generator().manual_seed(seed))
    turned = rotate(vectors, torch.arange(position, position + PRIME))
    torch.testing.assert_close(turned.norm(dim=-1), vectors.norm(dim=-1))


@given(
    seed=st.integers(0, 999),
    query_at=st.integers(0, 500),
    key_at=st.integers(0, 500),
    moved=st.integers(0, 4000),
)
def test_scores_depend_on_the_distance_alone(seed: int, query_at: int, key_at: int, moved: int) -> None:
    query, key = torch.randn(2, 1, D_HEAD, generator=torch.Generator().manual_seed(seed))

    def score(query_at: int, key_at: int) -> torch.Tensor:
        turned = rotate(query, torch.tensor([query_at])), rotate(key, torch.tensor([key_at]))
        return (turned[0] * turned[1]).sum()

    torch.testing.assert_close(
        score(query_at, key_at), score(query_at + moved, key_at + moved), atol=2e-5, rtol=0
    )


def test_equals_llamas_own_up_to_the_order_of_the_numbers() -> None:
    # Llama pairs number i with number i + d/2; the paper, and we, pair neighbours.
    query, key = torch.randn(2, 1, 5, PRIME, D_HEAD)
    neighbours_apart = [*range(0, D_HEAD, 2), *range(1, D_HEAD, 2)]
    position = torch.arange(11, 11 + PRIME)
    angle = torch.cat([position.unsqueeze(1) * 10_000 ** (-torch.arange(0, D_HEAD, 2) / D_HEAD)] * 2, dim=1)
    theirs = apply_rotary_pos_emb(
        query[..., neighbours_apart], key[..., neighbours_apart], angle.cos()[None], angle.sin()[None]
    )
    for vectors, expected in zip((query, key), theirs, strict=True):
        torch.testing.assert_close(
            rotate(vectors, position)[..., neighbours_apart], expected, atol=1e-5, rtol=0
        )
