"""The stages of a head's attention, from the dot product to the weights, and the window of a mask."""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose
from typing import Literal

import numpy as np

from attnviz.errors import AttnvizError
from attnviz.trace import Block, Floats, Mask


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: its name, explanation, and the unit of its values."""

    name: str
    explanation: str
    unit: Literal["score", "percent"]


STAGES = (
    Stage("dot product", "q · k: how well each query matches each key, positive or negative", "score"),
    Stage("scaled", "q · k divided by √d_head", "score"),
    Stage("masked", "the scaled scores, with −∞ where masked", "score"),
    Stage("weights", "the softmax of each row: attention weights that sum to 100 %", "percent"),
)


def stages(block: Block) -> tuple[Stage, ...]:
    """Return the stages of a block, with explanations for this model."""
    dot_product, _, masked, weights = STAGES
    if block.weights_alone:
        return (weights,)
    divides = isclose(block.scale * block.query.shape[-1] ** 0.5, 1, rel_tol=1e-4)
    if divides and block.bias is None and block.cap is None and block.sinks is None:
        return STAGES
    scale = "q · k divided by √d_head" if divides else f"q · k times {block.scale:.4g}"
    between = [Stage("scaled", scale if block.bias is None else f"{scale}, plus the bias", "score")]
    if block.bias is not None:
        between.insert(0, Stage("bias", "a bias that depends on the positions of the two tokens", "score"))
    if block.cap is not None:
        how = f"{block.cap:g} · tanh(scaled score ÷ {block.cap:g}), so that scores stay within ±{block.cap:g}"
        between.append(Stage("capped", how, "score"))
        masked = Stage("masked", "the capped scores, with −∞ where masked", "score")
    between.append(masked)
    if block.sinks is not None:
        how = "the masked scores minus the head’s sink score (the sink is not a token)"
        between.append(Stage("minus sink", how, "score"))
        weights = Stage("weights", "the softmax of each row with the sink, summing to 100 %", "percent")
    return dot_product, *between, weights


def at_stage(block: Block, name: str) -> Floats:
    """Return the values of one stage, float32 [head, query, key].

    "dot product" is QKᵀ, and `dot product · scale + bias` is `block.scaled`; "bias" is 0 if there is none;
    "capped" is `block.scores`; "masked" has −inf in masked cells (Vaswani et al. 2017, eq. 1). For a
    value x of "minus sink", the weight is eˣ / (1 + Σ eˣ).

    Raises:
        AttnvizError: there is no such stage.
    """
    match name:
        case "dot product":
            return block.query @ block.key.transpose(0, 2, 1)
        case "bias":
            return np.zeros_like(block.scores) if block.bias is None else block.bias
        case "scaled":
            return block.scaled
        case "capped":
            return block.scores
        case "masked" | "minus sink":
            masked = np.where(block.mask, block.scores, np.float32(-np.inf))
            return masked if name == "masked" or block.sinks is None else masked - block.sinks[:, None, None]
        case "weights":
            return block.weights
    names = ", ".join(stage.name for stage in STAGES)
    raise AttnvizError(f"There is no stage “{name}”. Choose one of: {names}.")


def window(mask: Mask) -> tuple[int, int] | None:
    """Return the numbers of tokens before and after a query in its sliding window; None without a window.

    A mask that reaches from the last token to the first is not a window.

    Args:
        mask: [query, key] of one text, True where not masked.
    """
    tokens = len(mask)
    queries, keys = np.nonzero(mask)
    before, after = int((queries - keys).max()), int((keys - queries).max())
    distance = np.subtract.outer(np.arange(tokens), np.arange(tokens))
    is_band = bool((mask == ((distance <= before) & (distance >= -after))).all())
    return (before, after) if is_band and before < tokens - 1 else None
