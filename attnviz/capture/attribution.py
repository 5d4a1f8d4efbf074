"""Gradients of a token's output or prediction with respect to each token, and occlusion of each token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from attnviz.capture.arrays import owned
from attnviz.capture.model import ExpectedToken, OcclusionMethod
from attnviz.capture.stack import Stack, StackForward
from attnviz.trace import Floats

# Rows of the Jacobian per pass. More would be slower: they exceed the CPU's cache.
_ROWS_AT_ONCE = 32
_TOKENS_OF_GRADIENTS = 2048  # over all rows: long texts have fewer rows per pass
_TOKENS_OF_OCCLUSION = 1024  # maximum number of tokens in a batch of sentences


class Gradients(NamedTuple):
    """Gradients of an outcome with respect to each token, [token] each.

    The outcome is a vector s(x): one log-probability, or all elements of the chosen token's output after the
    last layer. Several elements are combined as √Σ².

    Attributes:
        input_gradient: ‖∂s/∂xⱼ‖, norm of the gradient at the token's embedding; for an output, the Frobenius
            norm of the Jacobian (Brunner et al. 2020, hidden token attribution).
        input_x_gradient: ‖∂s/∂xⱼ · xⱼ‖, change of s if it were linear and the embedding were set to 0.
        attention_x_gradient: Σ |αᵢⱼ · ∂s/∂αᵢⱼ| over all layers, heads and queries i
            (compare Barkan et al. 2021).
    """

    input_gradient: Floats
    input_x_gradient: Floats
    attention_x_gradient: Floats


class _Squares(NamedTuple):
    """Sums of squared gradients of some elements: [token] twice, and [head, query, key] for each layer."""

    input_gradient: Tensor
    input_x_gradient: Tensor
    attention_x_gradient: tuple[Tensor, ...]


def gradients(
    stack: Stack, place: int, expected: ExpectedToken | None
) -> Iterator[tuple[int, int, Gradients]]:
    """Compute the gradients of one token's outcome, with one backward pass per element.

    Parameters' `grad` is not changed, and other threads can use the model.

    Args:
        place: Position of the token, from 0.
        expected: The token with the log-probability as outcome; None for the token's output.

    Yields:
        (elements done, total elements, gradients of the elements done), without references to the passes.
    """
    step = min(_ROWS_AT_ONCE, max(1, _TOKENS_OF_GRADIENTS // len(stack.words)))
    numbers, sums = _squares(stack, place, expected, slice(0, step))
    for done in range(step, numbers + step, step):
        yield min(done, numbers), numbers, _roots(sums)
        if done < numbers:
            _, more = _squares(stack, place, expected, slice(done, done + step))
            sums = _Squares(
                sums.input_gradient + more.input_gradient,
                sums.input_x_gradient + more.input_x_gradient,
                tuple(map(torch.add, sums.attention_x_gradient, more.attention_x_gradient)),
            )


def _squares(stack: Stack, place: int, expected: ExpectedToken | None, some: slice) -> tuple[int, _Squares]:
    """Return the total number of the outcome's elements, and the squared gradients of some of them.

    Every call runs the layers again and frees the graph of the backward pass, which a paused job would
    otherwise keep: many times the size of the weights.
    """
    words = stack.words[None].detach().requires_grad_()
    with torch.enable_grad():
        ran = stack.run(words)
        if expected is None or ran.logits is None:
            followed = ran.output[0, place]
        else:
            followed = ran.logits[0, place].log_softmax(-1)[expected.id : expected.id + 1]
    rows = torch.eye(len(followed))[some].to(followed)
    gradients = torch.autograd.grad(
        followed, [words, *ran.weights], rows, is_grads_batched=True, allow_unused=True
    )
    at_words = gradients[0][:, 0]  # [row, token, d_word]
    at_weights = tuple(
        torch.zeros_like(weights[0])
        if slope is None  # a layer without effect on the outcome
        else (slope[:, 0] * weights[0].detach()).square().sum(dim=0)
        for weights, slope in zip(ran.weights, gradients[1:], strict=True)
    )
    times_words = (at_words * stack.words).sum(dim=2)
    return len(followed), _Squares(
        at_words.square().sum(dim=(0, 2)), times_words.square().sum(dim=0), at_weights
    )


def _roots(sums: _Squares) -> Gradients:
    """Take the roots of the sums; [head, query, key] of each layer → [key]."""
    at_keys = torch.stack([layer.sqrt().sum(dim=(0, 1)) for layer in sums.attention_x_gradient]).sum(dim=0)
    return Gradients(owned(sums.input_gradient.sqrt()), owned(sums.input_x_gradient.sqrt()), owned(at_keys))


class Occluded(NamedTuple):
    """Outcomes without each token, [token] each; NaN where the method cannot remove the token.

    Attributes:
        cosine_change: 1 − cosine between the chosen token's output before and after, 0 (no change) to 2.
        log_probability: Log-probability of the expected token afterwards; None without one.
    """

    cosine_change: Floats
    log_probability: Floats | None


def occlusion(
    stack: Stack, place: int, expected: ExpectedToken | None, way: OcclusionMethod
) -> Iterator[Occluded]:
    """Compute one token's outcome without each of the tokens (Zeiler & Fergus 2014; Li et al. 2016).

    The chosen token itself cannot be deleted, because it then has no output.

    Args:
        place: Position of the measured token, from 0, in the whole text.
        expected: The token for which the probability is measured, if any.
        way: One of `stack.ways`.

    Yields:
        Results of the first tokens, each a superset of the one before, up to all tokens.
    """
    tokens = len(stack.tokens)
    cosine_change, log_probs = np.full((2, tokens), np.nan, dtype=np.float32)
    with torch.inference_mode():
        before = stack.run(stack.words[None])
    for some in torch.split(torch.arange(tokens), max(1, _TOKENS_OF_OCCLUSION // tokens)):
        left_out = some if way in stack.stand_ins else some[some != place]
        if len(left_out):
            with torch.inference_mode():
                ran = _without(stack, left_out, way)
                row, at = range(len(left_out)), place - int(way == "deleted") * (left_out < place).long()
                alike = torch.cosine_similarity(
                    ran.output[row, at].double(), before.output[0, place].double()[None], dim=1
                )
                cosine_change[left_out.numpy()] = owned((1 - alike).clamp(min=0).float())
                if expected is not None and ran.logits is not None:
                    log_probs[left_out.numpy()] = owned(ran.logits[row, at].log_softmax(-1)[:, expected.id])
        done = int(some[-1]) + 1
        yield Occluded(cosine_change[:done].copy(), None if expected is None else log_probs[:done].copy())


def _without(stack: Stack, left_out: Tensor, way: OcclusionMethod) -> StackForward:
    """Run the text without each of these tokens in turn, as a batch."""
    words = stack.words.detach().repeat(len(left_out), 1, 1)
    others = torch.arange(len(stack.tokens)) != left_out[:, None]  # [sentence, token]
    if way == "deleted":
        return stack.run(words[others].reshape(len(left_out), -1, words.shape[2]))
    words[~others] = stack.stand_ins[way]
    return stack.run(words)
