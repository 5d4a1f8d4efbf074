"""Position vectors that are added to embeddings: sinusoidal, or learned as in BERT."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnviz.errors import TextTooLong


def sinusoidal(tokens: int, d_model: int) -> Float[Tensor, "{tokens} {d_model}"]:
    """Return sinusoidal position vectors (Vaswani et al. 2017, §3.5); i is the index of a sine–cosine pair.

    PE(pos, 2i)     = sin(pos / 10000^(2i / d_model))
    PE(pos, 2i + 1) = cos(pos / 10000^(2i / d_model))
    """
    position = torch.arange(tokens, dtype=torch.float64).unsqueeze(1)
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    angle = position / 10000 ** (even / d_model)
    encoding = torch.empty(tokens, d_model)
    encoding[:, 0::2] = angle.sin()
    encoding[:, 1::2] = angle.cos()[:, : d_model // 2]
    return encoding


class LearnedPositions(nn.Module):
    """A table with one learned vector for each position, as in BERT.

    Args:
        limit: Number of positions.
        d_model: Size of a vector.
    """

    def __init__(self, limit: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(limit, d_model))
        nn.init.normal_(self.table, std=0.02)

    def forward(self, tokens: int) -> Float[Tensor, "{tokens} d_model"]:
        """Return the vectors of the first `tokens` positions.

        Raises:
            TextTooLong: there are more tokens than learned positions.
        """
        limit = len(self.table)
        if tokens > limit:
            raise TextTooLong(tokens, limit)
        return self.table[:tokens]
