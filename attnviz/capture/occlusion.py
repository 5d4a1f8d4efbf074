"""The yardstick: leave each word out in turn, run the model again, and see how far the output moves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch

from attnviz.capture.arrays import owned
from attnviz.capture.stack import Expected, Stack
from attnviz.trace import Floats

_TOKENS_AT_ONCE = 1024  # sentences are run side by side until they have so many


class Occluded(NamedTuple):
    """What happens without each token, [token] each.

    Attributes:
        turned: 1 − cosine of the chosen token's output before and after; 0: it stays as it was, up to 2.
        log_probability: of the expected token, afterwards; None if none is followed.
    """

    turned: Floats
    log_probability: Floats | None


def occlusion(stack: Stack, place: int, expected: Expected | None) -> Iterator[Occluded]:
    """One token's output without each of the tokens (Zeiler & Fergus 2014; Li et al. 2016).

    To leave a token out, its word vector is replaced by `stack.stand_in`. Its place and its position stay, so
    that nothing else moves.

    Args:
        stack: the layers.
        place: the token whose output is looked at, from 0.
        expected: the token whose probability is looked at there, if any.

    Yields:
        The first tokens' results, more and more of them, until all tokens are there.
    """
    tokens = len(stack.tokens)
    turned, told = np.zeros((2, 0), dtype=np.float32)
    with torch.inference_mode():
        before = stack.run(stack.words[None]).output[0, place].double()
    for some in torch.split(torch.arange(tokens), max(1, _TOKENS_AT_ONCE // tokens)):
        without = stack.words.detach().repeat(len(some), 1, 1)
        without[range(len(some)), some] = stack.stand_in
        with torch.inference_mode():
            ran = stack.run(without)
            alike = torch.cosine_similarity(ran.output[:, place].double(), before[None], dim=1)
            turned = np.append(turned, owned((1 - alike).clamp(min=0).float()))
            if expected is not None and ran.logits is not None:
                told = np.append(told, owned(ran.logits[:, place].log_softmax(-1)[:, expected.id]))
        yield Occluded(turned, None if expected is None else told)
