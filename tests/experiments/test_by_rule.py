"""Scores of heads by rules, compared with a loop over every cell of the weights."""

import math
from collections.abc import Callable, Sequence
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.analysis.rules import SINGLE_RULES, rule_scores
from attnviz.experiments.by_rule import TESTS
from attnviz.experiments.scoring import Found, Scores
from attnviz.trace import Floats, Mask, Token
from tests.analysis.texts import words

LAYERS, HEADS = 2, 3
WORDS = ("dog", "Dog", "cat", ",", "ran", "!")


def sentence(parts: Sequence[str], special: bool = True) -> tuple[str, tuple[Token, ...]]:
    return " ".join(parts), words(" ".join(parts), special)


def full_mask(size: int) -> Mask:
    return np.ones((size, size), dtype=np.bool_)


def causal_mask(size: int) -> Mask:
    return np.tri(size, dtype=np.bool_)


def local_mask(size: int) -> Mask:
    """Return a causal mask that allows only each token and the previous token."""
    return np.tri(size, dtype=np.bool_) & ~np.tri(size, k=-2, dtype=np.bool_)


def scored(
    texts: Sequence[str],
    tokens: Sequence[tuple[Token, ...]],
    weights: Sequence[Floats],
    masks: Sequence[Mask],
) -> Found:
    """Return the scores of each rule, by its name."""
    measurements = [
        rule_scores(
            SINGLE_RULES,
            np.stack([layer[number] for layer in weights]),
            np.stack(masks),
            DisplayTokens(tokens[number], text),
            None,
        )
        for number, text in enumerate(texts)
    ]
    return {
        rule.name: reduce(
            add,
            [
                Scores.of(test, number, each, range(LAYERS), LAYERS)
                for number, each in enumerate(measurements)
            ],
        )
        for rule, test in zip(SINGLE_RULES, TESTS, strict=True)
    }


@st.composite
def batch(draw: st.DrawFn) -> tuple[list[str], list[tuple[Token, ...]], list[Floats], list[Mask]]:
    """Draw sentences of equal length, with random weights and masks."""
    size, sentences, special = draw(st.integers(1, 7)), draw(st.integers(1, 5)), draw(st.booleans())
    chosen = st.lists(st.sampled_from(WORDS), min_size=size, max_size=size)
    texts, tokens = zip(*(sentence(draw(chosen), special) for _ in range(sentences)), strict=True)
    length = len(tokens[0])
    masks = [draw(st.sampled_from((full_mask, causal_mask, local_mask)))(length) for _ in range(LAYERS)]
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    weights = []
    for mask in masks:
        raw = random.exponential(size=(sentences, HEADS, length, length)) ** 3 * mask + mask * 1e-6
        weights.append(np.asarray(raw / raw.sum(-1, keepdims=True), dtype=np.float32))
    return list(texts), list(tokens), weights, masks


def naive_scores(
    text: str, tokens: Sequence[Token], weights: Floats, mask: Mask, rescale: bool = True
) -> dict[str, float | None]:
    """Compute the scores of one head in one sentence cell by cell; None where a rule does not apply."""
    places = [n for n, token in enumerate(tokens) if not token.special]
    size = len(places)
    rows = []
    for i in places:
        row = [float(weights[i, j]) for j in places]
        rows.append([cell / sum(row) for cell in row] if rescale else row)
    allowed = [[bool(mask[i, j]) for j in places] for i in places]
    words = [text[tokens[i].start : tokens[i].end].lower() for i in places]

    def mean_weight(cell: Callable[[int, int], bool]) -> float | None:
        chosen = [[j for j in range(size) if allowed[i][j] and cell(i, j)] for i in range(size)]
        sums = [sum(rows[i][j] for j in keys) for i, keys in enumerate(chosen) if keys]
        return sum(sums) / len(sums) if sums and size > 1 else None

    def average(row: Callable[[int], float]) -> float | None:
        return sum(map(row, range(size))) / size if size > 1 else None

    possible = sum(math.log2(sum(row)) for row in allowed)
    bits = sum(-cell * math.log2(cell) for row in rows for cell in row if cell > 0)
    distance = average(lambda i: sum(rows[i][j] * abs(i - j) for j in range(size)))
    separators = [n for n, token in enumerate(tokens) if token.special and n > 0]
    return {
        "previous": mean_weight(lambda i, j: j == i - 1),
        "next": mean_weight(lambda i, j: j == i + 1),
        "itself": mean_weight(lambda i, j: i == j),
        "first": sum(float(weights[i, 0]) for i in places) / size,
        "separator": sum(float(weights[i, j]) for i in places for j in separators) / size
        if separators
        else None,
        "punctuation": mean_weight(lambda _, j: words[j] in ",!"),
        "same word": mean_weight(lambda i, j: i != j and words[i] == words[j] and words[i] not in ",!"),
        "focused": average(lambda i: max(rows[i])),
        "broad": bits / possible if size > 1 else None,
        "far away": None if distance is None else distance / (size - 1),
    }


@settings(max_examples=40)
@given(batch())
def test_scores_equal_a_loop(
    examples: tuple[list[str], list[tuple[Token, ...]], list[Floats], list[Mask]],
) -> None:
    texts, tokens, weights, masks = examples
    found = scored(*examples)
    for layer, mask in enumerate(masks):
        for head in range(HEADS):
            scores = [
                naive_scores(t, k, weights[layer][n, head], mask)
                for n, (t, k) in enumerate(zip(texts, tokens, strict=True))
            ]
            uniform = [
                naive_scores(t, k, mask / mask.sum(-1, keepdims=True), mask)
                for t, k in zip(texts, tokens, strict=True)
            ]
            for rule in SINGLE_RULES:
                figures = found[rule.name]
                single_scores = np.array([score for each in scores if (score := each[rule.name]) is not None])
                assert figures.count[:, layer].sum() == len(single_scores)
                if not len(single_scores):
                    assert np.isnan(figures.mean[layer]).all()
                    continue
                assert figures.mean[layer, head] == pytest.approx(single_scores.mean(), abs=1e-5)
                if rule.is_attention:
                    raw = [
                        score
                        for n, (t, k) in enumerate(zip(texts, tokens, strict=True))
                        if (score := naive_scores(t, k, weights[layer][n, head], mask, False)[rule.name])
                        is not None
                    ]
                    assert figures.weight[layer, head] == pytest.approx(np.mean(raw), abs=1e-5)
                uniform_scores = [score for each in uniform if (score := each[rule.name]) is not None]
                assert figures.baseline[1][layer, head] == pytest.approx(np.mean(uniform_scores), abs=1e-5)
