"""Forward passes of a transformers model: traced, with changed attention, or in batches.

`network` is the result of `open_network` after `prepare`; `layers` is the result of `inspect_layers`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from attnviz.capture import custom_attention
from attnviz.capture.arrays import OutputProjection, as_numpy, one_per_head, owned
from attnviz.capture.inspection import MAX_ROUNDING, AttentionLayer, compare, refuse_other_modules, run
from attnviz.capture.model import Outcomes
from attnviz.capture.recorder import Record, attend, recording
from attnviz.capture.selection import EVERYTHING, Selection
from attnviz.capture.vectors import ComputedArray, VectorWeights
from attnviz.errors import ModelNotSupported
from attnviz.interventions.changes import applying, edits_of
from attnviz.interventions.edit import Edit, Edits, by_place
from attnviz.interventions.editing import edit_weights, replace_outputs
from attnviz.trace import Block, Kind, Token
from attnviz.transformer.multi_head import join_heads, split_heads

Side = TypeVar("Side")

# A context variable, because one model serves many threads: each call has its own vectors.
_last_states: ContextVar[dict[str, Tensor] | None] = ContextVar("attnviz_last_states", default=None)


def prepare(network: PreTrainedModel, layers: Sequence[AttentionLayer]) -> None:
    """Install hooks that record the last hidden states and ablate heads of custom attention.

    In a model with custom attention code, the weights cannot be changed between the softmax and the values.
    Instead, a head is ablated by setting its slice of the input of W_O to 0, so that it contributes nothing.
    Replacement outputs are also written there.

    The network must not be shared between threads yet.
    """
    base: Any = network.base_model
    stacks = {"states": getattr(base, "decoder", base)}  # OPT with its LM head runs only the decoder
    if network.config.is_encoder_decoder:
        stacks = {"source": base.get_encoder(), "states": base.get_decoder()}
    for name, stack in stacks.items():
        stack.register_forward_hook(partial(_record_states, name))
    if custom_attention.has(network.config.model_type):
        for layer in layers:
            if layer.output_layer is not None:
                layer.output_layer.register_forward_pre_hook(partial(_change_outputs, heads=layer.heads))


def blocks(
    network: PreTrainedModel,
    layers: Sequence[AttentionLayer],
    inputs: Mapping[str, Tensor],
    source: tuple[Token, ...],
    target: tuple[Token, ...] = (),
    edits: Edits = (),
    selection: Selection = EVERYTHING,
    *,
    vectors: bool = False,
) -> tuple[Block, ...]:
    """Run the model once and return its attention blocks in execution order.

    Args:
        source: the tokens of the encoder, or of the only stack.
        target: the tokens of the decoder in an encoder–decoder.
        edits: changes to the attention; the blocks have the edited weights. Without edits, the pass stops
            after the last selected attention layer.
        selection: the layers, heads and queries to keep.
        vectors: keep queries and keys instead of weights; only without edits.

    Raises:
        InvalidEdit: the model has no such layer or head, or an edit moves weight to a masked key.
        ModelNotSupported: the forward pass differs from the inspected one, or the recorded queries and keys
            of custom attention code do not reproduce its weights.
    """
    trim, end = _trimming(network, layers, selection, vectors=vectors)
    end = len(layers) if edits else end
    inputs = _without_cache(network, inputs) if vectors else inputs  # a cache would store unselected layers
    records = _recorded(network, layers, inputs, end, trim, vectors=vectors, edits=edits)
    if vectors:
        tokens_of = sides(source, target or source)
        kept = zip(layers, records, strict=False)
        return tuple(
            _vectors_block(layer, record, *tokens_of[layer.kind], selection)
            for layer, record in kept
            if selection.keeps(layer.layer)
        )
    [found] = _blocks(network, layers[:end], records, [source], [target or source], edits, selection)
    return found


def _recorded(
    network: PreTrainedModel,
    layers: Sequence[AttentionLayer],
    inputs: Mapping[str, Tensor],
    end: int,
    trim: Callable[[int, Record], Record],
    *,
    vectors: bool = False,
    edits: Edits = (),
) -> list[Record]:
    """Return the records of the first `end` attention modules of one forward pass.

    Args:
        end: the number of attention modules after which a pass without edits stops.
        trim, vectors: as for `recording`.
        edits: as for `blocks`; a pass with edits runs to its end.

    Raises:
        InvalidEdit, ModelNotSupported: as for `blocks`.
    """
    with (
        recording(None if edits else end, trim, vectors=vectors) as records,
        intervening(network, layers, [edits]),
        torch.inference_mode(),
    ):
        run(network, inputs)
    refuse_other_modules(network, [record.module for record in records], layers[:end])
    return records


def recorded_blocks(
    network: PreTrainedModel,
    layers: Sequence[AttentionLayer],
    records: Sequence[Record],
    tokens: tuple[Token, ...],
    selection: Selection,
    *,
    vectors: bool = False,
    source: tuple[Token, ...] = (),
) -> tuple[Block, ...]:
    """Return the blocks of a decoder or a vision encoder from the records of a larger forward pass.

    Args:
        layers: the layers to keep.
        records: one per layer.
        tokens: the decoder's input.
        source: the keys of cross-attention, and the tokens of a vision encoder.
        selection, vectors: as for `blocks`.
    """
    if vectors:
        pairs = zip(layers, records, strict=True)
        return tuple(_vectors_block(layer, record, tokens, tokens, selection) for layer, record in pairs)
    [found] = _blocks(network, layers, [*records], [source or tokens], [tokens], selection=selection)
    return found


def _without_cache(network: PreTrainedModel, inputs: Mapping[str, Tensor]) -> dict[str, Any]:
    """Return the arguments of a forward pass without a cache of keys and values."""
    accepted = "use_cache" in inspect.signature(network.forward).parameters
    return {**inputs, **({"use_cache": False} if accepted else {})}


def _trimming(
    network: PreTrainedModel, layers: Sequence[AttentionLayer], selection: Selection, *, vectors: bool = False
) -> tuple[Callable[[int, Record], Record], int]:
    """Return the function that trims records, and the number of layers up to the last selected one."""
    wanted = [selection.keeps(layer.layer) for layer in layers]
    # Weights of custom attention are trimmed later: they are first compared with transformers' and edited.
    trim_later = custom_attention.has(network.config.model_type) and not vectors

    def trim(number: int, record: Record) -> Record:
        if number >= len(wanted):
            return record
        if not wanted[number]:
            return record.without_tensors()
        if trim_later:
            return record
        chosen = record.of(selection.heads, selection.queries)
        return chosen.compact() if vectors else chosen

    return trim, max((number for number, keeps in enumerate(wanted, 1) if keeps), default=0)


def _vectors_block(
    layer: AttentionLayer,
    record: Record,
    queries: tuple[Token, ...],
    keys: tuple[Token, ...],
    selection: Selection,
) -> Block:
    """Return the block of a layer with recorded vectors; its weights are computed on access."""
    places = range(len(queries)) if selection.queries is None else selection.queries
    weights = _vector_weights(record, places, selection.max_weight_bytes)
    heads, limit = len(weights.query), selection.max_weight_bytes
    if (shape := weights.shape) != (heads, len(places), len(keys)):
        raise _shape_error(layer.module, *shape[1:], len(places), len(keys))
    mask: Tensor | ComputedArray = torch.ones(1, 1, dtype=torch.bool).expand(len(places), len(keys))
    if (rule := record.mask) is not None:
        mask = ComputedArray(shape[1:], lambda: rule.rows(places), 1, limit)
    bias = None
    if (added := record.bias) is not None:
        on_device = torch.tensor(places, device=weights.query.device)
        bias = ComputedArray(shape, lambda: added.rows(on_device), 4, limit)
    return Block(
        kind=layer.kind,
        layer=layer.layer,
        query_tokens=selection.tokens(queries),
        key_tokens=keys,
        query=weights.query,
        key=one_per_head(weights.key, heads),
        value=one_per_head(record.value[0], heads),
        weights=weights,
        mask=mask,
        scale=record.scale,
        bias=bias,
        projection=_projection(layer, selection),
        cap=record.cap,
        sinks=weights.sinks,
        heads=selection.heads,
        queries=selection.queries,
    )


def _vector_weights(record: Record, places: Sequence[int], limit: int) -> VectorWeights:
    if record.weights.numel() or isinstance(record.mask, Tensor) or isinstance(record.bias, Tensor):
        raise ModelNotSupported(f"{type(record.module).__name__} has masks or biases without a rule.")
    sinks = None if record.sinks is None else record.sinks.clone()
    steps = (record.mask, record.bias, record.scale, record.cap, sinks)
    return VectorWeights(record.query[0], record.key[0], places, *steps, limit, attend)


def check_vectors(
    network: PreTrainedModel, layers: Sequence[AttentionLayer], inputs: Mapping[str, Tensor]
) -> None:
    """Raise unless weights computed from queries, keys and rules equal the model's weights up to rounding.

    Args:
        inputs: a short sample input.

    Raises:
        ModelNotSupported: the weights differ, or the model's masks and biases have no rules.
    """
    try:
        difference = _difference(network, layers, inputs)
    except ModelNotSupported as error:
        raise ModelNotSupported(f"{error} {_NO_RULES}") from error
    if not difference <= MAX_ROUNDING[network.dtype]:
        raise ModelNotSupported(
            f"The weights that attnviz computes for {type(network).__name__} differ from the model’s by up "
            f"to {difference:.1g}. {_NO_RULES}"
        )


_NO_RULES = (
    "The model cannot be traced without storing its weights: attnviz cannot compute them from queries and "
    'keys. Use store="weights"; select layers=, heads= and queries= to save memory.'
)


def _difference(
    network: PreTrainedModel, layers: Sequence[AttentionLayer], inputs: Mapping[str, Tensor]
) -> float:
    """Return the largest difference between weights computed from vectors and the model's weights."""
    found = []
    for vectors in (False, True):
        with recording(len(layers), vectors=vectors) as records, torch.inference_mode():
            run(network, inputs)
        refuse_other_modules(network, [record.module for record in records], layers)
        found.append(records)
    difference = [0.0]
    for own, record in zip(*found, strict=True):
        weights = as_numpy(own.weights[0])
        computed = _vector_weights(record, range(weights.shape[1]), weights.nbytes).numpy()
        difference.append(float(abs(weights - computed).max()))
    return max(difference)


def _projection(layer: AttentionLayer, selection: Selection) -> OutputProjection | None:
    projection = layer.projection
    return projection if projection is None or selection.heads is None else projection[[*selection.heads]]


def _shape_error(module: nn.Module, *sizes: int) -> ModelNotSupported:
    rows, columns, queries, keys = sizes
    return ModelNotSupported(
        f"{type(module).__name__} computed {rows} × {columns} weights for {queries} × {keys} tokens. "
        "attnviz cannot assign the weights to tokens."
    )


def batch_blocks(
    network: PreTrainedModel,
    layers: Sequence[AttentionLayer],
    sentences: Sequence[tuple[Token, ...]],
    type_ids: Sequence[Sequence[int]] | None = None,
    selection: Selection = EVERYTHING,
) -> list[tuple[Block, ...]]:
    """Run a one-stack model once over several texts, padded to equal length, and return each text's blocks.

    Padding is removed afterwards. If the texts differ in length, sums may be rounded differently than for a
    single text.

    Args:
        type_ids: the segment of each token, for pairs; None: not passed to the model.
        selection: the layers, heads and queries to keep of each text.

    Raises:
        ModelNotSupported: as for `blocks`.
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
    trim, end = _trimming(network, layers, selection)
    records = _recorded(network, layers, padded, end, trim)
    return _blocks(network, layers[:end], records, sentences, sentences, selection=selection)


def sides(source: Side, target: Side) -> dict[Kind, tuple[Side, Side]]:
    """Return the query and key tokens of each kind of attention; in a single stack, they are the same."""
    every: dict[Kind, tuple[Side, Side]] = {"encoder": (source, source), "decoder": (target, target)}
    return {**every, "vision": (source, source), "cross": (target, source)}


def _blocks(
    network: PreTrainedModel,
    layers: Sequence[AttentionLayer],
    records: list[Record],
    sources: Sequence[tuple[Token, ...]],
    targets: Sequence[tuple[Token, ...]],
    edits: Edits = (),
    selection: Selection = EVERYTHING,
) -> list[tuple[Block, ...]]:
    """Return each text's blocks from the records of a batch, without padding."""
    tokens_of = sides(sources, targets)
    custom = custom_attention.has(network.config.model_type)
    # Layers that share a mask in the model share one array in the trace.
    masks: dict[tuple[object, ...], Tensor] = {}
    found: list[list[Block]] = [[] for _ in sources]
    for layer in layers:
        record = records.pop(0)  # drops the reference, so that copied tensors are freed
        if not selection.keeps(layer.layer):
            continue
        weights = record.weights
        if custom:
            compare(record, weights, f"{type(network).__name__}, {layer.kind} layer {layer.layer + 1}")
            layer_edits = [edit for edit in edits if (edit.kind, edit.layer) == (layer.kind, layer.layer)]
            if layer_edits:  # only for a single text; the hook changed the head outputs, not the weights
                weights = edit_weights(weights, [layer_edits])
            record = record._replace(weights=weights).of(selection.heads, selection.queries)
            weights = record.weights
        queries_of, keys_of = tokens_of[layer.kind]
        texts = [(selection.tokens(rows), columns) for rows, columns in zip(queries_of, keys_of, strict=True)]
        longest = tuple(max(map(len, side)) for side in zip(*texts, strict=True))
        if weights.shape[-2:] != longest:  # removing padding would then remove valid weights
            raise _shape_error(network, *weights.shape[-2:], *longest)
        key = (None if record.mask is None else record.mask.data_ptr(), weights.shape[-2:])
        if key not in masks:
            masks[key] = _allowed(record.module, record.mask, weights.shape)
        if len(texts) > 1:  # one transfer to the CPU for all texts
            record, weights, masks[key] = record.on_cpu(), weights.cpu(), masks[key].cpu()
        heads = weights.shape[1]
        bias = None if record.bias is None else record.bias.expand(weights.shape)
        for row, (queries, keys) in enumerate(texts):
            n, m = len(queries), len(keys)
            found[row].append(
                Block(
                    kind=layer.kind,
                    layer=layer.layer,
                    query_tokens=queries,
                    key_tokens=keys,
                    query=record.query[row, :, :n],
                    key=one_per_head(record.key[row, :, :m], heads),
                    value=one_per_head(record.value[row, :, :m], heads),
                    weights=weights[row, :, :n, :m],
                    mask=masks[key][row, :n, :m],
                    scale=record.scale,
                    cap=record.cap,
                    sinks=None if record.sinks is None else record.sinks.clone(),
                    bias=None if bias is None else bias[row, :, :n, :m],
                    projection=_projection(layer, selection),
                    heads=selection.heads,
                    queries=selection.queries,
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
    """Run the model once over a batch with one copy of the text per variant.

    Args:
        inputs: the arguments of the forward pass, each [1, token].
        position: the token position, from 0, of the returned probabilities; None: do not compute them.

    Raises:
        InvalidEdit, ModelNotSupported: as for `intervening`.
    """
    copies = {name: ids.expand(len(variants), *ids.shape[1:]) for name, ids in inputs.items()}
    batch = _without_cache(network, copies)  # nothing is generated
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


@contextmanager
def intervening(
    network: PreTrainedModel, layers: Sequence[AttentionLayer], edits: Sequence[Edits]
) -> Iterator[None]:
    """Apply edits to the forward pass that runs inside this context, in this thread only.

    Args:
        edits: the edits of each row of the batch.

    Raises:
        InvalidEdit: the model has no such layer or head, or an edit moves weight to a masked key.
        ModelNotSupported: the model has custom attention code, and an edit redirects attention
            or W_O was not found; or the forward pass differs from the inspected one.
    """
    if not any(edits):
        yield
        return
    placed = by_place(edits, {(layer.kind, layer.layer): layer.heads for layer in layers})
    by_layer: list[Sequence[Edits]] = [placed.get((layer.kind, layer.layer), ()) for layer in layers]
    expected: list[nn.Module | None] = [layer.module for layer in layers]
    if custom_attention.has(network.config.model_type):
        _refuse_redirection(network, layers, edits)
        expected = [layer.output_layer for layer in layers]
    with applying(expected, by_layer):
        yield


def _record_states(name: str, _stack: nn.Module, _inputs: tuple[Any, ...], returned: Any) -> None:
    last = _last_states.get()
    if last is not None:
        last[name] = returned.last_hidden_state


def _change_outputs(output_layer: nn.Module, inputs: tuple[Any, ...], *, heads: int) -> tuple[Any, ...]:
    edits = edits_of(output_layer)
    if not edits:
        return inputs
    outputs, *others = inputs
    by_head = split_heads(outputs, heads).clone()  # from [batch, token, head · d_head]
    for row, row_edits in enumerate(edits):
        for edit in row_edits:
            if isinstance(edit, Edit):
                by_head[row, edit.head, slice(None) if edit.query is None else edit.query] = 0
    return (join_heads(replace_outputs(by_head, edits)), *others)


def _refuse_redirection(
    network: PreTrainedModel, layers: Sequence[AttentionLayer], edits: Sequence[Edits]
) -> None:
    for edit in (edit for row_edits in edits for edit in row_edits):
        if isinstance(edit, Edit) and edit.target is not None:
            raise ModelNotSupported(
                f"{type(network).__name__} has custom attention code: its heads and rows can be "
                f"ablated, but not redirected as in “{edit}”."
            )
    if any(layer.output_layer is None for layer in layers):
        raise ModelNotSupported(
            f"{type(network).__name__} has custom attention code, and its W_O was not found. "
            "Its heads cannot be ablated."
        )


def _allowed(module: nn.Module, mask: Tensor | None, shape: tuple[int, ...]) -> Tensor:
    """Return [batch, query, key], True where the mask adds 0; the mask must be the same for all heads.

    Args:
        shape: the shape of the weights, [batch, head, query, key].
    """
    batch, _, queries, keys = shape
    if mask is None:
        return torch.ones(1, 1, 1, dtype=torch.bool).expand(batch, queries, keys)
    forbids = mask <= torch.finfo(mask.dtype).min
    if mask.shape[1] != 1 or not bool((forbids | (mask == 0)).all()):
        raise ModelNotSupported(
            f"{type(module).__name__} adds a bias to its scores in the mask. attnviz cannot record it."
        )
    return ~forbids[:, 0].expand(batch, queries, keys)
