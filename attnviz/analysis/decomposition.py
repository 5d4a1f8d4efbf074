"""A token's output as a sum: what each head, feed-forward network, embedding and bias adds to it.

The vector of a token, its residual stream, is a sum to which every part of a layer adds (Elhage et al. 2021).
There are norms between the additions. With its divisor kept, a norm is linear, so each part can pass through
all later norms alone (Kobayashi et al. 2021).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from attnviz.analysis.norms import FrozenNorm, weighted_vectors
from attnviz.trace import Block, Floats, Kind

PartKind = Kind | Literal["embeddings", "feed-forward", "biases"]


class Addition(NamedTuple):
    """What one part of a layer adds to a token's vector.

    Attributes:
        block: the attention that made it; None: a feed-forward network.
        vector: [d_model].
        bias: [d_model], what of the attention's vector is b_O, which belongs to no head; else 0.
    """

    block: Block | None
    vector: Floats
    bias: Floats


class ResidualStream(NamedTuple):
    """What happens to one token's vector from the embeddings to the output.

    Attributes:
        embeddings: [d_model], what it begins as.
        steps: what is added to it, and the norms that all of it goes through, one after the other.
    """

    embeddings: Floats
    steps: Sequence[Addition | FrozenNorm]


class Part(NamedTuple):
    """One summand of a token's output.

    Attributes:
        kind: an attention's kind, "embeddings", "feed-forward" or "biases". The last are those
            alone, b_O and β: b_V is in what a head takes from each token, and b₁ and b₂ are in what a
            feed-forward network adds.
        layer: from 0; of embeddings and biases 0.
        vectors: what has become of it in the output: [head, key, d_model] of an attention, else [d_model].
    """

    kind: PartKind
    layer: int
    vectors: Floats


class Contributions(NamedTuple):
    """What each part adds to a number that is linear in the output: direct logit attribution, for a logit.

    Attributes:
        attention: of each kind, [layer, head, key].
        feed_forward: [layer].
        embeddings, biases: one number each.
    """

    attention: Mapping[PartKind, Floats]
    feed_forward: Floats
    embeddings: float
    biases: float

    @property
    def total(self) -> float:
        """All of them added: the number itself, but for a bias of its own."""
        parts = (self.feed_forward, *self.attention.values())
        return self.embeddings + self.biases + sum(float(part.sum()) for part in parts)


def contributions(parts: Sequence[Part], direction: Floats) -> Contributions:
    """Each part's share of output @ direction.

    Args:
        direction: [d_model]: a row of the unembedding, or the difference of two.
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
    """The parts: all their vectors, added, are the token's output.

    Args:
        token: which one it is, from 0.

    Raises:
        AttnvizError: an attention's W_O was not found.
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
    """Each attention with xᵢ, [d_model], which goes around it, and the norm that their sum goes through."""
    vector = stream.embeddings
    for step, following in zip(stream.steps, (*stream.steps[1:], None), strict=True):
        if isinstance(step, FrozenNorm):
            vector = step.linear(vector) + step.shift
            continue
        if step.block is not None:
            yield step.block, vector, following if isinstance(following, FrozenNorm) else None
        vector = vector + step.vector
