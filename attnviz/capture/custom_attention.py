"""Record attention in model families that bypass transformers' common attention function."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from attnviz.capture.recorder import Record, add_record, attend_fast, is_recording, records_vectors
from attnviz.capture.vectors import DisentangledBias, KeyBias, MaskRule
from attnviz.transformer.multi_head import join_heads

Arguments = dict[str, Any]
_FORBIDDEN = torch.finfo(torch.float32).min


def has(family: str) -> bool:
    """Return whether this family bypasses transformers' attention interface, but can be recorded."""
    return family in _READERS


def install_recorders(network: PreTrainedModel) -> None:
    """Install hooks that record attention in every thread that is inside `recording`.

    The network must be loaded with `attn_implementation="eager"` and run with `output_attentions=True`.
    Each thread has a separate list of records, so several threads can share the network.
    """
    name, reader = _READERS[network.config.model_type]
    for module in network.modules():
        if type(module).__name__ == name and hasattr(module, "_attn"):
            setattr(module, "_attn", _with_recording(module, reader))  # noqa: B010 - for the type checker
        elif type(module).__name__ == name:
            module.register_forward_hook(recording_hook(reader), with_kwargs=True)
            if (finish := _FINISH.get(network.config.model_type)) is not None:
                setattr(module, "forward", _FastForward(module, reader, finish))  # noqa: B010 - as above


class _FastForward:
    """Forward function of a module; it computes no weights when vectors are recorded.

    It holds only a weak reference to its module; see `_with_recording`. A deep copy runs the copied module.
    """

    def __init__(self, module: nn.Module, reader: Reader, finish: FinishAttention) -> None:
        self._module, self._reader, self._finish = weakref.ref(module), reader, finish

    def __deepcopy__(self, memo: dict[int, Any]) -> _FastForward:
        return _FastForward(memo[id(self._module())], self._reader, self._finish)

    def __call__(self, *args: Any, **inputs: Any) -> Any:
        module: Any = self._module()
        compute = type(module).forward
        if not records_vectors():
            return compute(module, *args, **inputs)
        named = {**_by_name(compute, args), **inputs}
        output = _attend_by_rules(module, self._reader, named, named["hidden_states"].shape[1])
        return self._finish(module, join_heads(output), named), None


def _attend_by_rules(module: Any, reader: Reader, named: Arguments, tokens: int) -> Tensor:
    """Return the head outputs of a text, and record the vectors."""
    record = reader(module, named, torch.empty(1).expand(1, 1, 1, tokens))  # a placeholder for the weights
    bias = KeyBias(record.bias.reshape(-1, tokens)) if isinstance(record.bias, Tensor) else record.bias
    is_local = getattr(module, "attention_type", None) == "local"  # GPT-Neo
    window = module.config.window_size if is_local else None
    is_encoder = type(module).__name__ in _ENCODERS or not getattr(module, "is_decoder", True)  # RoFormer
    mask = None if is_encoder else MaskRule.causal(tokens, record.query.device, window)
    steps = record.query, record.key, record.value, mask, record.scale, bias
    return attend_fast(record.module, *steps)


Reader = Callable[[Any, Arguments, Tensor], Record]
FinishAttention = Callable[[Any, Tensor, Arguments], Tensor]


def recording_hook(reader: Reader) -> Callable[[nn.Module, tuple[Any, ...], Arguments, Any], None]:
    """Return a forward hook that records the attention of a module whose second output is the weights."""

    def record(module: nn.Module, args: tuple[Any, ...], inputs: Arguments, returned: Any) -> None:
        if is_recording() and returned[1] is not None:
            add_record(reader(module, {**_by_name(type(module).forward, args), **inputs}, returned[1]))

    return record


def _with_recording(module: nn.Module, reader: Reader) -> Callable[..., tuple[Tensor, Tensor | None]]:
    """Return a version of the module's attention function that also records.

    The function holds only a weak reference to its module: with a cycle of strong references, an unused model
    would stay in memory until the next garbage collection, or forever after `gc.freeze`.
    """
    compute: Any = getattr(type(module), "_attn")  # noqa: B009 - for the type checker
    module_ref = weakref.ref(module)

    def attend(*args: Any, **inputs: Any) -> tuple[Tensor, Tensor | None]:
        named = {**_by_name(compute, args), **inputs}
        if records_vectors():
            return _attend_by_rules(module_ref(), reader, named, named["query"].shape[2]), None
        output, weights = compute(module_ref(), *args, **inputs)
        if is_recording():
            add_record(reader(module_ref(), named, weights))
        return output, weights

    return attend


def _by_name(function: Any, args: tuple[Any, ...]) -> Arguments:
    """Return positional arguments by name; `args` does not include `self`."""
    code = function.__code__
    return dict(zip(code.co_varnames[1 : code.co_argcount], args, strict=False))


def _mpnet(module: Any, inputs: Arguments, weights: Tensor) -> Record:
    """MPNet: scaled dot products and a relative position bias like T5's (Song et al. 2020)."""
    states, heads = inputs["hidden_states"], module.num_attention_heads
    query, key, value = (_heads(projection(states), heads) for projection in (module.q, module.k, module.v))
    scale = module.attention_head_size**-0.5
    return Record(
        module, query, key, value, inputs["attention_mask"], scale, inputs["position_bias"], weights
    )


def _bloom(module: Any, inputs: Arguments, weights: Tensor) -> Record:
    """BLOOM: scaled dot products and ALiBi, a bias that grows with the key's position (Press et al. 2022)."""
    projected = module.query_key_value(inputs["hidden_states"])
    query, key, value = module._reshape(projected)  # noqa: SLF001 - the layout of fused QKV is internal
    bias = inputs["alibi"].unflatten(0, query.shape[:2]).expand(-1, -1, *weights.shape[-2:])
    scale = module.inv_norm_factor
    return Record(module, query, key, value, inputs["attention_mask"], scale, bias, weights)


def _deberta(module: Any, inputs: Arguments, weights: Tensor) -> Record:
    """DeBERTa: the bias depends on the tokens and on their distance (He et al. 2021, eq. 4)."""
    query, key, value = module.transpose_for_scores(module.in_proj(inputs["hidden_states"])).chunk(3, dim=-1)
    query = query + module.transpose_for_scores(module.q_bias[None, None, :])
    value = value + module.transpose_for_scores(module.v_bias[None, None, :])
    parts = 1 + len(module.pos_att_type)
    scale = (query.shape[-1] * parts) ** -0.5
    bias = None
    if module.relative_attention and module.pos_att_type and records_vectors():
        longest = module.max_relative_positions
        span = min(longest, query.shape[2])
        embeddings = inputs["rel_embeddings"][None, longest - span : longest + span]
        positions = [
            module.transpose_for_scores(getattr(module, name)(embeddings))[0] * scale
            if kind in module.pos_att_type
            else None
            for kind, name in (("c2p", "pos_proj"), ("p2c", "pos_q_proj"))
        ]
        bias = _disentangled(query[0], key[0], positions, inputs["relative_pos"], span)
    elif module.relative_attention and module.pos_att_type:
        bias = module.disentangled_att_bias(
            query * scale, key, inputs["relative_pos"], inputs["rel_embeddings"], parts
        )
    return Record(module, query, key, value, _additive(inputs["attention_mask"]), scale, bias, weights)


def _deberta_v2(module: Any, inputs: Arguments, weights: Tensor) -> Record:
    """DeBERTa 2 and 3: like DeBERTa, with distances in buckets (He et al. 2023)."""
    states, heads = inputs["hidden_states"], module.num_attention_heads
    query, key, value = (
        module.transpose_for_scores(projection(states), heads)
        for projection in (module.query_proj, module.key_proj, module.value_proj)
    )
    parts = 1 + len({"c2p", "p2c"} & set(module.pos_att_type))
    scale = (query.shape[-1] * parts) ** -0.5
    bias = None
    batch = (-1, heads)
    if module.relative_attention and parts > 1 and records_vectors():
        span, share = module.pos_ebd_size, module.share_att_key
        embeddings = inputs["rel_embeddings"][None, : 2 * span]
        projections = (
            ("c2p", "key_proj" if share else "pos_key_proj"),
            ("p2c", "query_proj" if share else "pos_query_proj"),
        )
        positions = [
            module.transpose_for_scores(getattr(module, name)(embeddings), heads) * scale
            if kind in module.pos_att_type
            else None
            for kind, name in projections
        ]
        bias = _disentangled(query, key, positions, inputs["relative_pos"], span)
    elif module.relative_attention and parts > 1:
        bias = module.disentangled_attention_bias(
            query, key, inputs["relative_pos"], inputs["rel_embeddings"], parts
        ).unflatten(0, batch)
    mask = _additive(inputs["attention_mask"])
    query, key, value = (each.unflatten(0, batch) for each in (query, key, value))
    return Record(module, query, key, value, mask, scale, bias, weights)


def _disentangled(
    query: Tensor, key: Tensor, positions: Sequence[Tensor | None], relative: Tensor, span: int
) -> DisentangledBias:
    """Return the rule for DeBERTa's bias.

    Args:
        query, key: [head, token, d_head].
        positions: scaled projections of the position embeddings, [head, bucket, d_head], to keys and queries.
        relative: [1, query, key], distances or their buckets.
        span: the bucket of distance 0.
    """
    distances = relative.reshape(relative.shape[-2:])
    # distances from the first query, then distances to the first key
    line = torch.cat([distances[0].flip(0), distances[1:, 0]])
    position_key, position_query = positions
    return DisentangledBias(query, key, position_key, position_query, (line + span).clamp(0, 2 * span - 1))


def _gptj(module: Any, inputs: Arguments, weights: Tensor) -> Record:
    """GPT-J and CodeGen: scaled dot products of queries and keys with rotary embeddings."""
    query, key, value = (inputs[name] for name in ("query", "key", "value"))
    return Record(module, query, key, value, inputs["attention_mask"], module.head_dim**-0.5, None, weights)


def _gpt_neo(module: Any, inputs: Arguments, weights: Tensor) -> Record:
    """GPT-Neo: dot products without scaling; every other layer has a sliding window."""
    query, key, value = (inputs[name] for name in ("query", "key", "value"))
    mask = _additive(module.bias[:, :, : weights.shape[-2], : weights.shape[-1]])  # includes the window
    if inputs.get("attention_mask") is not None:
        # Both masks exclude later tokens: the sum is −∞ there, and the weight is 0, as with one mask.
        mask = mask + inputs["attention_mask"]
    return Record(module, query, key, value, mask, 1.0, None, weights)


def _roformer(module: Any, inputs: Arguments, weights: Tensor) -> Record:
    """RoFormer: scaled dot products of queries and keys with rotary embeddings (Su et al. 2021)."""
    states, heads = inputs["hidden_states"], module.num_attention_heads
    query, key, value = (
        _heads(projection(states), heads) for projection in (module.query, module.key, module.value)
    )
    rotate, positions = module.apply_rotary_position_embeddings, inputs["sinusoidal_pos"]
    if module.rotary_value:
        _, value = rotate(positions, key, value)
    query, key = rotate(positions, query, key)
    scale = module.attention_head_size**-0.5
    return Record(module, query, key, value, inputs["attention_mask"], scale, None, weights)


def _mpt(module: Any, inputs: Arguments, weights: Tensor) -> Record:
    """MPT: scaled dot products and ALiBi, a bias that is 0 at the last key (Press et al. 2022)."""
    projected = module.Wqkv(inputs["hidden_states"])
    if module.clip_qkv:
        projected = projected.clamp(-module.clip_qkv, module.clip_qkv)
    query, key, value = (_heads(part, module.n_heads) for part in projected.chunk(3, dim=-1))
    bias = inputs["position_bias"][..., -weights.shape[-1] :].expand(*query.shape[:2], *weights.shape[-2:])
    mask = _additive(~inputs["attention_mask"])
    return Record(module, query, key, value, mask, module.softmax_scale, bias, weights)


def _falcon(module: Any, inputs: Arguments, weights: Tensor) -> Record:
    """Falcon: scaled dot products with rotary embeddings and multi-query or grouped-query attention."""
    projected = module.query_key_value(inputs["hidden_states"])
    parts = module._split_heads(projected)  # noqa: SLF001 - the layout of fused QKV is internal
    query, key, value = (part.transpose(1, 2).expand(-1, module.num_heads, -1, -1) for part in parts)
    rotate = sys.modules[type(module).__module__].apply_rotary_pos_emb
    query, key = rotate(query, key, *inputs["position_embeddings"])
    scale = module.inv_norm_factor
    return Record(module, query, key, value, inputs["attention_mask"], scale, None, weights)


def _heads(projected: Tensor, number: int) -> Tensor:
    """Reshape [batch, token, head · d_head] to [batch, head, token, d_head]."""
    return projected.reshape(*projected.shape[:2], number, -1).transpose(1, 2)


def _additive(allowed: Tensor) -> Tensor:
    """Convert a mask of ones and zeros to an additive mask."""
    return torch.zeros(allowed.shape, device=allowed.device).masked_fill(~allowed.bool(), _FORBIDDEN)


# What each attention class computes from the head outputs, by `model_type`.
_FINISH: dict[str, FinishAttention] = {
    "bloom": lambda module, heads, named: module.dense(heads) + named["residual"],
    "deberta": lambda _, heads, __: heads,
    "deberta-v2": lambda _, heads, __: heads,
    "falcon": lambda module, heads, _: module.dense(heads),
    "mpnet": lambda module, heads, _: module.o(heads),
    "mpt": lambda module, heads, _: module.out_proj(heads),
    "roformer": lambda _, heads, __: heads,
}

_ENCODERS = {"DisentangledSelfAttention", "MPNetSelfAttention"}

# The class that computes attention, and the function that records it, by `model_type`.
_READERS: dict[str, tuple[str, Reader]] = {
    "bloom": ("BloomAttention", _bloom),
    "codegen": ("CodeGenAttention", _gptj),
    "deberta": ("DisentangledSelfAttention", _deberta),
    "deberta-v2": ("DisentangledSelfAttention", _deberta_v2),
    "falcon": ("FalconAttention", _falcon),
    "gpt_neo": ("GPTNeoSelfAttention", _gpt_neo),
    "gptj": ("GPTJAttention", _gptj),
    "mpnet": ("MPNetSelfAttention", _mpnet),
    "mpt": ("MptAttention", _mpt),
    "roformer": ("RoFormerSelfAttention", _roformer),
}
