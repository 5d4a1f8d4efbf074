"""Positions: the formula of the paper, its rotation property, and learned tables."""

from math import cos, sin

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnviz.errors import TextTooLong
from attnviz.transformer.positions import LearnedPositions, sinusoidal


def formula(position: int, dimension: int, d_model: int) -> float:
    """Compute the formula of the paper with Python floats."""
    pair = dimension // 2
    angle = position / 10000 ** (2 * pair / d_model)
    return sin(angle) if dimension % 2 == 0 else cos(angle)


@pytest.mark.parametrize("d_model", [1, 2, 7, 64])
def test_equals_the_formula(d_model: int) -> None:
    expected = [[formula(p, i, d_model) for i in range(d_model)] for p in range(513)]
    torch.testing.assert_close(sinusoidal(513, d_model), torch.tensor(expected), atol=1e-7, rtol=0)


@given(position=st.integers(0, 400), offset=st.integers(0, 100))
def test_an_offset_is_the_same_rotation_at_every_position(position: int, offset: int) -> None:
    # sin(a + b) = cos b · sin a + sin b · cos a  and  cos(a + b) = cos b · cos a − sin b · sin a:
    # each pair (sin, cos) is rotated by offset / 10000^(2i / d_model), at every position.
    encoding = sinusoidal(501, 14)
    for pair in range(7):
        angle = offset / 10000 ** (2 * pair / 14)
        rotation = torch.tensor([[cos(angle), sin(angle)], [-sin(angle), cos(angle)]])
        start = encoding[position, 2 * pair : 2 * pair + 2]
        end = encoding[position + offset, 2 * pair : 2 * pair + 2]
        torch.testing.assert_close(rotation @ start, end, atol=1e-6, rtol=0)


def test_learned_positions_have_a_limit() -> None:
    positions = LearnedPositions(limit=11, d_model=7)
    assert torch.equal(positions(5), positions.table[:5])
    assert positions(11).shape == (11, 7)
    with pytest.raises(TextTooLong) as refused:
        positions(13)
    assert (refused.value.tokens, refused.value.limit) == (13, 11)
