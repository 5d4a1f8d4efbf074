"""Masks: which keys a query may attend to. True in row i, column j: query i may attend to key j."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool
from torch import Tensor

from attnviz.errors import InvalidMask


def no_mask(queries: int, keys: int) -> Bool[Tensor, "{queries} {keys}"]:
    """Every query attends to every key, as in BERT and the paper's encoder."""
    return torch.ones(queries, keys, dtype=torch.bool)


def causal_mask(tokens: int) -> Bool[Tensor, "{tokens} {tokens}"]:
    """Query i attends to keys 0 to i, as in GPT and the paper's decoder."""
    return torch.ones(tokens, tokens, dtype=torch.bool).tril()


def padding_mask(real: Bool[Tensor, "*batch key"], queries: int) -> Bool[Tensor, "*batch {queries} key"]:
    """No query attends to padding: `real` is False where a key fills up a shorter sentence.

    Raises:
        InvalidMask: every key of a sentence is padding.
    """
    mask = real.unsqueeze(-2).expand(*real.shape[:-1], queries, real.shape[-1])
    refuse_blind_rows(mask)
    return mask


def prefix_mask(tokens: int, prefix: int) -> Bool[Tensor, "{tokens} {tokens}"]:
    """Every query attends to the first `prefix` tokens and to earlier ones (Raffel et al. 2020)."""
    seen_by_all = torch.arange(tokens) < prefix
    return causal_mask(tokens) | seen_by_all


def window_mask(tokens: int, before: int, after: int) -> Bool[Tensor, "{tokens} {tokens}"]:
    """Query i attends to keys i − before to i + after (Beltagy et al. 2020).

    Raises:
        InvalidMask: the window lies wholly beside the sentence for some query.
    """
    position = torch.arange(tokens)
    distance = position.unsqueeze(0) - position.unsqueeze(1)
    mask = (distance >= -before) & (distance <= after)
    refuse_blind_rows(mask)
    return mask


def explicit_mask(cells: Sequence[Sequence[bool]] | Tensor) -> Bool[Tensor, "query key"]:
    """Any matrix of True and False, such as one drawn cell by cell.

    Args:
        cells: [query][key]; lists or a boolean tensor.

    Raises:
        InvalidMask: not a rectangle of booleans, or a row with every key masked.
    """
    try:
        mask = cells.clone() if isinstance(cells, Tensor) else torch.tensor(cells)
    except (TypeError, ValueError) as error:
        raise InvalidMask("The mask's rows must be equally long and hold only True and False.") from error
    if mask.dtype != torch.bool or mask.ndim != 2:
        raise InvalidMask("The mask must be one matrix, [query, key], that holds only True and False.")
    refuse_blind_rows(mask)
    return mask


def refuse_blind_rows(mask: Bool[Tensor, "*batch query key"]) -> None:
    """A softmax over nothing has no value, so every query needs a key that is not masked.

    Raises:
        InvalidMask: names the first query with every key masked, counted from 1.
    """
    blind = (~mask.any(dim=-1)).nonzero()
    if len(blind):
        raise InvalidMask(
            f"The mask lets token {int(blind[0, -1]) + 1} look nowhere: a softmax over nothing has no value. "
            "Leave at least one cell open in every row."
        )
