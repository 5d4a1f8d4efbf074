"""Records the attention of families that bypass transformers' common attention function."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from attnviz.capture.recorder import Record, attend_fast, keep, listening, takes_rules
from attnviz.capture.vectors import DisentangledBias, KeyBias, MaskRule
from attnviz.transformer.multi_head import join_heads

Arguments = dict[str, Any]
_FORBIDDEN = torch.finfo(torch.float32).min


def has(family: str) -> bool:
    """Return whether this family bypasses transformers' attention interface, but can be recorded."""
    return family in _READERS


def listen(network: PreTrainedModel) -> None:
    """Make each forward pass record its attention, in threads that are recording.

    The network must be loaded with `attn_implementation="eager"` and run with `output_attentions=True`.
    Records go to the thread's own list, so that several threads can share the network.
    """
    name, read = _READERS[network.config.model_type]
    for module in network.modules():
        if type(module).__name__ == name and hasattr(module, "_attn"):
            setattr(module, "_attn", _overheard(module, read))  # noqa: B010 - for the type checker
        elif type(module).__name__ == name:
            module.register_forward_hook(reading(read), with_kwargs=True)
            if (finish := _FAST.get(network.config.model_type)) is not None:
                setattr(module, "forward", _faster(module, read, finish))  # noqa: B010 - as above


def _faster(module: nn.Module, read: Read, finish: Finish) -> Callable[..., tuple[Tensor, Tensor | None]]:
    """Return the module's forward function, which computes no weights in a recording of vectors.

    It holds only a weak reference to its module, as `_overheard` does.
    """
    compute: Any = type(module).forward
    known = weakref.ref(module)

    def forward(*args: Any, **inputs: Any) -> Any:
        if not takes_rules():
            return compute(known(), *args, **inputs)
        given = {**_named(compute, args), **inputs}
        output = _by_rules(known(), read, given, given["hidden_states"].shape[1])
        return finish(known(), join_heads(output), given), None

    return forward


def _by_rules(module: Any, read: Read, given: Arguments, tokens: int) -> Tensor:
    """Return the head outputs of a text, in a recording of vectors."""
    record = read(module, given, torch.empty(1).expand(1, 1, 1, tokens))  # weights of one row
    bias = KeyBias(record.bias.reshape(-1, tokens)) if isinstance(record.bias, Tensor) else record.bias
    near = (
        module.config.window_size if getattr(module, "attention_type", None) == "local" else None
    )  # GPT-Neo
    encodes = type(module).__name__ in _ENCODERS or not getattr(module, "is_decoder", True)  # RoFormer's
    mask = None if encodes else MaskRule.causal(tokens, record.query.device, near)
    steps = record.query, record.key, record.value, mask, record.scale, bias
    return attend_fast(record.module, *steps)


Read = Callable[[Any, Arguments, Tensor], Record]
Finish = Callable[[Any, Tensor, Arguments], Tensor]


def reading(read: Read) -> Callable[[nn.Module, tuple[Any, ...], Arguments, Any], None]:
    """Return a forward hook that records a module with the weights as its second output."""

    def record(module: nn.Module, args: tuple[Any, ...], inputs: Arguments, returned: Any) -> None:
        if listening() and returned[1] is not None:
            keep(read(module, {**_named(type(module).forward, args), **inputs}, returned[1]))

    return record


def _overheard(module: nn.Module, read: Read) -> Callable[..., tuple[Tensor, Tensor | None]]:
    """Return a module's function from query, key, value and mask to output and weights, with recording.

    It holds only a weak reference to its module: with a cycle of strong references, an unused model
    would stay in memory until the next garbage collection, and after `gc.freeze` forever.
    """
    compute: Any = getattr(type(module), "_attn")  # noqa: B009 - for the type checker
    known = weakref.ref(module)

    def attend(*args: Any, **inputs: Any) -> tuple[Tensor, Tensor | None]:
        given = {**_named(compute, args), **inputs}
        if takes_rules():
            return _by_rules(known(), read, given, given["query"].shape[2]), None
        output, weights = compute(known(), *args, **inputs)
        if listening():
            keep(read(known(), given, weights))
        return output, weights

    return attend


def _named(function: Any, args: tuple[Any, ...]) -> Arguments:
    """Return all arguments by name, including positional ones."""
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
    if module.relative_attention and module.pos_att_type and takes_rules():
        longest = module.max_relative_positions
        span = min(longest, query.shape[2])
        embeddings = inputs["rel_embeddings"][None, longest - span : longest + span]
        places = [
            module.transpose_for_scores(getattr(module, name)(embeddings))[0] * scale
            if kind in module.pos_att_type
            else None
            for kind, name in (("c2p", "pos_proj"), ("p2c", "pos_q_proj"))
        ]
        bias = _disentangled(query[0], key[0], places, inputs["relative_pos"], span)
    elif module.relative_attention and module.pos_att_type:
        bias = module.disentangled_att_bias(
            query * scale, key, inputs["relative_pos"], inputs["rel_embeddings"], parts
        )
    return Record(module, query, key, value, _additive(inputs["attention_mask"]), scale, bias, weights)


def _deberta_v2(module: Any, inputs: Arguments, weights: Tensor) -> Record:
    """DeBERTa 2 and 3: as DeBERTa, with distances in buckets (He et al. 2023)."""
    states, heads = inputs["hidden_states"], module.num_attention_heads
    query, key, value = (
        module.transpose_for_scores(projection(states), heads)
        for projection in (module.query_proj, module.key_proj, module.value_proj)
    )
    parts = 1 + len({"c2p", "p2c"} & set(module.pos_att_type))
    scale = (query.shape[-1] * parts) ** -0.5
    bias = None
    batch = (-1, heads)
    if module.relative_attention and parts > 1 and takes_rules():
        span, share = module.pos_ebd_size, module.share_att_key
        embeddings = inputs["rel_embeddings"][None, : 2 * span]
        projections = (
            ("c2p", "key_proj" if share else "pos_key_proj"),
            ("p2c", "query_proj" if share else "pos_query_proj"),
        )
        places = [
            module.transpose_for_scores(getattr(module, name)(embeddings), heads) * scale
            if kind in module.pos_att_type
            else None
            for kind, name in projections
        ]
        bias = _disentangled(query, key, places, inputs["relative_pos"], span)
    elif module.relative_attention and parts > 1:
        bias = module.disentangled_attention_bias(
            query, key, inputs["relative_pos"], inputs["rel_embeddings"], parts
        ).unflatten(0, batch)
    mask = _additive(inputs["attention_mask"])
    query, key, value = (each.unflatten(0, batch) for each in (query, key, value))
    return Record(module, query, key, value, mask, scale, bias, weights)


def _disentangled(
    query: Tensor, key: Tensor, places: Sequence[Tensor | None], relative: Tensor, span: int
) -> DisentangledBias:
    """Return the rule of DeBERTa's bias.

    Args:
        query, key: [head, token, d_head].
        places: the projected position embeddings, [head, bucket, d_head], as keys and as queries, scaled.
        relative: [1, query, key], distances or their buckets.
        span: the bucket of distance 0.
    """
    known = relative.reshape(relative.shape[-2:])
    line = torch.cat([known[0].flip(0), known[1:, 0]])  # of the first query, and of the first key
    position_key, position_query = places
    return DisentangledBias(query, key, position_key, position_query, (line + span).clamp(0, 2 * span - 1))


def _gptj(module: Any, inputs: Arguments, weights: Tensor) -> Record:
    """GPT-J and CodeGen: scaled dot products of queries and keys with rotary embeddings."""
    query, key, value = (inputs[name] for name in ("query", "key", "value"))
    return Record(module, query, key, value, inputs["attention_mask"], module.head_dim**-0.5, None, weights)


def _gpt_neo(module: Any, inputs: Arguments, weights: Tensor) -> Record:
    """GPT-Neo: dot products without scaling; every other layer has a sliding window."""
    query, key, value = (inputs[name] for name in ("query", "key", "value"))
    mask = _additive(module.bias[:, :, : weights.shape[-2], : weights.shape[-1]])  # the window
    if inputs.get("attention_mask") is not None:
        mask = mask + inputs["attention_mask"]  # −∞ where both forbid: rows of padding depend on it
    return Record(module, query, key, value, mask, 1.0, None, weights)


def _roformer(module: Any, inputs: Arguments, weights: Tensor) -> Record:
    """RoFormer: scaled dot products of queries and keys with rotary embeddings (Su et al. 2021)."""
    states, heads = inputs["hidden_states"], module.num_attention_heads
    query, key, value = (
        _heads(projection(states), heads) for projection in (module.query, module.key, module.value)
    )
    turn, places = module.apply_rotary_position_embeddings, inputs["sinusoidal_pos"]
    if module.rotary_value:
        _, value = turn(places, key, value)
    query, key = turn(places, query, key)
    scale = module.attention_head_size**-0.5
    return Record(module, query, key, value, inputs["attention_mask"], scale, None, weights)


def _mpt(module: Any, inputs: Arguments, weights: Tensor) -> Record:
    """MPT: scaled dot products and ALiBi, a bias that ends with 0 at the last key (Press et al. 2022)."""
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
    turn = sys.modules[type(module).__module__].apply_rotary_pos_emb
    query, key = turn(query, key, *inputs["position_embeddings"])
    scale = module.inv_norm_factor
    return Record(module, query, key, value, inputs["attention_mask"], scale, None, weights)


def _heads(projected: Tensor, number: int) -> Tensor:
    """Reshape [batch, token, head · d_head] to [batch, head, token, d_head]."""
    return projected.reshape(*projected.shape[:2], number, -1).transpose(1, 2)


def _additive(allowed: Tensor) -> Tensor:
    """Convert a mask of ones and zeros to an additive mask."""
    return torch.zeros(allowed.shape, device=allowed.device).masked_fill(~allowed.bool(), _FORBIDDEN)


# The rest of each class's attention, after the head outputs, by `model_type`.
_FAST: dict[str, Finish] = {
    "bloom": lambda module, heads, given: module.dense(heads) + given["residual"],
    "deberta": lambda _, heads, __: heads,
    "deberta-v2": lambda _, heads, __: heads,
    "falcon": lambda module, heads, _: module.dense(heads),
    "mpnet": lambda module, heads, _: module.o(heads),
    "mpt": lambda module, heads, _: module.out_proj(heads),
    "roformer": lambda _, heads, __: heads,
}

_ENCODERS = {"DisentangledSelfAttention", "MPNetSelfAttention"}

# The class that computes attention, and the function that records it, by `model_type`.
_READERS: dict[str, tuple[str, Read]] = {
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
