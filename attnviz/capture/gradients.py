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


class _Squares(NamedTuple):
    """The squared slopes of some numbers, added up: [token] twice, and [head, query, key] of each layer."""

    words: Tensor
    words_times: Tensor
    weights_times: tuple[Tensor, ...]


def gradients(stack: Stack, place: int, expected: Expected | None) -> Iterator[tuple[int, int, Gradients]]:
    """The slopes at one token's output, from a backward pass for each number of it.

    No parameter's `grad` is touched, and other threads may use the model meanwhile.

    Args:
        stack: the layers.
        place: the token, from 0.
        expected: the token whose log-probability is followed there; None: the output is followed.

    Yields:
        (numbers done, numbers in all, the slopes of those that are done). Who stops here keeps those slopes,
        and nothing of the passes.
    """
    step = min(_ROWS_AT_ONCE, max(1, _TOKENS_AT_ONCE // len(stack.words)))
    numbers, sums = _squares(stack, place, expected, slice(0, step))
    for done in range(step, numbers + step, step):
        yield min(done, numbers), numbers, _roots(sums)
        if done < numbers:
            _, more = _squares(stack, place, expected, slice(done, done + step))
            sums = _Squares(
                sums.words + more.words,
                sums.words_times + more.words_times,
                tuple(map(torch.add, sums.weights_times, more.weights_times)),
            )


def _squares(stack: Stack, place: int, expected: Expected | None, some: slice) -> tuple[int, _Squares]:
    """How many numbers there are in all, and what some of them add.

    What a backward pass needs is let go at the end, so every call runs the layers again: a work that stands
    still between two calls would hold it, many times the size of the weights.
    """
    words = stack.words[None].detach().requires_grad_()
    with torch.enable_grad():
        ran = stack.run(words)
        followed = _followed(ran.output, ran.logits, place, expected)
    rows = torch.eye(len(followed))[some].to(followed)
    slopes = torch.autograd.grad(
        followed, [words, *ran.weights], rows, is_grads_batched=True, allow_unused=True
    )
    at_words = slopes[0][:, 0]  # [row, token, d_word]
    at_weights = tuple(
        torch.zeros_like(weights[0])
        if slope is None  # a layer of which nothing more is read
        else (slope[:, 0] * weights[0].detach()).square().sum(dim=0)
        for weights, slope in zip(ran.weights, slopes[1:], strict=True)
    )
    times_words = (at_words * stack.words).sum(dim=2)
    return len(followed), _Squares(
        at_words.square().sum(dim=(0, 2)), times_words.square().sum(dim=0), at_weights
    )


def _followed(output: Tensor, logits: Tensor | None, place: int, expected: Expected | None) -> Tensor:
    """[number]: what is followed."""
    if expected is None or logits is None:
        return output[0, place]
    return logits[0, place].log_softmax(-1)[expected.id : expected.id + 1]


def _roots(sums: _Squares) -> Gradients:
    """Those of the sums; [head, query, key] of each layer → [key]."""
    at_keys = torch.stack([layer.sqrt().sum(dim=(0, 1)) for layer in sums.weights_times]).sum(dim=0)
    return Gradients(owned(sums.words.sqrt()), owned(sums.words_times.sqrt()), owned(at_keys))
