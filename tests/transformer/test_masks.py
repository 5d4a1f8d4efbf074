"""Masks, drawn: # where a query may look, · where not; one row a query."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from attnviz.errors import InvalidMask
from attnviz.transformer.masks import (
    causal_mask,
    explicit_mask,
    no_mask,
    padding_mask,
    prefix_mask,
    window_mask,
)


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
        (explicit_mask([[True, False, True], [False, True, False]]), ["#·#", "·#·"]),
    ],
    ids=["none", "causal", "padding", "two combined", "prefix", "window", "drawn by hand"],
)
def test_every_mask_drawn(mask: Tensor, rows: list[str]) -> None:
    assert drawn(mask) == rows


def test_padding_of_several_sentences_at_once() -> None:
    real = torch.tensor([[True, True, False], [True, False, False]])
    masks = padding_mask(real, queries=2)
    assert drawn(masks[0]) == ["##·", "##·"]
    assert drawn(masks[1]) == ["#··", "#··"]


@given(tokens=st.integers(1, 17), before=st.integers(0, 19), after=st.integers(0, 19))
def test_a_window_is_every_pair_that_is_near_enough(tokens: int, before: int, after: int) -> None:
    near = [[i - before <= j <= i + after for j in range(tokens)] for i in range(tokens)]
    assert window_mask(tokens, before, after).tolist() == near


def test_padding_alone_is_refused() -> None:
    with pytest.raises(InvalidMask, match="are masked"):
        padding_mask(torch.tensor([[True, False], [False, False]]), queries=2)


def test_a_drawn_mask_is_a_copy() -> None:
    cells = torch.ones(2, 3, dtype=torch.bool)
    mask = explicit_mask(cells)
    cells[0, 0] = False
    assert drawn(mask) == ["###", "###"]


def test_a_drawn_row_that_looks_nowhere_is_refused() -> None:
    with pytest.raises(InvalidMask, match="All keys of token 2 are masked"):
        explicit_mask([[True, False], [False, False]])


@pytest.mark.usefixtures("without_shape_checks")
@pytest.mark.parametrize(
    "cells",
    [
        torch.ones(2, 2),
        torch.ones(2, 2, 2, dtype=torch.bool),
        [[True, False], [True]],
        [True, False],
        [[1, 0], [0, 1]],
    ],
    ids=["numbers", "three axes", "ragged", "one row", "lists of numbers"],
)
def test_what_is_no_matrix_of_true_and_false_is_refused(cells: Tensor) -> None:
    with pytest.raises(InvalidMask, match="True and False"):
        explicit_mask(cells)
