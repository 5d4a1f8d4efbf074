"""One text read in three ways, and how much there is to multiply with and without kept keys and values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from attnviz.capture import loading
from attnviz.capture.arrays import owned
from attnviz.models import catalogue
from attnviz.trace import Floats
from attnviz.transformer.decoder_only import DecoderOnly, DecoderOnlySteps


@dataclass(frozen=True, eq=False)
class Readings:
    """What is expected after each token of a text, read in three ways.

    Attributes:
        at_once: [token], the probability of the token that follows each but the last, in one pass over all
            tokens under the causal mask.
        one_by_one: the same with a pass for each token, keys and values kept, and no mask.
        unmasked: the same in one pass over all tokens without a mask.
        weights_differ, probabilities_differ: by how much any weight, and any probability of a word, differs
            at most between the first two.
    """

    at_once: Floats
    one_by_one: Floats
    unmasked: Floats
    weights_differ: float
    probabilities_differ: float


def read(ids: tuple[int, ...], *, model: str = catalogue.STORYTELLER) -> Readings:
    """Read a text, two tokens or more, in three ways."""
    network, tokens = _network(model), torch.tensor(ids)
    with torch.inference_mode():
        at_once = network(tokens)
        everywhere = torch.ones(len(ids), len(ids), dtype=torch.bool)
        unmasked = network.read(network.table(tokens), everywhere).logits.softmax(-1)
        one_by_one = word_by_word(network, ids)
    expected = at_once.logits.softmax(-1)
    stepwise = torch.cat([steps.logits for steps in one_by_one]).softmax(-1)
    followed = torch.arange(len(ids) - 1), tokens[1:]
    return Readings(
        owned(expected[followed]),
        owned(stepwise[followed]),
        owned(unmasked[followed]),
        max(
            float((whole.attention.attention.weights[:, row, : row + 1] - weights[:, 0]).abs().max())
            for row, steps in enumerate(one_by_one)
            for whole, layer in zip(at_once.layers, steps.layers, strict=True)
            for weights in [layer.attention.attention.weights]
        ),
        float((expected - stepwise).abs().max()),
    )


def word_by_word(network: DecoderOnly, ids: Sequence[int]) -> list[DecoderOnlySteps]:
    """A pass for each token, which alone is computed: keys and values of those before it are kept.

    No mask is needed: what would have to be hidden is not there yet.
    """
    passes: list[DecoderOnlySteps] = []
    for number in ids:
        passes.append(network(torch.tensor([number]), passes[-1] if passes else None))
    return passes


def costs(
    begin: int, written: int, *, model: str = catalogue.STORYTELLER
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How many products each word takes: with nothing kept from word to word, and with keys and values kept.

    Args:
        begin: how many tokens stand there at first.
        written: how many more are written.
        model: the storyteller's name in the catalogue, as in `read`.
    """
    network, lengths = _network(model), range(begin, begin + written)
    return (
        tuple(products(network, length, length) for length in lengths),
        tuple(products(network, length if length == begin else 1, length) for length in lengths),
    )


def _network(model: str) -> DecoderOnly:
    return loading.load_storyteller(model).model


def products(network: DecoderOnly, rows: int, keys: int) -> int:
    """How many products of two numbers one pass takes that finds one next word; norms and softmax add few.

    Each row goes through the matrices of all layers. In every layer its query meets each key, and its weights
    meet each value. The last row alone meets the table of words: what follows the others stands there.

    Args:
        network: the matrices of its layers are all their two-dimensional parameters.
        rows: how many tokens are computed.
        keys: how many tokens they look at, themselves included, masked or not.
    """
    matrices = sum(numbers.numel() for numbers in network.layers.parameters() if numbers.dim() > 1)
    looking = len(network.layers) * 2 * keys * network.table.embedding_dim
    return rows * (matrices + looking) + network.table.weight.numel()
