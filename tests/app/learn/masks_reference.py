"""Weights and outputs behind a mask, as transformers' own BERT computes them, and nothing of attnviz."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from tests import reference_bert

Mask = NDArray[np.bool_]
Array = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Masked:
    """One forward pass.

    Attributes:
        tokens: the word pieces.
        weights: [layer, head, query, key].
        outputs: [token, d_model], of the last layer.
    """

    tokens: tuple[str, ...]
    weights: Array
    outputs: Array


def masked(text: str, mask: Mask | None = None) -> Masked:
    """The bundled BERT over `text`, with the mask as `attention_mask`, [1, 1, query, key], in every layer."""
    tokenizer, model = reference_bert.tokenizer(), reference_bert.model()
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    allowed = torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool) if mask is None else torch.tensor(mask)
    # A mask of four axes is added to the scores as it is.
    added = torch.zeros(allowed.shape).masked_fill(~allowed, torch.finfo(torch.float32).min)
    with torch.inference_mode():
        outputs = model(input_ids=ids, attention_mask=added[None, None], output_attentions=True)
    return Masked(
        tuple(tokenizer.convert_ids_to_tokens(ids[0].tolist())),
        np.stack([weights[0].numpy() for weights in outputs.attentions]),
        outputs.last_hidden_state[0].numpy(),
    )
