"""Masks, drawn with # for allowed keys and · for masked keys; one row for each query."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from attnviz.errors import InvalidMask
from attnviz.transformer.masks import causal_mask, no_mask, padding_mask, prefix_mask, window_mask


def drawn(mask: Tensor) -> list[str]:
    return ["".join("#" if cell else "·" for cell in row) for row in mask.tolist()]


PADDING = padding_mask(torch.tensor([True, True, False]), queries=3)


@pytest.mark.parametrize(
    ("mask", "rows"),
    [
        (no_mask(queries=2, keys=3), ["###", "###"]),
        (causal_mask(3), ["#··", "##·", "###"]),
        (PADDING, ["##·", "##·", "##·"]),
        (causal_mask(3) & PADDING, ["#··", "##·", "##·"]),
        (prefix_mask(5, prefix=3), ["###··", "###··", "###··", "####·", "#####"]),
        (window_mask(5, before=2, after=1), ["##···", "###··", "####·", "·####", "··###"]),
    ],
    ids=["none", "causal", "padding", "two combined", "prefix", "window"],
)
def test_known_masks(mask: Tensor, rows: list[str]) -> None:
    assert drawn(mask) == rows


def test_padding_masks_of_a_batch() -> None:
    real = torch.tensor([[True, True, False], [True, False, False]])
    masks = padding_mask(real, queries=2)
    assert drawn(masks[0]) == ["##·", "##·"]
    assert drawn(masks[1]) == ["#··", "#··"]


@given(tokens=st.integers(1, 17), before=st.integers(0, 19), after=st.integers(0, 19))
def test_a_window_allows_all_pairs_within_its_distances(tokens: int, before: int, after: int) -> None:
    near = [[i - before <= j <= i + after for j in range(tokens)] for i in range(tokens)]
    assert window_mask(tokens, before, after).tolist() == near


def test_a_text_of_padding_only_is_refused() -> None:
    with pytest.raises(InvalidMask, match="are masked"):
        padding_mask(torch.tensor([[True, False], [False, False]]), queries=2)
