"""A token's output as a sum of contributions: heads, feed-forward networks, embeddings and biases.

Every part of a layer adds a vector to a token's residual stream (Elhage et al. 2021). With a fixed divisor,
the layer norms between the additions are affine, so each contribution can pass through all later ones
separately (Kobayashi et al. 2021).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from attnviz.analysis.norms import FrozenNorm, weighted_vectors
from attnviz.trace import Block, Floats, Kind

PartKind = Kind | Literal["embeddings", "feed-forward", "biases"]


class Addition(NamedTuple):
    """The vector that one part of a layer adds to a token's residual stream.

    Attributes:
        block: The attention block; None for a feed-forward network.
        vector: [d_model], the added vector.
        bias: [d_model], the output bias b_O, included in `vector` but part of no head; 0 for a feed-forward
            network.
    """

    block: Block | None
    vector: Floats
    bias: Floats


class ResidualStream(NamedTuple):
    """All changes to one token's vector from the embeddings to the output.

    Attributes:
        embeddings: [d_model], the initial vector.
        steps: Additions and layer norms, in order.
    """

    embeddings: Floats
    steps: Sequence[Addition | FrozenNorm]


class Part(NamedTuple):
    """One summand of a token's output.

    Attributes:
        kind: Kind of attention, "embeddings", "feed-forward" or "biases". "biases" has b_O and β only: b_V is
            part of the heads' vectors, and b₁ and b₂ are part of the feed-forward vectors.
        layer: from 0; 0 for embeddings and biases.
        vectors: Contribution to the output: [head, key, d_model] for attention, else [d_model].
    """

    kind: PartKind
    layer: int
    vectors: Floats


class Contributions(NamedTuple):
    """The contribution of each part to a linear function of the output, such as a logit.

    Attributes:
        attention: [layer, head, key], by kind.
        feed_forward: [layer].
        embeddings, biases: One number each.
    """

    attention: Mapping[PartKind, Floats]
    feed_forward: Floats
    embeddings: float
    biases: float

    @property
    def total(self) -> float:
        """Sum of all contributions: the value of the function without its own bias."""
        parts = (self.feed_forward, *self.attention.values())
        return self.embeddings + self.biases + sum(float(part.sum()) for part in parts)


def contributions(parts: Sequence[Part], direction: Floats) -> Contributions:
    """Return the contribution of each part to output @ direction.

    Args:
        direction: [d_model], a row of the unembedding matrix, or the difference between two rows.
    """
    found: dict[PartKind, list[Floats]] = {}
    for part in parts:
        found.setdefault(part.kind, []).append(part.vectors @ direction)
    (embeddings,), (biases,) = found.pop("embeddings"), found.pop("biases")
    feed_forward = np.array(found.pop("feed-forward", []), dtype=direction.dtype)
    attention = {kind: np.stack(each) for kind, each in found.items()}
    for array in (feed_forward, *attention.values()):
        array.setflags(write=False)
    return Contributions(attention, feed_forward, float(embeddings), float(biases))


def decompose(stream: ResidualStream, token: int) -> tuple[Part, ...]:
    """Return the parts of a token's output; their vectors sum to the output.

    Args:
        token: Position of the token, from 0.

    Raises:
        AttnvizError: the trace has no W_O.
    """
    parts = [Part("embeddings", 0, stream.embeddings)]
    biases = np.zeros_like(stream.embeddings)
    feed_forwards = 0
    for step in stream.steps:
        if isinstance(step, FrozenNorm):
            parts = [part._replace(vectors=step.linear(part.vectors)) for part in parts]
            biases = step.linear(biases) + step.shift
        elif step.block is None:
            parts.append(Part("feed-forward", feed_forwards, step.vector))
            feed_forwards += 1
        else:
            parts.append(Part(step.block.kind, step.block.layer, weighted_vectors(step.block, token)))
            biases = biases + step.bias
    return (*parts, Part("biases", 0, biases))


def around_attention(stream: ResidualStream) -> Iterator[tuple[Block, Floats, FrozenNorm | None]]:
    """Yield each attention block, its residual input, [d_model], and a layer norm right after it, if any."""
    vector = stream.embeddings
    for step, following in zip(stream.steps, (*stream.steps[1:], None), strict=True):
        if isinstance(step, FrozenNorm):
            vector = step.linear(vector) + step.shift
            continue
        if step.block is not None:
            yield step.block, vector, following if isinstance(following, FrozenNorm) else None
        vector = vector + step.vector
