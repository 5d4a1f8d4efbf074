"""Encoder and decoder layers, and stacks of layers (Vaswani et al. 2017, figure 1)."""

from collections.abc import Iterable
from typing import NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import relu

from attnviz.transformer.add_norm import AddNorm, AddNormSteps
from attnviz.transformer.feed_forward import Activation, FeedForward, FeedForwardSteps
from attnviz.transformer.masks import causal_mask
from attnviz.transformer.multi_head import MultiHeadAttention, MultiHeadSteps


class EncoderLayerSteps(NamedTuple):
    """The steps of the two sub-layers, each with its Add & Norm."""

    attention: MultiHeadSteps
    attention_add_norm: AddNormSteps
    feed_forward: FeedForwardSteps
    feed_forward_add_norm: AddNormSteps

    @property
    def output(self) -> Float[Tensor, "*batch token d_model"]:
        """The input of the next layer."""
        return self.feed_forward_add_norm.output


class EncoderLayer(nn.Module):
    """y = AddNorm(x, MultiHead(x, x, x)), then AddNorm(y, FFN(y)) (Vaswani et al. 2017, §3.1).

    Args:
        d_model: Size of a token's vector.
        n_heads: Number of heads.
        d_feed_forward: Size of the feed-forward network's hidden layer.
        activation: Activation of the feed-forward network.
        epsilon, dropout: as in `AddNorm`.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_feed_forward: int,
        activation: Activation = relu,
        epsilon: float = 1e-5,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.attention_add_norm = AddNorm(d_model, epsilon, dropout)
        self.feed_forward = FeedForward(d_model, d_feed_forward, activation)
        self.feed_forward_add_norm = AddNorm(d_model, epsilon, dropout)

    def forward(
        self,
        tokens: Float[Tensor, "*batch token d_model"],
        mask: Bool[Tensor, "*#batch token token"] | None = None,
    ) -> EncoderLayerSteps:
        """Run one layer; without a mask, every token attends to all tokens.

        Raises:
            InvalidMask: the mask has the wrong size, or masks all keys of a query.
        """
        attention = self.attention(tokens, tokens, mask)
        attended = self.attention_add_norm(tokens, attention.output)
        feed_forward = self.feed_forward(attended.output)
        finished = self.feed_forward_add_norm(attended.output, feed_forward.output)
        return EncoderLayerSteps(attention, attended, feed_forward, finished)


class DecoderLayerSteps(NamedTuple):
    """The steps of the three sub-layers, each with its Add & Norm."""

    attention: MultiHeadSteps
    attention_add_norm: AddNormSteps
    cross_attention: MultiHeadSteps
    cross_attention_add_norm: AddNormSteps
    feed_forward: FeedForwardSteps
    feed_forward_add_norm: AddNormSteps

    @property
    def output(self) -> Float[Tensor, "*batch target d_model"]:
        """The input of the next layer."""
        return self.feed_forward_add_norm.output


class DecoderLayer(nn.Module):
    """y = AddNorm(x, MultiHead(x, x, x)), z = AddNorm(y, MultiHead(y, s, s)), then AddNorm(z, FFN(z)).

    x are the target's vectors; s is the encoder's output for the source (Vaswani et al. 2017, §3.1).

    Args:
        d_model, n_heads, d_feed_forward, dropout: as in `EncoderLayer`.
    """

    def __init__(self, d_model: int, n_heads: int, d_feed_forward: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.attention_add_norm = AddNorm(d_model, dropout=dropout)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention_add_norm = AddNorm(d_model, dropout=dropout)
        self.feed_forward = FeedForward(d_model, d_feed_forward)
        self.feed_forward_add_norm = AddNorm(d_model, dropout=dropout)

    def forward(
        self,
        target: Float[Tensor, "*batch target d_model"],
        source: Float[Tensor, "*batch source d_model"],
        cross_mask: Bool[Tensor, "*#batch target source"] | None = None,
    ) -> DecoderLayerSteps:
        """Run one layer; its self-attention has a causal mask.

        Args:
            target: Vectors of the target's tokens.
            source: The encoder's output.
            cross_mask: Mask of the cross-attention; None masks nothing.

        Raises:
            InvalidMask: the mask has the wrong size, or masks all keys of a query.
        """
        mask = causal_mask(target.shape[-2]).to(target.device)
        attention = self.attention(target, target, mask)
        attended = self.attention_add_norm(target, attention.output)
        cross_attention = self.cross_attention(attended.output, source, cross_mask)
        crossed = self.cross_attention_add_norm(attended.output, cross_attention.output)
        feed_forward = self.feed_forward(crossed.output)
        finished = self.feed_forward_add_norm(crossed.output, feed_forward.output)
        return DecoderLayerSteps(attention, attended, cross_attention, crossed, feed_forward, finished)


class EncoderSteps(NamedTuple):
    """The steps of every layer, and the hidden states before the first layer and after every layer."""

    layers: tuple[EncoderLayerSteps, ...]
    hidden_states: tuple[Float[Tensor, "*batch token d_model"], ...]

    @property
    def output(self) -> Float[Tensor, "*batch token d_model"]:
        """The last hidden states, from which the decoder's cross-attention computes keys and values."""
        return self.hidden_states[-1]


class DecoderSteps(NamedTuple):
    """The steps of every layer, and the hidden states before the first layer and after every layer."""

    layers: tuple[DecoderLayerSteps, ...]
    hidden_states: tuple[Float[Tensor, "*batch target d_model"], ...]

    @property
    def output(self) -> Float[Tensor, "*batch target d_model"]:
        """The last hidden states, from which the logits of the next token are computed."""
        return self.hidden_states[-1]


class Encoder(nn.Module):
    """A stack of encoder layers."""

    def __init__(self, layers: Iterable[EncoderLayer]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(
        self,
        tokens: Float[Tensor, "*batch token d_model"],
        mask: Bool[Tensor, "*#batch token token"] | None = None,
    ) -> EncoderSteps:
        """Run all layers with the same mask; errors as in `EncoderLayer`."""
        steps: list[EncoderLayerSteps] = []
        for layer in self.layers:
            steps.append(layer(steps[-1].output if steps else tokens, mask))
        return EncoderSteps(tuple(steps), (tokens, *(step.output for step in steps)))


class Decoder(nn.Module):
    """A stack of decoder layers, which all attend to the same encoder output."""

    def __init__(self, layers: Iterable[DecoderLayer]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(
        self,
        target: Float[Tensor, "*batch target d_model"],
        source: Float[Tensor, "*batch source d_model"],
        cross_mask: Bool[Tensor, "*#batch target source"] | None = None,
    ) -> DecoderSteps:
        """Run all layers with the same mask; arguments and errors as in `DecoderLayer`."""
        steps: list[DecoderLayerSteps] = []
        for layer in self.layers:
            steps.append(layer(steps[-1].output if steps else target, source, cross_mask))
        return DecoderSteps(tuple(steps), (target, *(step.output for step in steps)))
