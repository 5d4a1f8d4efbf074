"""Which words a token's output depends on: by gradients, and by leaving each word out in turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from attnviz.capture.arrays import owned
from attnviz.capture.model import ExpectedToken, Way
from attnviz.capture.stack import TOLERANCE, Stack, StackForward
from attnviz.errors import ModelNotSupported
from attnviz.trace import Floats

# Rows of the Jacobian. More at once take longer, since the numbers leave the processor's cache.
_ROWS_AT_ONCE = 32
_TOKENS_OF_GRADIENTS = 2048  # over all rows: of long texts, fewer rows at once
_TOKENS_OF_OCCLUSION = 1024  # sentences are run side by side until they have so many


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


def gradients(
    stack: Stack, place: int, expected: ExpectedToken | None
) -> Iterator[tuple[int, int, Gradients]]:
    """The slopes at one token's output, from a backward pass for each number of it.

    No parameter's `grad` is touched, and other threads may use the model meanwhile.

    Args:
        place: the token, from 0.
        expected: the token whose log-probability is followed there; None: the output is measured.

    Yields:
        (numbers done, numbers in all, the slopes of those that are done). Who stops here keeps those slopes,
        and nothing of the passes.
    """
    step = min(_ROWS_AT_ONCE, max(1, _TOKENS_OF_GRADIENTS // len(stack.words)))
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


def _squares(stack: Stack, place: int, expected: ExpectedToken | None, some: slice) -> tuple[int, _Squares]:
    """How many numbers there are in all, and what some of them add.

    What a backward pass needs is let go at the end, so every call runs the layers again: a job that stands
    still between two calls would hold it, many times the size of the weights.
    """
    words = stack.words[None].detach().requires_grad_()
    with torch.enable_grad():
        ran = stack.run(words)
        if expected is None or ran.logits is None:
            followed = ran.output[0, place]
        else:
            followed = ran.logits[0, place].log_softmax(-1)[expected.id : expected.id + 1]
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


def _roots(sums: _Squares) -> Gradients:
    """Those of the sums; [head, query, key] of each layer → [key]."""
    at_keys = torch.stack([layer.sqrt().sum(dim=(0, 1)) for layer in sums.weights_times]).sum(dim=0)
    return Gradients(owned(sums.words.sqrt()), owned(sums.words_times.sqrt()), owned(at_keys))


class Occluded(NamedTuple):
    """What happens without each token, [token] each; NaN where a way cannot leave the token out.

    Attributes:
        turned: 1 − cosine of the chosen token's output before and after; 0: it stays as it was, up to 2.
        log_probability: of the expected token, afterwards; None if none is followed.
    """

    turned: Floats
    log_probability: Floats | None


def occlusion(stack: Stack, place: int, expected: ExpectedToken | None, way: Way) -> Iterator[Occluded]:
    """One token's output without each of the tokens (Zeiler & Fergus 2014; Li et al. 2016).

    The chosen token itself cannot be removed by masking its key, as its own vector goes around the
    attention, nor by deleting it, as it then has no output.

    Args:
        place: the token with the measured output, from 0, also where a deletion moves it up.
        expected: the token with the measured probability, if any.
        way: one of `stack.ways`.

    Yields:
        The first tokens' results, more and more of them, until all tokens are there.

    Raises:
        ModelNotSupported: with a key masked, the model changes more than the attended keys.
    """
    tokens = len(stack.tokens)
    turned, told = np.full((2, tokens), np.nan, dtype=np.float32)
    with torch.inference_mode():
        before = stack.run(stack.words[None])
    for some in torch.split(torch.arange(tokens), max(1, _TOKENS_OF_OCCLUSION // tokens)):
        left_out = some if way in stack.stand_ins else some[some != place]
        if len(left_out):
            with torch.inference_mode():
                ran = _without(stack, left_out, way, before.weights[0])
                row, at = range(len(left_out)), place - int(way == "deleted") * (left_out < place).long()
                alike = torch.cosine_similarity(
                    ran.output[row, at].double(), before.output[0, place].double()[None], dim=1
                )
                turned[left_out.numpy()] = owned((1 - alike).clamp(min=0).float())
                if expected is not None and ran.logits is not None:
                    told[left_out.numpy()] = owned(ran.logits[row, at].log_softmax(-1)[:, expected.id])
        done = int(some[-1]) + 1
        yield Occluded(turned[:done].copy(), None if expected is None else told[:done].copy())


def _without(stack: Stack, left_out: Tensor, way: Way, weights: Tensor) -> StackForward:
    """The text without each of these tokens in turn, a sentence each.

    Args:
        weights: [sentence, head, query, key], of the first layer when nothing is removed.
    """
    words = stack.words.detach().repeat(len(left_out), 1, 1)
    others = torch.arange(len(stack.tokens)) != left_out[:, None]  # [sentence, token]
    if way == "deleted":
        return stack.run(words[others].reshape(len(left_out), -1, words.shape[2]))
    if way != "key masked":
        words[~others] = stack.stand_ins[way]
        return stack.run(words)
    ran = stack.run(words, others)
    _refuse_other_changes(ran.weights, weights, left_out, others)
    return ran


def _refuse_other_changes(
    weights: tuple[Tensor, ...], before: Tensor, masked: Tensor, others: Tensor
) -> None:
    """Only the masked token itself attends to it, and the first layer's other weights have grown.

    A model that reads places out of the mask (BLOOM, OPT) moves the later tokens up.
    """
    rows = others[:, None, :, None]
    tolerance = TOLERANCE + 4 * torch.finfo(before.dtype).eps
    looked = [_at(layer, masked) * others[:, None] for layer in weights]
    left = 1 - _at(before.expand_as(weights[0]), masked)[..., None]
    off = (weights[0] * left - before * others[:, None, None]) * rows
    worst = max(float(each.abs().max()) for each in (off, *looked))
    if not worst <= tolerance:
        raise ModelNotSupported(
            "With a key masked, this model changes more than who is looked at: its first weights, rescaled, "
            f"differ by {worst:.1g}. What cannot be done exactly is not shown."
        )


def _at(weights: Tensor, keys: Tensor) -> Tensor:
    """[sentence, head, query], what one key gets in each sentence."""
    return torch.stack([each[:, :, key] for each, key in zip(weights, keys.tolist(), strict=True)])
