"""What happens to one token's vector inside a layer, part by part, and from layer to layer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from attnviz.app.learn.compute import bert, parameters, run
from attnviz.capture.arrays import owned
from attnviz.trace import Floats
from attnviz.transformer.add_norm import AddNorm
from attnviz.transformer.layers import EncoderLayer


@dataclass(frozen=True, eq=False)
class Station:
    """A token's vector at one place of the layer.

    Attributes:
        values: the vector.
        length: its Euclidean norm, √(v · v).
        mean: of its entries.
        cosine: of the angle between it and the vector that came into the layer; None where they have
            different sizes.
    """

    values: Floats
    length: float
    mean: float
    cosine: float | None


@dataclass(frozen=True, eq=False)
class Norm:
    """What a layer norm did to one token: (s − mean) / √(variance + epsilon) ⊙ gain + offset.

    Attributes:
        mean, variance: of the entries of the sum s that came in.
        epsilon: keeps the root away from 0.
        gain, offset: the learned γ and β, one number for each dimension.
    """

    mean: float
    variance: float
    epsilon: float
    gain: Floats
    offset: Floats


@dataclass(frozen=True, eq=False)
class Largest:
    """Of each sum of products that a matrix multiplication adds up, the product of the largest size.

    Attributes:
        place: which entry of the vector it belongs to, from 0.
        weight: what that entry is multiplied by.
        bias: what is added to the sum in the end.
    """

    place: Floats
    weight: Floats
    bias: Floats


@dataclass(frozen=True, eq=False)
class Walk:
    """One token's way through one layer, every vector on it.

    Attributes:
        token, layer: the token's place, and the layer's, from 0.
        layers: how many layers the model has.
        tokens: how many tokens the text has.
        came_in: x, the token's vector before the layer.
        attention: what attention adds to it.
        first_sum: x + attention.
        first_norm, attended: the layer norm of that sum, and y, its result.
        expanded, activated: y W₁ + b₁, one number for each neuron, and the same after the activation.
        feed_forward: activated W₂ + b₂, what the feed-forward network adds to y.
        second_sum: y + feed_forward.
        second_norm, came_out: the layer norm of that sum, and z, its result: the next layer's input.
        into_neuron: for each neuron, the largest product of y W₁.
        into_dimension: for each dimension, the largest product of activated W₂.
        strongest_everywhere: how much the neuron that fires most here fires for every token, [token].
        change_of_attention, change_of_feed_forward: the length of the change of each one's update when every
            other token's vector in front of it is replaced by zeros.
        parameters_of_feed_forward, parameters: how many learned numbers it has, and the whole layer.
    """

    token: int
    layer: int
    layers: int
    tokens: int
    came_in: Station
    attention: Station
    first_sum: Station
    first_norm: Norm
    attended: Station
    expanded: Station
    activated: Station
    feed_forward: Station
    second_sum: Station
    second_norm: Norm
    came_out: Station
    into_neuron: Largest
    into_dimension: Largest
    strongest_everywhere: Floats
    change_of_attention: float
    change_of_feed_forward: float
    parameters_of_feed_forward: int
    parameters: int

    def station(self, name: str) -> Station:
        """The vector that one of these attributes has."""
        found: Station = getattr(self, name)
        return found

    @property
    def firing(self) -> int:
        """How many neurons are above 0."""
        return int((self.activated.values > 0).sum())

    @property
    def reach(self) -> float:
        """The size that only one in fifty of the numbers in the vectors of size d_model goes beyond."""
        stations = (
            *(self.came_in, self.attention, self.first_sum, self.attended),
            *(self.feed_forward, self.second_sum, self.came_out),
        )
        return float(np.quantile(np.abs(np.concatenate([station.values for station in stations])), 0.98))

    def strongest(self, most: int) -> tuple[tuple[int, float], ...]:
        """The neurons that fire most, and how much: (neuron from 0, activation), strongest first."""
        order = np.argsort(-self.activated.values, kind="stable")[:most]
        return tuple((int(neuron), float(self.activated.values[neuron])) for neuron in order)


@torch.inference_mode()
def walk_through(
    layer: EncoderLayer, tokens: Float[Tensor, "token d_model"], token: int, number: int = 0, layers: int = 1
) -> Walk:
    """Follow one token through a layer.

    Args:
        layer: a layer without dropout.
        tokens: all tokens' vectors before the layer; no mask: every token sees all.
        token: which one is followed, from 0.
        number: the layer's place among `layers`, from 0.
        layers: how many layers there are.
    """
    steps = layer(tokens)
    x = tokens[token]
    y = steps.attention_add_norm.output
    activated = steps.feed_forward.activated[token]
    feed_forward = layer.feed_forward
    # The same number of tokens as before: another might be multiplied in another order, to other last bits.
    attended_alone, read_alone = _alone(y, token), _alone(tokens, token)
    return Walk(
        token=token,
        layer=number,
        layers=layers,
        tokens=len(tokens),
        came_in=_station(x, x),
        attention=_station(steps.attention.output[token], x),
        first_sum=_station(steps.attention_add_norm.sum[token], x),
        first_norm=_norm(layer.attention_add_norm, steps.attention_add_norm.sum[token]),
        attended=_station(y[token], x),
        expanded=_station(steps.feed_forward.expanded[token], x),
        activated=_station(activated, x),
        feed_forward=_station(steps.feed_forward.output[token], x),
        second_sum=_station(steps.feed_forward_add_norm.sum[token], x),
        second_norm=_norm(layer.feed_forward_add_norm, steps.feed_forward_add_norm.sum[token]),
        came_out=_station(steps.output[token], x),
        into_neuron=_largest(feed_forward.expand, y[token]),
        into_dimension=_largest(feed_forward.contract, activated),
        strongest_everywhere=owned(steps.feed_forward.activated[:, int(activated.argmax())]),
        change_of_attention=_distance(
            layer.attention(read_alone, read_alone).output[token], steps.attention.output[token]
        ),
        change_of_feed_forward=_distance(
            feed_forward(attended_alone).output[token], steps.feed_forward.output[token]
        ),
        parameters_of_feed_forward=parameters(feed_forward),
        parameters=parameters(layer),
    )


def walk(text: str, layer: int, token: int) -> Walk:
    """Follow one token of a text through one layer of the bundled BERT.

    Args:
        text: what is read.
        layer: which layer, from 0.
        token: which token, from 0; [CLS] is 0.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the text cannot be read as it is.
    """
    states = run(text).hidden_states
    layers = bert().encoder.layers
    module = layers[layer]
    assert isinstance(module, EncoderLayer)  # noqa: S101 - nn.ModuleList forgets it; for the type checker
    return walk_through(module, states[layer], token, layer, len(layers))


@dataclass(frozen=True, eq=False)
class Journey:
    """All tokens' vectors through all layers, as lengths and directions.

    Attributes:
        came_in: each vector's length in front of each layer, [layer, token].
        attention: the length of what attention adds, [layer, token].
        feed_forward: the length of what the feed-forward network adds, [layer, token].
        similarity: the cosine of the angle to the embedding that the token began with, [layer + 1, token];
            row 0 is the embedding itself.
    """

    came_in: Floats
    attention: Floats
    feed_forward: Floats
    similarity: Floats


@torch.inference_mode()
def journey(text: str) -> Journey:
    """How far the layers of the bundled BERT move each token of a text.

    Raises:
        EmptyText, TextTooLong, UnreadableText: the text cannot be read as it is.
    """
    steps = run(text)
    states = torch.stack(steps.hidden_states)
    return Journey(
        came_in=owned(states[:-1].norm(dim=-1)),
        attention=owned(torch.stack([layer.attention.output for layer in steps.layers]).norm(dim=-1)),
        feed_forward=owned(torch.stack([layer.feed_forward.output for layer in steps.layers]).norm(dim=-1)),
        similarity=owned(torch.cosine_similarity(states, states[:1], dim=-1)),
    )


def _station(vector: Float[Tensor, " dimension"], came_in: Float[Tensor, " d_model"]) -> Station:
    comparable = vector.shape == came_in.shape
    return Station(
        values=owned(vector),
        length=float(vector.norm()),
        mean=float(vector.mean()),
        cosine=float(torch.cosine_similarity(vector, came_in, dim=0)) if comparable else None,
    )


def _norm(add_norm: AddNorm, total: Float[Tensor, " d_model"]) -> Norm:
    return Norm(
        mean=float(total.mean()),
        variance=float(total.var(correction=0)),
        epsilon=add_norm.norm.eps,
        gain=owned(add_norm.norm.weight),
        offset=owned(add_norm.norm.bias),
    )


def _largest(linear: torch.nn.Linear, vector: Float[Tensor, " came_in"]) -> Largest:
    place = (linear.weight * vector).abs().argmax(dim=-1)
    weight = linear.weight.gather(-1, place.unsqueeze(-1)).squeeze(-1)
    return Largest(place=owned(place.float()), weight=owned(weight), bias=owned(linear.bias))


def _alone(tokens: Float[Tensor, "token d_model"], token: int) -> Float[Tensor, "token d_model"]:
    """Zeros in place of every other token's vector."""
    alone = torch.zeros_like(tokens)
    alone[token] = tokens[token]
    return alone


def _distance(one: Float[Tensor, " d_model"], other: Float[Tensor, " d_model"]) -> float:
    return float((one - other).norm())
