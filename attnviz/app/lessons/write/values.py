"""The weights of all heads, and runs on a text with and without a mask and a cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from attnviz.capture import loading
from attnviz.capture.arrays import owned
from attnviz.models import catalogue
from attnviz.trace import Floats, Trace
from attnviz.transformer.decoder_only import DecoderOnly, DecoderOnlySteps

BYTES_PER_NUMBER = 4  # float32


@dataclass(frozen=True, eq=False)
class ThreeRuns:
    """Next-token probabilities of a text, computed in three ways.

    Attributes:
        one_pass: [token], probability of the next token, for each token but the last, in one pass with the
            causal mask.
        stepwise: [token], these probabilities from one pass per token, with a cache and without a mask.
        unmasked: [token], these probabilities from one pass without a mask.
        weight_difference, probability_difference: Largest difference of any weight, and of any probability,
            between `one_pass` and `stepwise`.
    """

    one_pass: Floats
    stepwise: Floats
    unmasked: Floats
    weight_difference: float
    probability_difference: float


def read(ids: tuple[int, ...], *, model: str = catalogue.STORYTELLER) -> ThreeRuns:
    """Compute the next-token probabilities of a text of at least two tokens in three ways."""
    network, tokens = loading.load_storyteller(model).model, torch.tensor(ids)
    with torch.inference_mode():
        one_pass = network(tokens)
        everywhere = torch.ones(len(ids), len(ids), dtype=torch.bool)
        unmasked = network.read(network.table(tokens), everywhere).logits.softmax(-1)
        passes = word_by_word(network, ids)
    expected = one_pass.logits.softmax(-1)
    stepwise = torch.cat([steps.logits for steps in passes]).softmax(-1)
    next_tokens = torch.arange(len(ids) - 1), tokens[1:]
    return ThreeRuns(
        owned(expected[next_tokens]),
        owned(stepwise[next_tokens]),
        owned(unmasked[next_tokens]),
        max(
            float((full.attention.attention.weights[:, row, : row + 1] - weights[:, 0]).abs().max())
            for row, steps in enumerate(passes)
            for full, layer in zip(one_pass.layers, steps.layers, strict=True)
            for weights in [layer.attention.attention.weights]
        ),
        float((expected - stepwise).abs().max()),
    )


def word_by_word(network: DecoderOnly, ids: Sequence[int]) -> list[DecoderOnlySteps]:
    """Run one pass per token, reusing the keys and values of earlier passes."""
    passes: list[DecoderOnlySteps] = []
    for number in ids:
        passes.append(network(torch.tensor([number]), passes[-1] if passes else None))
    return passes


def head_rows(trace: Trace, row: int) -> Floats:
    """Return each head's weights in one row of a decoder, [layer, head, key], without later keys."""
    return trace.stack("decoder")[:, :, row, : row + 1]


def num_computed_rows(begin: int, written: int) -> tuple[int, int]:
    """Return the number of rows computed for the written words, without and with the cache.

    Args:
        begin: Number of tokens of the prompt.
        written: Number of written words.
    """
    return sum(range(begin, begin + written)), begin + written - 1 if written else 0
