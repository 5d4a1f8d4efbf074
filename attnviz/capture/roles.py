"""Which attention of a model is which: encoder, decoder or cross, and its layer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import torch
from transformers import PreTrainedModel

from attnviz.capture.recorder import Record
from attnviz.trace import Kind

# What modules are called by which a decoder looks at the encoder (BART and Marian, T5, NLLB, BERT).
_CROSS = frozenset({"encoder_attn", "EncDecAttention", "cross_attention", "crossattention", "cross_attn"})


def roles(network: PreTrainedModel, records: Sequence[Record]) -> tuple[tuple[Kind, int], ...]:
    """(kind, layer) of each record of one forward pass, in the order in which they ran.

    The kind is told by the module's name; in a model of one stack, by its masks: one that lets no token look
    forwards is a decoder. The layer is told by the order, since one module may serve several layers (ALBERT).

    Args:
        network: the model.
        records: of two tokens or more.
    """
    names = {id(module): name for name, module in network.named_modules()}
    paired = network.config.is_encoder_decoder
    alone: Kind = "decoder" if all(_looks_backwards(record) for record in records) else "encoder"
    counted: Counter[Kind] = Counter()
    found: list[tuple[Kind, int]] = []
    for record in records:
        kind = _of_a_pair(names[id(record.module)]) if paired else alone
        found.append((kind, counted[kind]))
        counted[kind] += 1
    return tuple(found)


def _of_a_pair(name: str) -> Kind:
    parts = set(name.split("."))
    if parts & _CROSS:
        return "cross"
    return "decoder" if "decoder" in parts else "encoder"


def _looks_backwards(record: Record) -> bool:
    if record.mask is None:
        return False
    shape = (record.query.shape[2], record.key.shape[2])
    forwards = torch.ones(shape, dtype=torch.bool).triu(1)
    forbidden = (record.mask < 0).expand(1, record.mask.shape[1], *shape)
    return bool(forbidden[..., forwards].all())
