"""One forward pass of a transformers model: traced, with changed attention, or over many texts at once.

`network` is as `open_network` returns it, after `prepare`; `layers` are as `inspected` returns them.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from attnviz.capture import custom_attention
from attnviz.capture.arrays import as_numpy, owned
from attnviz.capture.inspection import AttentionLayer, compare, refuse_other_modules, run
from attnviz.capture.model import Outcomes
from attnviz.capture.recorder import Record, recording
from attnviz.errors import ModelNotSupported
from attnviz.interventions.changes import changing, edits_of
from attnviz.interventions.edit import Edit, Edits, by_place
from attnviz.interventions.editing import edit_weights, replace_outputs
from attnviz.trace import Block, Floats, Kind, Mask, Token
from attnviz.transformer.multi_head import join_heads, split_heads

Side = TypeVar("Side")

# A context variable, because one model serves many threads: each call gets its own vectors.
_last_states: ContextVar[dict[str, Tensor] | None] = ContextVar("attnviz_last_states", default=None)


def prepare(network: PreTrainedModel, layers: Sequence[AttentionLayer]) -> None:
    """Prepare later passes to return the last vectors, and heads of custom attention to be ablated.

    In a model with its own attention code, the weights cannot be changed between the softmax
    and the values. But a head is silent too if its slice of what W_O is given is 0: W_O then adds nothing
    for it. Other outputs are put there in the same way.

    Only for a model that is not shared yet.
    """
    base: Any = network.base_model
    stacks = {"states": getattr(base, "decoder", base)}  # OPT's model with its head runs the decoder alone
    if network.config.is_encoder_decoder:
        stacks = {"source": base.get_encoder(), "states": base.get_decoder()}
    for name, stack in stacks.items():
        stack.register_forward_hook(partial(_record_states, name))
    if custom_attention.has(network.config.model_type):
        for layer in layers:
            if layer.mixer is not None:
                layer.mixer.register_forward_pre_hook(partial(_change_outputs, heads=layer.heads))


def blocks(
    network: PreTrainedModel,
    layers: Sequence[AttentionLayer],
    inputs: Mapping[str, Tensor],
    source: tuple[Token, ...],
    target: tuple[Token, ...] = (),
    edits: Edits = (),
) -> tuple[Block, ...]:
    """Runs the model once and returns its attention, in the order in which it ran.

    Args:
        source: what its encoder reads, or its only stack.
        target: what its decoder reads, if it has both.
        edits: what is changed in its attention; the blocks' weights are those that it went on with.

    Raises:
        InvalidEdit: the model has no such layer or head, or an edit looks where a mask forbids it.
        ModelNotSupported: it did not do what it did when it was inspected, or it computes attention in a way
            of its own and what was recorded does not give its weights.
    """
    with recording() as records, intervening(network, layers, [edits]), torch.inference_mode():
        run(network, inputs)
    refuse_other_modules(network, [record.module for record in records], layers)
    [found] = _blocks(network, layers, records, [source], [target or source], edits)
    return found


def batch_blocks(
    network: PreTrainedModel,
    layers: Sequence[AttentionLayer],
    sentences: Sequence[tuple[Token, ...]],
    type_ids: Sequence[Sequence[int]] | None = None,
) -> list[tuple[Block, ...]]:
    """Runs a model of one stack once over many texts, padded to equal length, and returns the blocks of each.

    What was padded is cut away. Where texts differ in length, sums of float32 may round otherwise than those
    of each text alone.

    Args:
        type_ids: of pairs, which sentence each token belongs to; None: not passed to the model.

    Raises:
        ModelNotSupported: as in `blocks`.
    """
    longest = max(map(len, sentences))
    inputs = {
        "input_ids": ([[token.id for token in each] for each in sentences], network.config.pad_token_id)
    }
    if min(map(len, sentences)) < longest:
        inputs["attention_mask"] = ([[1] * len(each) for each in sentences], 0)
    if type_ids is not None:
        inputs["token_type_ids"] = ([[*each] for each in type_ids], 0)
    padded = {
        name: torch.tensor(
            [each + [padding or 0] * (longest - len(each)) for each in rows], device=network.device
        )
        for name, (rows, padding) in inputs.items()
    }
    with recording() as records, torch.inference_mode():
        run(network, padded)
    refuse_other_modules(network, [record.module for record in records], layers)
    return _blocks(network, layers, records, sentences, sentences)


def sides(source: Side, target: Side) -> dict[Kind, tuple[Side, Side]]:
    """The query tokens and key tokens of each kind of attention; without an encoder, the two are the same."""
    return {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}


def _blocks(
    network: PreTrainedModel,
    layers: Sequence[AttentionLayer],
    records: list[Record],
    sources: Sequence[tuple[Token, ...]],
    targets: Sequence[tuple[Token, ...]],
    edits: Edits = (),
) -> list[tuple[Block, ...]]:
    """What was recorded of each text of a batch, layer by layer; what was padded is cut away."""
    looks = sides(sources, targets)
    custom = custom_attention.has(network.config.model_type)
    # Layers that share a mask in the model share it in the trace.
    masks: dict[tuple[object, ...], list[Mask]] = {}
    found: list[list[Block]] = [[] for _ in sources]
    for layer in layers:
        record = records.pop(0)  # so that what was copied does not stay in memory
        weights = record.weights
        if custom:
            compare(record, weights, f"{type(network).__name__}, {layer.kind} layer {layer.layer + 1}")
            its_edits = [edit for edit in edits if (edit.kind, edit.layer) == (layer.kind, layer.layer)]
            weights = edit_weights(weights, [its_edits])  # only its output was changed while it ran
        longest = tuple(max(map(len, side)) for side in looks[layer.kind])
        if weights.shape[-2:] != longest:  # more than padding would be cut away
            raise ModelNotSupported(
                f"{type(network).__name__} computed {weights.shape[-2]} × {weights.shape[-1]} weights for "
                f"{longest[0]} × {longest[1]} tokens. What cannot be shown exactly is not shown."
            )
        texts = list(zip(*looks[layer.kind], strict=True))
        key = (None if record.mask is None else record.mask.data_ptr(), weights.shape[-2:])
        if key not in masks:
            allowed = _allowed(record.module, record.mask, weights.shape)
            masks[key] = [
                owned(mask[: len(q), : len(k)]) for mask, (q, k) in zip(allowed, texts, strict=True)
            ]
        of_query, of_key, of_value, of_weights = map(
            as_numpy, (record.query, record.key, record.value, weights)
        )
        bias = None if record.bias is None else as_numpy(record.bias.expand(weights.shape))
        sinks = None if record.sinks is None else owned(record.sinks.detach())
        for row, (queries, keys) in enumerate(texts):
            n, m = len(queries), len(keys)
            found[row].append(
                Block(
                    kind=layer.kind,
                    layer=layer.layer,
                    query_tokens=queries,
                    key_tokens=keys,
                    query=of_query[row, :, :n],
                    key=of_key[row, :, :m],
                    value=of_value[row, :, :m],
                    weights=of_weights[row, :, :n, :m],
                    mask=masks[key][row],
                    scale=record.scale,
                    cap=record.cap,
                    sinks=sinks,
                    bias=None if bias is None else bias[row, :, :n, :m],
                    projection=layer.projection,
                )
            )
    return list(map(tuple, found))


def outcomes(
    network: PreTrainedModel,
    layers: Sequence[AttentionLayer],
    inputs: Mapping[str, Tensor],
    variants: Sequence[Edits],
    position: int | None = None,
) -> Outcomes:
    """One forward pass over as many copies of a text as there are variants.

    Args:
        inputs: what it is called with, each [1, token].
        position: the token, from 0, at which the model's head is asked what it expects; None: it is not.

    Raises:
        InvalidEdit, ModelNotSupported: as in `intervening`.
    """
    batch: dict[str, Any] = {name: ids.expand(len(variants), *ids.shape[1:]) for name, ids in inputs.items()}
    if "use_cache" in inspect.signature(network.forward).parameters:
        batch["use_cache"] = False  # nothing is generated
    last: dict[str, Tensor] = {}
    before = _last_states.set(last)
    try:
        with intervening(network, layers, variants), torch.inference_mode():
            returned: Any = run(network, batch)
    finally:
        _last_states.reset(before)
    probabilities = None
    if position is not None:
        probabilities = owned(returned.logits[:, position].float().softmax(-1))
    source = last.get("source")
    return Outcomes(owned(last["states"]), None if source is None else owned(source), probabilities)


def batch_weights(
    network: PreTrainedModel, layers: Sequence[AttentionLayer], ids: Sequence[Sequence[int]], kind: Kind
) -> tuple[tuple[Floats, ...], tuple[Mask, ...]]:
    """The weights over many texts of equal length, each as of the text alone.

    Nothing is padded, and queries, keys and values are not kept. The pass ends with the last weights.

    Args:
        ids: [sentence, token], rows of the vocabulary.
        kind: "encoder", or "decoder" where there is no encoder.

    Returns:
        Of each layer, the weights [sentence, head, query, key] and the mask [query, key].

    Raises:
        ModelNotSupported: it did not do what it did when it was inspected.
    """
    wanted = sorted((layer for layer in layers if layer.kind == kind), key=lambda layer: layer.layer)
    # Of an encoder–decoder only the encoder runs: the decoder has nothing to read here.
    stack = network.get_encoder() if network.config.is_encoder_decoder else network
    inputs = {"input_ids": torch.tensor(ids, device=network.device)}
    with torch.inference_mode(), recording(weights_of=len(wanted)) as records:
        run(stack, inputs)
    refuse_other_modules(network, [record.module for record in records], wanted)
    masks = (owned(_allowed(record.module, record.mask, record.weights.shape)[0]) for record in records)
    return tuple(as_numpy(record.weights) for record in records), tuple(masks)


@contextmanager
def intervening(
    network: PreTrainedModel, layers: Sequence[AttentionLayer], edits: Sequence[Edits]
) -> Iterator[None]:
    """Changes the one forward pass that runs inside, in this thread alone; without edits it does nothing.

    Args:
        edits: for each row of the batch that it reads.

    Raises:
        InvalidEdit: the model has no such layer or head, or an edit looks where a mask forbids it.
        ModelNotSupported: the model computes attention in a way of its own, and an edit does more than
            ablate; or it did not do what it did when it was inspected.
    """
    if not any(edits):
        yield
        return
    by = by_place(edits, {(layer.kind, layer.layer): layer.heads for layer in layers})
    by_layer: list[Sequence[Edits]] = [by.get((layer.kind, layer.layer), ()) for layer in layers]
    expected: list[nn.Module | None] = [layer.module for layer in layers]
    if custom_attention.has(network.config.model_type):
        _refuse_all_but_ablation(network, layers, edits)
        expected = [layer.mixer for layer in layers]
    with changing(expected, by_layer):
        yield


def _record_states(name: str, _stack: nn.Module, _inputs: tuple[Any, ...], returned: Any) -> None:
    last = _last_states.get()
    if last is not None:
        last[name] = returned.last_hidden_state


def _change_outputs(mixer: nn.Module, inputs: tuple[Any, ...], *, heads: int) -> tuple[Any, ...]:
    edits = edits_of(mixer)
    if not edits:
        return inputs
    outputs, *others = inputs
    by_head = split_heads(outputs, heads).clone()  # of [batch, token, head · d_head]
    for row, of_row in enumerate(edits):
        for edit in of_row:
            if isinstance(edit, Edit):
                by_head[row, edit.head, slice(None) if edit.query is None else edit.query] = 0
    return (join_heads(replace_outputs(by_head, edits)), *others)


def _refuse_all_but_ablation(
    network: PreTrainedModel, layers: Sequence[AttentionLayer], edits: Sequence[Edits]
) -> None:
    for edit in (edit for of_row in edits for edit in of_row):
        if isinstance(edit, Edit) and edit.target is not None:
            raise ModelNotSupported(
                f"{type(network).__name__} computes attention in a way of its own: its heads and rows can be "
                f"ablated, but not pointed elsewhere, as “{edit}” says."
            )
    if any(layer.mixer is None for layer in layers):
        raise ModelNotSupported(
            f"{type(network).__name__} computes attention in a way of its own, and its W_O was not found. "
            "Its heads cannot be ablated exactly, so they are not ablated."
        )


def _allowed(module: nn.Module, mask: Tensor | None, shape: tuple[int, ...]) -> Tensor:
    """[batch, query, key], True where the mask adds nothing; it must be the same for all heads.

    Args:
        shape: of the weights, [batch, head, query, key].
    """
    batch, _, queries, keys = shape
    if mask is None:
        return torch.ones(batch, queries, keys, dtype=torch.bool)
    forbids = mask <= torch.finfo(mask.dtype).min
    if mask.shape[1] != 1 or not bool((forbids | (mask == 0)).all()):
        raise ModelNotSupported(
            f"{type(module).__name__} adds more than a mask to its scores. "
            "Its weights would be wrong, so they are not shown."
        )
    return ~forbids[:, 0].expand(batch, queries, keys)
