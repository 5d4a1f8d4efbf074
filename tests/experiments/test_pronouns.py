"""Scores of heads on pronouns, from traces with given weights."""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import add

import numpy as np
import pytest

from attnviz.analysis.words import positions
from attnviz.experiments import pairs
from attnviz.experiments.pairs import Pair, SentenceOfPair
from attnviz.experiments.pronouns import TESTS, weights_of
from attnviz.experiments.scoring import Scores
from attnviz.experiments.sentences import UnusableSentence
from attnviz.trace import Kind, Trace
from tests.experiments.given_traces import tokens_of, trace_of

LINES = """
The [dog] saw the [elephant] as *it* {sat > dog | ran > elephant}.
The [cat] saw the [mouse] as *it* {slept > cat | hid > mouse}.
The [hen] {bit > fox | fled > hen} the [fox] so *it* cried.
"""
THREE = pairs.parse(LINES)

# For each (pair, sentence) and each head, the weights of the pronoun on both nouns.
SIDES: Mapping[tuple[int, int], dict[int, tuple[float, float]]] = {
    (0, 0): {0: (0.5, 0.2), 1: (0.3, 0.4), 2: (0.1, 0.1)},
    (0, 1): {0: (0.2, 0.5), 1: (0.5, 0.4), 2: (0.1, 0.3)},
    (1, 0): {0: (0.4, 0.2), 1: (0.1, 0.6), 2: (0.2, 0.0)},
    (1, 1): {0: (0.3, 0.2), 1: (0.2, 0.6), 2: (0.3, 0.0)},
    (2, 0): {0: (0.1, 0.2), 1: (0.3, 0.2), 2: (0.0, 0.0)},
    (2, 1): {0: (0.6, 0.2), 1: (0.3, 0.4), 2: (0.2, 0.1)},
}


def made_trace(pair: int, number: int, reading: SentenceOfPair) -> Trace:
    """Return a trace of three heads in one layer; weights of two-piece words are split between the pieces."""
    tokens = tokens_of(reading.text)
    weights = np.zeros((3, len(tokens), len(tokens)), dtype=np.float32)
    for head, sides in SIDES[pair, number].items():
        [query] = positions(tokens, reading.pronoun)
        for candidate, weight in zip(reading.candidates, sides, strict=True):
            pieces = positions(tokens, candidate)
            weights[head, query, list(pieces)] = weight / len(pieces)
    return trace_of(reading.text, [weights])


@pytest.fixture
def trace() -> Callable[[str], Trace]:
    """A function that returns the trace of a sentence of the three pairs."""
    known = {
        reading.text: made_trace(at, number, reading)
        for at, pair in enumerate(THREE)
        for number, reading in enumerate(pair.readings)
    }
    return known.__getitem__


def traces_of(pair: Pair, trace: Callable[[str], Trace]) -> list[Trace]:
    return [trace(reading.text) for reading in pair.readings]


def scored(
    examples: Sequence[Pair], trace: Callable[[str], Trace], kind: Kind = "encoder", query: int = 0
) -> Scores:
    """Return the summed scores of these pairs; `query`: 0 for the pronoun, 1 for the nouns."""
    each = [
        Scores.of(TESTS[query], number, weights_of(pair, traces_of(pair, trace), kind), [0], 1)
        for number, pair in enumerate(examples)
    ]
    return reduce(add, each)


def test_scores_of_three_pairs(trace: Callable[[str], Trace]) -> None:
    found = weights_of(THREE[0], traces_of(THREE[0], trace), "encoder")
    np.testing.assert_allclose(found.weights[0, 0, :, 0, 0], [0.5, 0.2], rtol=1e-6)
    # Head 1 is correct in both sentences of two pairs, head 2 of none; ties, as in head 3, are wrong.
    scores = scored(THREE, trace)
    assert scores.sums["score"].sum(axis=0).tolist() == [[2, 0, 0]]
    assert scores.sums["score"][:, 0, 0].tolist() == [2, 0]
    assert scores.examples == 3
    np.testing.assert_allclose(scores.weight[0], [0.6, 4.3 / 6, 1.4 / 6], rtol=1e-5)
    # Heads 1 and 2 change the noun in two of three pairs; half of these would be correct by chance.
    np.testing.assert_allclose(scores.baseline[1], [[1 / 3, 1 / 3, 0]])
    assert scores.ranking[0] == (0, 0)


def test_weight_from_a_noun_is_the_mean_of_its_pieces() -> None:
    [pair] = pairs.parse(LINES.splitlines()[1])
    traces = {}
    for reading, sides in zip(pair.readings, ((0.6, 0.2), (0.1, 0.2)), strict=True):
        tokens = tokens_of(reading.text)
        [key] = positions(tokens, reading.pronoun)
        weights = np.zeros((1, len(tokens), len(tokens)), dtype=np.float32)
        for candidate, weight in zip(reading.candidates, sides, strict=True):
            weights[0, list(positions(tokens, candidate)), key] = weight
        traces[reading.text] = trace_of(reading.text, [weights])
    found = scored([pair], traces.__getitem__, query=1)
    assert found.mean.item() == 1
    assert found.weight.item() == pytest.approx((0.6 + 0.2 + 0.1 + 0.2) / 4)
    assert scored([pair], traces.__getitem__).mean.item() == 0


def test_causal_model_is_scored_only_if_the_deciding_word_comes_earlier() -> None:
    def causal_trace(text: str) -> Trace:
        length = len(tokens_of(text))
        mask = np.tril(np.ones((length, length), dtype=np.bool_))
        weights = (mask / mask.sum(axis=1, keepdims=True)).astype(np.float32)
        return trace_of(text, [weights[None]], "decoder", mask)

    for pair in THREE[:2]:
        with pytest.raises(UnusableSentence, match="only to earlier tokens"):
            weights_of(pair, traces_of(pair, causal_trace), "decoder")
    assert scored(THREE[2:], causal_trace, "decoder").examples == 1
    # The nouns come before the pronoun: they cannot attend to it.
    assert scored(THREE[2:], causal_trace, "decoder", query=1).examples == 0
