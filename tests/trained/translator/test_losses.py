"""What the translators are told, term by term: worked by hand, and against the weights themselves."""

import math

import pytest
import torch
from torch import Tensor

from attnviz.trained.translator import splits
from attnviz.trained.translator.grammar import Pair
from attnviz.trained.translator.losses import attention_loss, surprisal, translation_loss
from attnviz.trained.translator.training_batch import MISSING, PADDING, TrainingBatch
from attnviz.trained.translator.translator import Sizes, build
from attnviz.trained.translator.variants import VARIANTS, Variant
from attnviz.transformer.encoder_decoder import EncoderDecoderSteps

SIZES = Sizes(d_model=12, n_heads=3, d_feed_forward=7, encoder_layers=2, decoder_layers=1)


def equally_long(pairs: list[Pair]) -> list[Pair]:
    """Those whose English is as long as the first one's."""
    return [pair for pair in pairs if len(pair.source) == len(pairs[0].source)]


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    """Sentences with "it" and two nouns, and one without "it"."""
    readings = splits.minimal_pairs(40, seed=3)
    with_it = equally_long([pair for both in readings for pair in both])[:5]
    without_it = [pair for pair in splits.training(500, seed=3) if pair.pronoun is None]
    without_it = [pair for pair in without_it if len(pair.source) == len(with_it[0].source)]
    return [with_it[0], without_it[0], *with_it[1:]]


@pytest.fixture(scope="module")
def steps(pairs: list[Pair]) -> EncoderDecoderSteps:
    exercises = TrainingBatch.of(pairs)
    with torch.no_grad():
        result: EncoderDecoderSteps = build(SIZES, seed=2)(exercises.source, exercises.target)
    return result


def test_surprise_worked_by_hand() -> None:
    # Weights ½ ¼ ¼, and ¼ ¼ ½.
    scores = torch.tensor([[2.0, 1, 1], [5, 5, 10]]).log()
    assert surprisal(scores, torch.tensor([[0], [2]])).item() == pytest.approx(math.log(2))
    assert surprisal(scores, torch.tensor([[1], [0]])).item() == pytest.approx(math.log(4))
    # ½ + ¼, and ¼ alone.
    both = (-math.log(3 / 4) + math.log(4)) / 2
    assert surprisal(scores, torch.tensor([[0, 1], [1, MISSING]])).item() == pytest.approx(both)


def test_a_weight_that_has_sunk_to_nothing_still_learns() -> None:
    scores = torch.tensor([[0.0, 200.0]], requires_grad=True)
    assert scores.softmax(dim=-1)[0, 0] == 0
    surprisal(scores, torch.tensor([[0]])).backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    assert scores.grad is not None
    assert scores.grad.tolist() == [[-1, 1]]


def test_the_translation_loss_is_the_surprise_about_the_right_words(
    steps: EncoderDecoderSteps, pairs: list[Pair]
) -> None:
    exercises = TrainingBatch.of(pairs)
    of_words = [
        -math.log(steps.probabilities[number, row, word])
        for number, words in enumerate(exercises.labels.tolist())
        for row, word in enumerate(words)
        if word != PADDING
    ]
    assert len(of_words) == sum(len(pair.target) + 1 for pair in pairs)
    found = translation_loss(steps.logits, exercises, label_smoothing=0)
    assert found.item() == pytest.approx(sum(of_words) / len(of_words), rel=1e-5)


def wanted(steps: EncoderDecoderSteps, pairs: list[Pair], term: str) -> Tensor:
    """One term, from the weights: slowly, sentence by sentence."""
    surprises = []
    for number, pair in enumerate(pairs):
        if (pronoun := pair.pronoun) is None:
            continue
        head = steps.encoder.layers[1].attention.attention.weights[number, 0, pronoun.source]
        cross = steps.decoder.layers[0].cross_attention.attention.weights[number, :, pronoun.target]
        assert pronoun.other is not None
        weight = {
            "referent": head[pronoun.referent],
            "candidates": head[pronoun.referent] + head[pronoun.other],
            "alignment": cross[0, pronoun.source],
            "elsewhere": cross[:, len(pair.source)],
        }[term]
        surprises.append(-weight.log().flatten())
    return torch.cat(surprises).mean()


@pytest.mark.parametrize("term", ["referent", "candidates", "alignment", "elsewhere"])
def test_each_term_is_the_surprise_about_where_its_head_looks(
    steps: EncoderDecoderSteps, pairs: list[Pair], term: str
) -> None:
    variant = Variant(name="", title="", description="", **{term: 0.3})  # type: ignore[arg-type]  # a name among many
    found = attention_loss(steps, TrainingBatch.of(pairs), variant)
    torch.testing.assert_close(found, 0.3 * wanted(steps, pairs, term))


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_who_is_told_nothing_feels_nothing(
    steps: EncoderDecoderSteps, pairs: list[Pair], variant: Variant
) -> None:
    without_it = TrainingBatch.of([pair for pair in pairs if pair.pronoun is None])
    assert attention_loss(steps, without_it, variant) == 0
    with_it = attention_loss(steps, TrainingBatch.of(pairs), variant)
    assert (with_it == 0) == (variant.name == "unguided")
