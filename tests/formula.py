"""Equation 1 of Vaswani et al. 2017 in NumPy, to check traces and to create blocks for tests."""

from typing import Any

import numpy as np

from attnviz.interventions.edit import HeadOutput
from attnviz.trace import Block, Floats, Mask, Token, Trace


def attention(
    query: Floats,
    key: Floats,
    mask: Mask,
    scale: float,
    bias: Floats | None = None,
    cap: float | None = None,
    sinks: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Return scores, QKᵀ · scale + bias, and their softmax, exactly 0 where masked; both [head, query, key].

    A cap changes scores to cap · tanh(score / cap). A head's sink adds e^sink to the sum of each row.
    """
    scores = query @ key.transpose(0, 2, 1) * np.float32(scale)
    if bias is not None:
        scores = scores + bias
    if cap is not None:
        scores = np.float32(cap) * np.tanh(scores / np.float32(cap))
    allowed = np.where(mask, scores, -np.inf)
    largest = allowed.max(axis=-1, keepdims=True)
    exponentials = np.exp(allowed - largest)
    sink_terms = 0 if sinks is None else np.exp(sinks[:, None, None] - largest)
    return scores, exponentials / (exponentials.sum(axis=-1, keepdims=True) + sink_terms)


def computed_block(**fields: Any) -> Block:
    """Return a block whose weights are computed from its other fields."""
    inputs: dict[str, Any] = {
        name: fields.get(name) for name in ("query", "key", "mask", "scale", "bias", "cap", "sinks")
    }
    return Block(weights=attention(**inputs)[1], **fields)


def own_outputs(trace: Trace) -> list[HeadOutput]:
    """Return edits that replace the output of each head with itself."""
    return [
        HeadOutput(block.kind, block.layer, head, output)
        for block in trace.blocks
        for head, output in enumerate(block.output)
    ]


HEADS, QUERIES, KEYS, D_HEAD, D_VALUE, D_MODEL = 2, 3, 5, 7, 11, 13
"""Distinct primes, so that swapped axes are detected."""


def block(
    seed: int = 0, queries: int = QUERIES, keys: int = KEYS, complete: bool = True, **changes: Any
) -> Block:
    """Return a block of random numbers, with a bias and a projection if `complete`."""
    random = np.random.default_rng(seed)

    def normal(*shape: int) -> Floats:
        return random.normal(size=shape).astype(np.float32)

    def tokens(count: int) -> tuple[Token, ...]:
        return tuple(Token(f"t{n}", n, 2 * n, 2 * n + 1, n, False) for n in range(count))

    mask = random.random((queries, keys)) < 0.6
    mask[:, 1], mask[0, -1] = True, False
    arrays: dict[str, Any] = {
        "kind": "cross",
        "layer": 1,
        "query_tokens": tokens(queries),
        "key_tokens": tokens(keys),
        "query": normal(HEADS, queries, D_HEAD),
        "key": normal(HEADS, keys, D_HEAD),
        "value": normal(HEADS, keys, D_VALUE),
        "mask": mask,
        "scale": 0.3,
        "bias": normal(HEADS, queries, keys) if complete else None,
        "projection": normal(HEADS, D_VALUE, D_MODEL) if complete else None,
    }
    arrays["weights"] = attention(*(arrays[name] for name in ("query", "key", "mask", "scale", "bias")))[1]
    return Block(**(arrays | changes))
