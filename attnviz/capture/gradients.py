"""What would move a token's output: the slope at every input word and at every weight."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from attnviz.capture.arrays import owned
from attnviz.capture.stack import Expected, Stack
from attnviz.trace import Floats

# Of the Jacobian. More rows at once take longer, since the numbers leave the processor's cache.
_ROWS_AT_ONCE = 32
_TOKENS_AT_ONCE = 2048  # over all rows: of long texts, fewer rows at once


class Gradients(NamedTuple):
    """How strongly each token moves what is followed, [token] each.

    What is followed is a vector s(x): the logarithm of one probability, or all numbers of the chosen token's
    output after the last layer. Of several numbers, the squares are summed and the root is taken.

    Attributes:
        words: ‖∂s/∂xⱼ‖, the length of the gradient at the word's vector; of an output, the Frobenius norm of
            the Jacobian (Brunner et al. 2020, hidden token attribution).
        words_times: ‖∂s/∂xⱼ · xⱼ‖, gradient × input: how far s would go if it were a straight line and the
            word's vector were 0.
        weights_times: Σ |αᵢⱼ · ∂s/∂αᵢⱼ|, gradient × attention, over all layers, heads and queries i
            (compare Barkan et al. 2021): of the weights that any token gives to j, how much they matter.
    """

    words: Floats
    words_times: Floats
    weights_times: Floats


def gradients(stack: Stack, place: int, expected: Expected | None) -> Iterator[tuple[int, int, Gradients]]:
    """The slopes at one token's output, from one forward pass and a backward pass for each number of it.

    No parameter's `grad` is touched, and other threads may use the model meanwhile.

    Args:
        stack: the layers.
        place: the token, from 0.
        expected: the token whose log-probability is followed there; None: the output is followed.

    Yields:
        (numbers done, numbers in all, the slopes of those that are done).
    """
    words = stack.words[None].detach().requires_grad_()
    with torch.enable_grad():
        ran = stack.run(words)
        followed = _followed(ran.output, ran.logits, place, expected)
    of_words = of_words_times = torch.zeros(len(stack.words))
    of_weights = [torch.zeros_like(weights[0]) for weights in ran.weights]
    step = min(_ROWS_AT_ONCE, max(1, _TOKENS_AT_ONCE // len(stack.words)))
    for start in range(0, len(followed), step):
        rows = torch.eye(len(followed))[start : start + step].to(followed)
        slopes = torch.autograd.grad(
            followed, [words, *ran.weights], rows, retain_graph=True, is_grads_batched=True, allow_unused=True
        )
        at_words, at_weights = slopes[0][:, 0], slopes[1:]  # [row, token, d_word]
        of_words = of_words + at_words.square().sum(dim=(0, 2))
        of_words_times = of_words_times + (at_words * stack.words).sum(dim=2).square().sum(dim=0)
        for layer, slope in enumerate(at_weights):
            if slope is not None:  # a layer of which nothing more is read
                of_weights[layer] += (slope[:, 0] * ran.weights[layer][0].detach()).square().sum(dim=0)
        yield (
            min(start + step, len(followed)),
            len(followed),
            Gradients(owned(of_words.sqrt()), owned(of_words_times.sqrt()), owned(_at_keys(of_weights))),
        )


def _followed(output: Tensor, logits: Tensor | None, place: int, expected: Expected | None) -> Tensor:
    """[number]: what is followed."""
    if expected is None or logits is None:
        return output[0, place]
    return logits[0, place].log_softmax(-1)[expected.id : expected.id + 1]


def _at_keys(squares: list[Tensor]) -> Tensor:
    """[head, query, key] of each layer → [key]."""
    return torch.stack([layer.sqrt().sum(dim=(0, 1)) for layer in squares]).sum(dim=0)
