"""Measures of a translator, for given weights and for an untrained model."""

from collections.abc import Sequence
from dataclasses import asdict

import pytest
import torch

from attnviz.interventions.edit import Edit
from attnviz.trained.translator import splits
from attnviz.trained.translator.grammar import Pair
from attnviz.trained.translator.measures import chooses_il, exact_match, pronoun_attention, weights_from_it
from attnviz.trained.translator.translator import Sizes, Translator, build
from attnviz.trained.translator.vocabulary import FRENCH

SIZES = Sizes(d_model=12, n_heads=3, d_feed_forward=7)


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return [pair for both in splits.minimal_pairs(6, seed=2) for pair in both]


@pytest.fixture(scope="module")
def untrained() -> Translator:
    """An untrained translator."""
    return Translator(build(SIZES, seed=1), SIZES, {})


def places(pair: Pair) -> tuple[int, int, int, int]:
    """Return the positions of "it", its referent, the other noun, and "il" or "elle"."""
    assert pair.pronoun is not None
    assert pair.pronoun.other is not None
    return pair.pronoun.source, pair.pronoun.referent, pair.pronoun.other, pair.pronoun.target


def test_pronoun_attention_of_given_weights(pairs: list[Pair]) -> None:
    two = pairs[:2]
    weights = torch.zeros(2, 30)
    for row, (pair, referent, other) in enumerate(zip(two, (0.6, 0.2), (0.1, 0.5), strict=True)):
        weights[row, places(pair)[1]] = referent
        weights[row, places(pair)[2]] = other
        weights[row, 29] = 0.3
    assert asdict(pronoun_attention(weights, two)) == pytest.approx(
        {"found": 0.5, "referent": 0.4, "other": 0.3}
    )


def test_batched_measures_equal_single_measures(pairs: list[Pair], untrained: Translator) -> None:
    weights = weights_from_it(untrained, pairs)
    chosen = chooses_il(untrained, pairs)
    for pair, row, il in zip(pairs, weights, chosen, strict=True):
        it, _, _, pronoun = places(pair)
        steps = untrained.steps(pair.source, pair.target)
        for layer, layer_steps in enumerate(steps.encoder.layers):
            found = layer_steps.attention.attention.weights[:, it]
            torch.testing.assert_close(row[layer, :, : found.shape[-1]], found)
            assert not row[layer, :, found.shape[-1] :].any()
        words = dict(zip(("il", "elle"), probabilities(untrained, pair, pronoun), strict=True))
        assert il == (words["il"] > words["elle"])


def probabilities(translator: Translator, pair: Pair, row: int, edits: Sequence[Edit] = ()) -> list[float]:
    steps = translator.steps(pair.source, pair.target, edits)
    found: list[float] = steps.probabilities[row, FRENCH.ids(("il", "elle"))].tolist()
    return found


class FixedTranslator(Translator):
    """A translator with fixed translations."""

    def __init__(self, translations: Sequence[tuple[str, ...]]) -> None:
        super().__init__(build(SIZES, seed=1), SIZES, {})
        self.translations = translations

    def translate_all(self, sources: Sequence[object], edits: Sequence[object] = ()) -> list[tuple[str, ...]]:
        assert not edits or len(edits) == len(sources)
        return list(self.translations[: len(sources)])


def test_exact_match_counts_only_perfect_translations(pairs: list[Pair]) -> None:
    right = [pair.target for pair in pairs]
    assert exact_match(FixedTranslator(right), pairs) == 1
    assert exact_match(
        FixedTranslator([*right[:-2], right[-2][:-1], (*right[-1], "trop")]), pairs
    ) == 1 - 2 / len(pairs)
