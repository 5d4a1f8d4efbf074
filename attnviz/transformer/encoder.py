"""The encoder: layers in which every token looks at every token of the same text."""

from collections.abc import Iterable
from typing import NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import relu

from attnviz.transformer.add_norm import AddNorm, AddNormSteps
from attnviz.transformer.feed_forward import Activation, FeedForward, FeedForwardSteps
from attnviz.transformer.multi_head import MultiHeadAttention, MultiHeadSteps


class EncoderLayerSteps(NamedTuple):
    """The two sub-layers, each with its Add & Norm."""

    attention: MultiHeadSteps
    attention_add_norm: AddNormSteps
    feed_forward: FeedForwardSteps
    feed_forward_add_norm: AddNormSteps

    @property
    def output(self) -> Float[Tensor, "*batch token d_model"]:
        """What the next layer reads."""
        return self.feed_forward_add_norm.output


class EncoderLayer(nn.Module):
    """y = AddNorm(x, MultiHead(x, x, x)), then AddNorm(y, FFN(y)) (Vaswani et al. 2017, §3.1).

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
        self.feed_forward = FeedForward(d_model, d_feed_forward, activation)
        self.feed_forward_add_norm = AddNorm(d_model, epsilon, dropout)

    def forward(
        self,
        tokens: Float[Tensor, "*batch token d_model"],
        mask: Bool[Tensor, "*#batch token token"] | None = None,
    ) -> EncoderLayerSteps:
        """One layer; without a mask every token sees all.

        Raises:
            InvalidTrace: the mask has the wrong size, or lets a token look nowhere.
        """
        attention = self.attention(tokens, tokens, mask)
        attended = self.attention_add_norm(tokens, attention.output)
        feed_forward = self.feed_forward(attended.output)
        finished = self.feed_forward_add_norm(attended.output, feed_forward.output)
        return EncoderLayerSteps(attention, attended, feed_forward, finished)


class EncoderSteps(NamedTuple):
    """Every layer's steps, and the tokens' vectors before the first layer and after each."""

    layers: tuple[EncoderLayerSteps, ...]
    hidden_states: tuple[Float[Tensor, "*batch token d_model"], ...]

    @property
    def output(self) -> Float[Tensor, "*batch token d_model"]:
        """What the decoder reads."""
        return self.hidden_states[-1]


class Encoder(nn.Module):
    """Layers one after the other; the output of each is the input of the next."""

    def __init__(self, layers: Iterable[EncoderLayer]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(
        self,
        tokens: Float[Tensor, "*batch token d_model"],
        mask: Bool[Tensor, "*#batch token token"] | None = None,
    ) -> EncoderSteps:
        """All layers under one mask.

        Raises:
            InvalidTrace: the mask has the wrong size, or lets a token look nowhere.
        """
        steps: list[EncoderLayerSteps] = []
        hidden_states = [tokens]
        for layer in self.layers:
            steps.append(layer(hidden_states[-1], mask))
            hidden_states.append(steps[-1].output)
        return EncoderSteps(tuple(steps), tuple(hidden_states))
