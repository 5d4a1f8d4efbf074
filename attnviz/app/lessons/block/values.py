"""The intermediate vectors of one token in a layer of the bundled BERT."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from attnviz.app.lessons.compute import bert, run
from attnviz.capture.arrays import owned
from attnviz.trace import Floats
from attnviz.transformer.add_norm import AddNorm
from attnviz.transformer.layers import EncoderLayer


@dataclass(frozen=True, eq=False)
class Vector:
    """One of a token's vectors in a layer.

    Attributes:
        values: The vector.
        length: Euclidean norm.
        mean: Mean of the entries.
        cosine: Cosine with the input of the layer; None for vectors of another size.
    """

    values: Floats
    length: float
    mean: float
    cosine: float | None


@dataclass(frozen=True, eq=False)
class Norm:
    """A layer norm of one token's vector s: (s − mean) / √(variance + epsilon) ⊙ gain + offset."""

    mean: float
    variance: float
    epsilon: float
    gain: Floats
    offset: Floats

    def scale(self, part: Floats) -> Floats:
        """Return the contribution of `part`, one of the vectors that sum to s, to the normalized vector."""
        scaled: Floats = (part - part.mean()) / np.sqrt(self.variance + self.epsilon) * self.gain
        return scaled


@dataclass(frozen=True, eq=False)
class Walk:
    """One token's vectors in one layer.

    Attributes:
        tokens: Number of tokens in the text.
        vectors: By name: `layer_input` x, `attention` a, `first_sum` x + a, `after_attention` y,
            `expanded` y W₁ + b₁, `activated`, `feed_forward` f, `second_sum` y + f, and `layer_output` z.
        norms: The two layer norms.
    """

    tokens: int
    vectors: dict[str, Vector]
    norms: tuple[Norm, Norm]

    @property
    def reach(self) -> float:
        """The end of the colour scale: 98th percentile of |entry| over all vectors of size d_model."""
        same_size = [vector.values for vector in self.vectors.values() if vector.cosine is not None]
        return float(np.quantile(np.abs(np.concatenate(same_size)), 0.98))

    @property
    def parts(self) -> dict[str, Floats]:
        """The vectors that sum to z, with the variance of each layer norm held fixed."""
        first, second = self.norms
        x, attention, feed_forward = (
            self.vectors[name].values for name in ("layer_input", "attention", "feed_forward")
        )
        return {
            "layer_input": second.scale(first.scale(x)),
            "attention": second.scale(first.scale(attention)),
            "feed_forward": second.scale(feed_forward),
            "offsets": second.scale(first.offset) + second.offset,
        }


@torch.inference_mode()
def walk_through(layer: EncoderLayer, tokens: Float[Tensor, "token d_model"], token: int) -> Walk:
    """Return one token's vectors in a layer without dropout and without a mask.

    Args:
        layer: The layer.
        tokens: All tokens' vectors before the layer.
        token: Position of the token, from 0.
    """
    steps = layer(tokens)
    x, y = tokens[token], steps.attention_add_norm.output
    vectors = {
        "layer_input": x,
        "attention": steps.attention.output[token],
        "first_sum": steps.attention_add_norm.sum[token],
        "after_attention": y[token],
        "expanded": steps.feed_forward.expanded[token],
        "activated": steps.feed_forward.activated[token],
        "feed_forward": steps.feed_forward.output[token],
        "second_sum": steps.feed_forward_add_norm.sum[token],
        "layer_output": steps.output[token],
    }
    return Walk(
        tokens=len(tokens),
        vectors={name: _vector(vector, x) for name, vector in vectors.items()},
        norms=(
            _norm(layer.attention_add_norm, vectors["first_sum"]),
            _norm(layer.feed_forward_add_norm, vectors["second_sum"]),
        ),
    )


def walk(text: str, layer: int, token: int) -> Walk:
    """Return one token's vectors in a layer of the bundled BERT; layer and token count from 0.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the text is invalid.
    """
    module = bert().encoder.layers[layer]
    assert isinstance(module, EncoderLayer)  # noqa: S101 - for the type checker: nn.ModuleList loses the type
    return walk_through(module, run(text).hidden_states[layer], token)


def _vector(vector: Float[Tensor, " dimension"], layer_input: Float[Tensor, " d_model"]) -> Vector:
    comparable = vector.shape == layer_input.shape
    return Vector(
        values=owned(vector),
        length=float(vector.norm()),
        mean=float(vector.mean()),
        cosine=float(torch.cosine_similarity(vector, layer_input, dim=0)) if comparable else None,
    )


def _norm(add_norm: AddNorm, total: Float[Tensor, " d_model"]) -> Norm:
    return Norm(
        mean=float(total.mean()),
        variance=float(total.var(correction=0)),
        epsilon=add_norm.norm.eps,
        gain=owned(add_norm.norm.weight),
        offset=owned(add_norm.norm.bias),
    )
