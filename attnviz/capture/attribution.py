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

# Rows of the Jacobian per pass. More rows exceed the CPU's cache and are slower.
_ROWS_AT_ONCE = 32
_MAX_GRADIENT_TOKENS = 2048  # maximum rows × tokens per pass, so a long text has fewer rows per pass
_MAX_OCCLUSION_TOKENS = 1024  # maximum number of tokens in a batch of sentences


class Gradients(NamedTuple):
    """Gradients of an outcome with respect to each token, [token] each.

    The outcome is a vector s(x): one log-probability, or all elements of the chosen token's output after the
    last layer. Several elements are combined as √Σ².

    Attributes:
        input_gradient: ‖∂s/∂xⱼ‖, norm of the gradient at the token's embedding; for an output, the Frobenius
            norm of the Jacobian (Brunner et al. 2020, hidden token attribution).
        input_x_gradient: ‖∂s/∂xⱼ · xⱼ‖, size of the change of s if s were linear and the embedding 0.
        attention_x_gradient: Σ |αᵢⱼ · ∂s/∂αᵢⱼ| over all layers, heads and queries i
            (compare Barkan et al. 2021).
    """

    input_gradient: Floats
    input_x_gradient: Floats
    attention_x_gradient: Floats


class _Squares(NamedTuple):
    """Sums of squared gradients: [token], [token], and for each layer [head, query, key]."""

    input_gradient: Tensor
    input_x_gradient: Tensor
    attention_x_gradient: tuple[Tensor, ...]


def gradients(
    stack: Stack, position: int, expected: ExpectedToken | None
) -> Iterator[tuple[int, int, Gradients]]:
    """Compute the gradients of one token's outcome, several elements per backward pass.

    Parameters' `grad` is not changed, and other threads can use the model.

    Args:
        position: Position of the token, from 0.
        expected: The token whose log-probability is the outcome; None: the outcome is the token's output.

    Yields:
        (number of elements done, total number, gradients so far), without references to autograd graphs.
    """
    step = min(_ROWS_AT_ONCE, max(1, _MAX_GRADIENT_TOKENS // len(stack.words)))
    total, sums = _squares(stack, position, expected, slice(0, step))
    for done in range(step, total + step, step):
        yield min(done, total), total, _roots(sums)
        if done < total:
            _, more = _squares(stack, position, expected, slice(done, done + step))
            sums = _Squares(
                sums.input_gradient + more.input_gradient,
                sums.input_x_gradient + more.input_x_gradient,
                tuple(map(torch.add, sums.attention_x_gradient, more.attention_x_gradient)),
            )


def _squares(
    stack: Stack, position: int, expected: ExpectedToken | None, selected: slice
) -> tuple[int, _Squares]:
    """Return the number of the outcome's elements, and the summed squared gradients of the selected ones.

    Each call runs the layers again and frees the autograd graph, which is many times as large as the weights:
    a paused job would otherwise keep it in memory.
    """
    words = stack.words[None].detach().requires_grad_()
    with torch.enable_grad():
        result = stack.run(words)
        if expected is None or result.logits is None:
            outcome = result.output[0, position]
        else:
            outcome = result.logits[0, position].log_softmax(-1)[expected.id : expected.id + 1]
    rows = torch.eye(len(outcome))[selected].to(outcome)
    gradients = torch.autograd.grad(
        outcome, [words, *result.weights], rows, is_grads_batched=True, allow_unused=True
    )
    word_gradients = gradients[0][:, 0]  # [row, token, d_word]
    weight_gradients = tuple(
        torch.zeros_like(weights[0])
        if gradient is None  # a layer without effect on the outcome
        else (gradient[:, 0] * weights[0].detach()).square().sum(dim=0)
        for weights, gradient in zip(result.weights, gradients[1:], strict=True)
    )
    products = (word_gradients * stack.words).sum(dim=2)
    return len(outcome), _Squares(
        word_gradients.square().sum(dim=(0, 2)), products.square().sum(dim=0), weight_gradients
    )


def _roots(sums: _Squares) -> Gradients:
    """Take the square roots of the sums; for attention, sum them over layers, heads and queries."""
    by_key = torch.stack([layer.sqrt().sum(dim=(0, 1)) for layer in sums.attention_x_gradient]).sum(dim=0)
    return Gradients(owned(sums.input_gradient.sqrt()), owned(sums.input_x_gradient.sqrt()), owned(by_key))


class Occluded(NamedTuple):
    """Outcomes after the removal of each token, [token] each; NaN if the method cannot remove it.

    Attributes:
        cosine_change: 1 − cosine between the chosen token's output before and after, 0 (no change) to 2.
        log_probability: Log-probability of the expected token after the removal; None without such a token.
    """

    cosine_change: Floats
    log_probability: Floats | None


def occlusion(
    stack: Stack, position: int, expected: ExpectedToken | None, method: OcclusionMethod
) -> Iterator[Occluded]:
    """Compute one token's outcome with each token removed in turn (Zeiler & Fergus 2014; Li et al. 2016).

    The chosen token itself cannot be deleted, because it would have no output.

    Args:
        position: Position of the measured token, from 0, in the complete text.
        expected: The token whose probability is measured, if any.
        method: One of `stack.occlusion_methods`.

    Yields:
        The results for the first tokens; each item has more tokens, and the last has all.
    """
    tokens = len(stack.tokens)
    cosine_change, log_probs = np.full((2, tokens), np.nan, dtype=np.float32)
    with torch.inference_mode():
        before = stack.run(stack.words[None])
    for selected in torch.split(torch.arange(tokens), max(1, _MAX_OCCLUSION_TOKENS // tokens)):
        removed = selected if method in stack.replacements else selected[selected != position]
        if len(removed):
            with torch.inference_mode():
                result = _run_without(stack, removed, method)
                row, at = (
                    range(len(removed)),
                    position - int(method == "deleted") * (removed < position).long(),
                )
                similarity = torch.cosine_similarity(
                    result.output[row, at].double(), before.output[0, position].double()[None], dim=1
                )
                cosine_change[removed.numpy()] = owned((1 - similarity).clamp(min=0).float())
                if expected is not None and result.logits is not None:
                    log_probs[removed.numpy()] = owned(result.logits[row, at].log_softmax(-1)[:, expected.id])
        done = int(selected[-1]) + 1
        yield Occluded(cosine_change[:done].copy(), None if expected is None else log_probs[:done].copy())


def _run_without(stack: Stack, removed: Tensor, method: OcclusionMethod) -> StackForward:
    """Run a batch of copies of the text, each without one of these tokens."""
    words = stack.words.detach().repeat(len(removed), 1, 1)
    others = torch.arange(len(stack.tokens)) != removed[:, None]  # [sentence, token]
    if method == "deleted":
        return stack.run(words[others].reshape(len(removed), -1, words.shape[2]))
    words[~others] = stack.replacements[method]
    return stack.run(words)
