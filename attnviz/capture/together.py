"""One forward pass over many sentences of equal length: the weights alone, each as of its sentence alone."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import PreTrainedModel

from attnviz.capture import own_attention
from attnviz.capture.checks import Place, run
from attnviz.capture.recorder import Seen, recording, watching
from attnviz.errors import ModelNotSupported
from attnviz.trace import Floats, Kind, Mask


def weights_together(
    network: PreTrainedModel, places: Sequence[Place], ids: Sequence[Sequence[int]], kind: Kind
) -> tuple[tuple[Floats, ...], tuple[Mask, ...]]:
    """The weights of the stack that reads the texts, and the masks behind them.

    Nothing is padded, and queries, keys and values are not kept. The pass ends with the last weights.

    Args:
        network: as `open_network` returns it.
        places: what `checks.checked` found in it.
        ids: [sentence, token], rows of the vocabulary.
        kind: "encoder", or "decoder" where there is no encoder.

    Returns:
        Of each layer, the weights [sentence, head, query, key] and the mask [query, key].

    Raises:
        ModelNotSupported: it did not do what it did when it was checked.
    """
    wanted = sorted((place for place in places if place.kind == kind), key=lambda place: place.layer)
    # Of an encoder–decoder only the encoder runs: the decoder has nothing to read here.
    stack = network.get_encoder() if network.config.is_encoder_decoder else network
    inputs = {"input_ids": torch.tensor(ids)}
    with torch.inference_mode():
        seen = _seen(stack, inputs, len(wanted))
    if [one.module for one in seen] != [place.module for place in wanted]:
        raise ModelNotSupported(
            f"{type(network).__name__} ran {len(seen)} attentions, but {len(wanted)} when it was loaded. "
            "What cannot be shown exactly is not shown."
        )
    return tuple(one.weights.numpy() for one in seen), tuple(map(_mask, seen))


def _seen(stack: PreTrainedModel, inputs: dict[str, Tensor], modules: int) -> list[Seen]:
    if not own_attention.has(stack.config.model_type):
        with watching(modules) as seen:
            run(stack, inputs)
        return seen
    with recording() as records:
        run(stack, inputs)
    return [Seen(one.module, one.weights, one.mask) for one in records if one.weights is not None]


def _mask(seen: Seen) -> Mask:
    """[query, key], True where the mask adds nothing: the same for all, since all are of one length."""
    shape = seen.weights.shape[-2:]
    if seen.mask is None:
        allowed = torch.ones(shape, dtype=torch.bool)
    else:
        allowed = seen.mask[0, 0].expand(shape) > torch.finfo(torch.float32).min
    mask: Mask = allowed.numpy()
    return mask
