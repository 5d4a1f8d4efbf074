"""The decoder: each token looks back at its own text and across at the one that the encoder read."""

from collections.abc import Iterable
from typing import NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import relu

from attnviz.transformer.add_norm import AddNorm, AddNormSteps
from attnviz.transformer.feed_forward import Activation, FeedForward, FeedForwardSteps
from attnviz.transformer.masks import causal_mask
from attnviz.transformer.multi_head import MultiHeadAttention, MultiHeadSteps


class DecoderLayerSteps(NamedTuple):
    """The three sub-layers, each with its Add & Norm."""

    attention: MultiHeadSteps
    attention_add_norm: AddNormSteps
    cross_attention: MultiHeadSteps
    cross_attention_add_norm: AddNormSteps
    feed_forward: FeedForwardSteps
    feed_forward_add_norm: AddNormSteps

    @property
    def output(self) -> Float[Tensor, "*batch target d_model"]:
        """What the next layer reads."""
        return self.feed_forward_add_norm.output


class DecoderLayer(nn.Module):
    """y = AddNorm(x, MultiHead(x, x, x)), z = AddNorm(y, MultiHead(y, s, s)), then AddNorm(z, FFN(z)).

    x are the target's tokens; s is the encoder's output for the source (Vaswani et al. 2017, §3.1).

    Args:
        d_model: the size of a token's vector.
        n_heads: how many heads share it.
        d_feed_forward: the size inside the feed-forward network.
        activation: inside the feed-forward network.
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
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention_add_norm = AddNorm(d_model, epsilon, dropout)
        self.feed_forward = FeedForward(d_model, d_feed_forward, activation)
        self.feed_forward_add_norm = AddNorm(d_model, epsilon, dropout)

    def forward(
        self,
        target: Float[Tensor, "*batch target d_model"],
        source: Float[Tensor, "*batch source d_model"],
        mask: Bool[Tensor, "*#batch target target"] | None = None,
        cross_mask: Bool[Tensor, "*#batch target source"] | None = None,
    ) -> DecoderLayerSteps:
        """One layer.

        Args:
            target: the decoder's own tokens.
            source: the encoder's output.
            mask: where the target may look in itself; None: never ahead.
            cross_mask: where the target may look in the source; None: everywhere.

        Raises:
            InvalidTrace: a mask has the wrong size, or lets a token look nowhere.
        """
        if mask is None:
            mask = causal_mask(target.shape[-2]).to(target.device)
        attention = self.attention(target, target, mask)
        attended = self.attention_add_norm(target, attention.output)
        cross_attention = self.cross_attention(attended.output, source, cross_mask)
        crossed = self.cross_attention_add_norm(attended.output, cross_attention.output)
        feed_forward = self.feed_forward(crossed.output)
        finished = self.feed_forward_add_norm(crossed.output, feed_forward.output)
        return DecoderLayerSteps(attention, attended, cross_attention, crossed, feed_forward, finished)


class DecoderSteps(NamedTuple):
    """Every layer's steps, and the target tokens' vectors before the first layer and after each."""

    layers: tuple[DecoderLayerSteps, ...]
    hidden_states: tuple[Float[Tensor, "*batch target d_model"], ...]

    @property
    def output(self) -> Float[Tensor, "*batch target d_model"]:
        """What the next word is chosen from."""
        return self.hidden_states[-1]


class Decoder(nn.Module):
    """Layers one after the other; each looks across at the same encoder output."""

    def __init__(self, layers: Iterable[DecoderLayer]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(
        self,
        target: Float[Tensor, "*batch target d_model"],
        source: Float[Tensor, "*batch source d_model"],
        mask: Bool[Tensor, "*#batch target target"] | None = None,
        cross_mask: Bool[Tensor, "*#batch target source"] | None = None,
    ) -> DecoderSteps:
        """All layers under the same masks; arguments and errors as in `DecoderLayer`."""
        steps: list[DecoderLayerSteps] = []
        hidden_states = [target]
        for layer in self.layers:
            steps.append(layer(hidden_states[-1], source, mask, cross_mask))
            hidden_states.append(steps[-1].output)
        return DecoderSteps(tuple(steps), tuple(hidden_states))
