"""What is summed of every head in one pass over a text; and the sentences that ship."""

import re
from collections import Counter
from functools import reduce
from operator import add

import numpy as np
import pytest

from attnviz.analysis.divergence import Divergences, divergences
from attnviz.analysis.shapes import ShapeSums, shapes
from attnviz.capture.batches import Batch
from attnviz.experiments import behaviour
from attnviz.trace import Token

LAYERS, HEADS, SIZE = 2, 3, 5
LINES = (4, 7, 8, 14)


@pytest.fixture
def batch() -> Batch:
    """Four lines of five tokens, with random weights; every second layer may only look back."""
    random = np.random.default_rng(7)
    masks = (np.ones((SIZE, SIZE), dtype=np.bool_), np.tri(SIZE, dtype=np.bool_))
    drawn = [random.random((len(LINES), HEADS, SIZE, SIZE), dtype=np.float32) * mask for mask in masks]
    tokens = tuple(Token("a", 1, 2 * at, 2 * at + 1, at, False) for at in range(SIZE))
    weights = tuple(layer / layer.sum(axis=-1, keepdims=True) for layer in drawn)
    return Batch(LINES, ("a a a a a",) * len(LINES), (tokens,) * len(LINES), weights, masks)


def test_both_measures_of_a_batch_are_those_of_its_lines(batch: Batch) -> None:
    measures = behaviour.measures(1001, LAYERS * HEADS)  # 400 at most: every third line
    lines = [[layer[at : at + 1] for layer in batch.weights] for at in range(len(LINES))]
    found, compared = measures["shapes"](batch), measures["divergences"](batch)
    assert isinstance(found, ShapeSums)
    assert isinstance(compared, Divergences)
    one_by_one = reduce(add, [shapes(line, batch.masks, [0] * SIZE) for line in lines])
    np.testing.assert_allclose(found.beyond_even, one_by_one.beyond_even, atol=1e-6)
    assert compared.sentences == 0  # none of these lines' numbers is a multiple of 3
    every_second = behaviour.divergences_of(batch, 2)
    expected = reduce(add, [divergences(lines[at]) for at in (0, 2, 3)])
    assert every_second.sentences == 3
    np.testing.assert_allclose(every_second.total, expected.total, atol=1e-6)
    np.testing.assert_allclose((compared + every_second).mean, expected.mean, atol=1e-6)


@pytest.mark.parametrize("lines", [1, 7, 400, 401, 799, 801, 10_000])
def test_never_more_lines_are_compared_than_said(lines: int) -> None:
    compared = len(range(0, lines, behaviour.compared_every(lines, 72)))
    assert min(lines, behaviour.MOST_COMPARED // 2) <= compared <= behaviour.MOST_COMPARED


@pytest.mark.parametrize(("heads", "most"), [(1, 400), (72, 400), (384, 108), (1_200, 25)])
def test_many_heads_are_compared_in_fewer_lines(heads: int, most: int) -> None:
    """400 lines × 200 heads squared ÷ 2 is the budget; 384 × 383 ÷ 2 pairs leave 108 lines."""
    compared = len(range(0, 100_000, behaviour.compared_every(100_000, heads)))
    assert 0.95 * most <= compared <= most


def test_the_sentences_that_ship_are_many_and_unlike_each_other() -> None:
    lines = behaviour.bundled().splitlines()
    assert len(lines) == len(set(lines)) == 400
    lengths = Counter(len(line.split()) for line in lines)
    assert (min(lengths), max(lengths)) == (4, 30)
    assert max(lengths.values()) < 60
    assert all(line == line.strip() and re.search(r'[.?!]"?$', line) for line in lines)
    beginnings = Counter(" ".join(line.split()[:4]) for line in lines)
    assert max(beginnings.values()) <= 2
    for kind, sign in (("questions", "?"), ("quotations", '"'), ("lists", ", and "), ("numbers", r"\d")):
        assert (
            sum(bool(re.search(sign if sign == r"\d" else re.escape(sign), line)) for line in lines) >= 15
        ), kind
