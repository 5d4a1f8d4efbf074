"""A transformers model as a source of traces, its attention equal to transformers' own to the bit."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor
from transformers import AutoModel, PreTrainedConfig, PreTrainedModel
from transformers.utils import logging

from attnviz.capture.arrays import owned
from attnviz.capture.recorder import IMPLEMENTATION, Record, attend, recording
from attnviz.capture.text import Reader
from attnviz.errors import ModelNotSupported
from attnviz.trace import Block, Floats, Mask, Token, Trace

# Where the models keep W_O, by transformers' `model_type`.
_OUTPUT_PROJECTION = {"bert": "encoder.layer.{layer}.attention.output.dense.weight"}


class HuggingFaceModel:
    """A loaded model; safe to share among threads."""

    def __init__(self, name: str, folder: Path, reader: Reader) -> None:
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # a bar for a load of half a second, in the middle of a server's log
        self.name = name
        self._reader = reader
        self._network = AutoModel.from_pretrained(
            folder,
            attn_implementation=IMPLEMENTATION,
            dtype=torch.float32,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
        ).eval()
        self._projections = projections(self._network)

    def tokens(self, text: str) -> tuple[Token, ...]:
        """The text's tokens; see `Reader.tokens` for the errors."""
        return self._reader.tokens(text)

    def trace(self, text: str) -> Trace:
        """One forward pass over the text.

        Raises:
            EmptyText, TextTooLong, UnreadableText: the text cannot be read as it is.
            ModelNotSupported: the model's attention cannot be shown exactly.
        """
        tokens = self.tokens(text)
        return Trace(model=self.name, text=text, blocks=blocks(self._network, tokens, self._projections))


def blocks(
    network: PreTrainedModel, tokens: tuple[Token, ...], projections: tuple[Floats | None, ...]
) -> tuple[Block, ...]:
    """Runs the model over the tokens once and returns its attention, layer by layer.

    Args:
        network: loaded with `attn_implementation=IMPLEMENTATION`, with one self-attention a layer.
        tokens: what it reads.
        projections: each layer's [head, d_head, d_model], or None.

    Raises:
        ModelNotSupported: some of its attention passed the recorder by, or is not of the common kind.
    """
    with recording() as records, torch.inference_mode():
        network(input_ids=torch.tensor([[token.id for token in tokens]]))
    layers = network.config.num_hidden_layers
    if len(records) != layers:
        raise ModelNotSupported(
            f"{type(network).__name__} has {layers} layers, but {len(records)} could be recorded: it "
            "computes attention in a way of its own. What cannot be shown exactly is not shown."
        )
    masks: dict[int, Mask] = {}
    for record in records:
        if id(record.mask) not in masks:
            masks[id(record.mask)] = _allowed(record, len(tokens))
    return tuple(
        Block(
            kind="decoder" if getattr(record.module, "is_causal", False) else "encoder",
            layer=layer,
            query_tokens=tokens,
            key_tokens=tokens,
            query=owned(record.query[0]),
            key=owned(record.key[0]),
            value=owned(record.value[0]),
            mask=masks[id(record.mask)],
            scale=record.scale,
            projection=projection,
            attend=attend_like_eager,
        )
        for layer, (record, projection) in enumerate(zip(records, projections, strict=True))
    )


def projections(network: PreTrainedModel) -> tuple[Floats | None, ...]:
    """Each layer's W_O cut into its heads' slices, [head, d_head, d_model]; None where it is not known.

    They are made once per model: its traces share them.
    """
    config: PreTrainedConfig = network.config
    path, layers = _OUTPUT_PROJECTION.get(config.model_type), int(config.num_hidden_layers)
    if path is None:
        return (None,) * layers
    found: list[Floats] = []
    for layer in range(layers):
        weight = network.get_parameter(path.format(layer=layer)).detach()  # [d_model, head · d_head]
        heads = weight.T.reshape(config.num_attention_heads, -1, weight.shape[0])
        found.append(owned(heads))
    return tuple(found)


def attend_like_eager(
    query: Floats, key: Floats, mask: Mask, scale: float, bias: Floats | None = None
) -> tuple[Floats, Floats]:
    """(scores, weights) of one block by the function that the model itself used; see `recorder.attend`."""
    added = None
    if not mask.all():
        forbidden = torch.tensor(~mask)
        added = torch.zeros(forbidden.shape).masked_fill(forbidden, torch.finfo(torch.float32).min)
    scores, weights = attend(
        _as_in_the_model(query),
        _as_in_the_model(key),
        added,
        scale,
        None if bias is None else torch.tensor(bias)[None],
    )
    return scores[0].numpy(), weights[0].numpy()


def _as_in_the_model(array: Floats) -> Tensor:
    """[1, head, token, d_head], laid out in memory as the model's layers leave it: token before head.

    A matrix product of the same numbers in another layout may be summed in another order, to other bits.
    """
    return torch.tensor(array.transpose(1, 0, 2)).transpose(0, 1)[None]


def _allowed(record: Record, tokens: int) -> Mask:
    """[query, key], True where the mask adds 0."""
    if record.mask is None:
        return owned(torch.ones(tokens, tokens, dtype=torch.bool))
    added = record.mask
    forbids = added == torch.finfo(torch.float32).min
    if added.shape[:2] != (1, 1) or not bool((forbids | (added == 0)).all()):
        raise ModelNotSupported(
            f"{type(record.module).__name__} adds more than a mask to its scores. "
            "Its weights would be wrong, so they are not shown."
        )
    return owned(~forbids[0, 0])
