"""The terms of the translators' losses, compared with slow computations from weights and probabilities."""

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
    """Return the pairs with a source as long as the first pair's."""
    return [pair for pair in pairs if len(pair.source) == len(pairs[0].source)]


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    """Sentences with "it" and two nouns, and a sentence without "it"."""
    minimal_pairs = splits.minimal_pairs(40, seed=3)
    with_it = equally_long([pair for both in minimal_pairs for pair in both])[:5]
    without_it = [pair for pair in splits.training(500, seed=3) if pair.pronoun is None]
    without_it = [pair for pair in without_it if len(pair.source) == len(with_it[0].source)]
    return [with_it[0], without_it[0], *with_it[1:]]


@pytest.fixture(scope="module")
def steps(pairs: list[Pair]) -> EncoderDecoderSteps:
    batch = TrainingBatch.of(pairs)
    with torch.no_grad():
        result: EncoderDecoderSteps = build(SIZES, seed=2)(batch.source, batch.target)
    return result


def test_surprisal_is_the_mean_negative_log_weight() -> None:
    # The weights are ½ ¼ ¼ and ¼ ¼ ½.
    scores = torch.tensor([[2.0, 1, 1], [5, 5, 10]]).log()
    assert surprisal(scores, torch.tensor([[0], [2]])).item() == pytest.approx(math.log(2))
    assert surprisal(scores, torch.tensor([[1], [0]])).item() == pytest.approx(math.log(4))
    # The sum ½ + ¼ in the first row, and ¼ alone in the second.
    both = (-math.log(3 / 4) + math.log(4)) / 2
    assert surprisal(scores, torch.tensor([[0, 1], [1, MISSING]])).item() == pytest.approx(both)


def test_underflowed_weight_still_has_a_gradient() -> None:
    scores = torch.tensor([[0.0, 200.0]], requires_grad=True)
    assert scores.softmax(dim=-1)[0, 0] == 0
    surprisal(scores, torch.tensor([[0]])).backward()  # type: ignore[no-untyped-call]  # untyped in torch
    assert scores.grad is not None
    assert scores.grad.tolist() == [[-1, 1]]


def test_translation_loss_is_the_mean_surprisal(steps: EncoderDecoderSteps, pairs: list[Pair]) -> None:
    batch = TrainingBatch.of(pairs)
    surprises = [
        -math.log(steps.probabilities[number, row, word])
        for number, words in enumerate(batch.labels.tolist())
        for row, word in enumerate(words)
        if word != PADDING
    ]
    assert len(surprises) == sum(len(pair.target) + 1 for pair in pairs)
    found = translation_loss(steps.logits, batch, label_smoothing=0)
    assert found.item() == pytest.approx(sum(surprises) / len(surprises), rel=1e-5)


def expected_term(steps: EncoderDecoderSteps, pairs: list[Pair], term: str) -> Tensor:
    """Compute one term from the weights, sentence by sentence."""
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
            "end": cross[:, len(pair.source)],
        }[term]
        surprises.append(-weight.log().flatten())
    return torch.cat(surprises).mean()


@pytest.mark.parametrize("term", ["referent", "candidates", "alignment", "end"])
def test_attention_term_is_a_mean_surprisal(steps: EncoderDecoderSteps, pairs: list[Pair], term: str) -> None:
    variant = Variant(name="", title="", description="", **{term: 0.3})  # type: ignore[arg-type]  # `term` is any of several fields
    found = attention_loss(steps, TrainingBatch.of(pairs), variant)
    torch.testing.assert_close(found, 0.3 * expected_term(steps, pairs, term))


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_attention_loss_is_zero_without_a_pronoun_or_term(
    steps: EncoderDecoderSteps, pairs: list[Pair], variant: Variant
) -> None:
    without_it = TrainingBatch.of([pair for pair in pairs if pair.pronoun is None])
    assert attention_loss(steps, without_it, variant) == 0
    with_it = attention_loss(steps, TrainingBatch.of(pairs), variant)
    assert (with_it == 0) == (variant.name == "unguided")
