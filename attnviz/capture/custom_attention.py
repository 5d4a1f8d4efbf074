"""Models that compute attention in a way of their own: the weights are theirs, the steps are read beside."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from attnviz.capture.recorder import Record, keep, listening

Given = dict[str, Any]
_FORBIDDEN = torch.finfo(torch.float32).min


def has(family: str) -> bool:
    """Whether models of this family pass by transformers' common attention interface, but can be read."""
    return family in _READERS


def listen(network: PreTrainedModel) -> None:
    """Makes every forward pass keep a record for each attention that runs, in threads that are recording.

    The network must be loaded with `attn_implementation="eager"` and run with `output_attentions=True`.
    What is recorded goes to the thread's own list, so that one network may serve many threads.
    """
    name, read = _READERS[network.config.model_type]
    for module in network.modules():
        if type(module).__name__ == name and hasattr(module, "_attn"):
            setattr(module, "_attn", _overheard(module, read))  # noqa: B010 - for the type checker
        elif type(module).__name__ == name:
            module.register_forward_hook(_hook(read), with_kwargs=True)


Read = Callable[[Any, Given, Tensor], Record]


def _hook(read: Read) -> Callable[[nn.Module, tuple[Any, ...], Given, Any], None]:
    def record(module: nn.Module, args: tuple[Any, ...], given: Given, returned: Any) -> None:
        if listening():
            keep(read(module, {**_named(type(module).forward, args), **given}, returned[1]))

    return record


def _overheard(module: nn.Module, read: Read) -> Callable[..., tuple[Tensor, Tensor]]:
    """A module's own function from query, key, value and mask to output and weights, listened to.

    It knows its module by a weak reference: in a circle of strong ones, a model that nobody uses any more
    would stay in memory until garbage is collected, and after `gc.freeze` for ever.
    """
    compute: Any = getattr(type(module), "_attn")  # noqa: B009 - for the type checker
    known = weakref.ref(module)

    def attend(*args: Any, **given: Any) -> tuple[Tensor, Tensor]:
        output, weights = compute(known(), *args, **given)
        if listening():
            keep(read(known(), {**_named(compute, args), **given}, weights))
        return output, weights

    return attend


def _named(function: Any, args: tuple[Any, ...]) -> Given:
    """Positional arguments by the names that a method gives them."""
    code = function.__code__
    return dict(zip(code.co_varnames[1 : code.co_argcount], args, strict=False))


def _mpnet(module: Any, given: Given, weights: Tensor) -> Record:
    """MPNet: scaled dot products and T5's kind of bias (Song et al. 2020)."""
    states, heads = given["hidden_states"], module.num_attention_heads
    return Record(
        module=module,
        query=_heads(module.q(states), heads),
        key=_heads(module.k(states), heads),
        value=_heads(module.v(states), heads),
        mask=given["attention_mask"],
        scale=module.attention_head_size**-0.5,
        bias=given["position_bias"],
        weights=weights,
    )


def _bloom(module: Any, given: Given, weights: Tensor) -> Record:
    """BLOOM: scaled dot products and ALiBi, a bias that grows with the key's place (Press et al. 2022)."""
    projected = module.query_key_value(given["hidden_states"])
    query, key, value = module._reshape(projected)  # noqa: SLF001 - how the three lie in one is its own affair
    return Record(
        module=module,
        query=query,
        key=key,
        value=value,
        mask=given["attention_mask"],
        scale=module.inv_norm_factor,
        bias=given["alibi"].unflatten(0, weights.shape[:2]).expand_as(weights),
        weights=weights,
    )


def _deberta(module: Any, given: Given, weights: Tensor) -> Record:
    """DeBERTa: the bias depends on the words and on how far apart they are (He et al. 2021, eq. 4)."""
    query, key, value = module.transpose_for_scores(module.in_proj(given["hidden_states"])).chunk(3, dim=-1)
    query = query + module.transpose_for_scores(module.q_bias[None, None, :])
    value = value + module.transpose_for_scores(module.v_bias[None, None, :])
    parts = 1 + len(module.pos_att_type)
    scale = (query.shape[-1] * parts) ** -0.5
    bias = None
    if module.relative_attention and module.pos_att_type:
        bias = module.disentangled_att_bias(
            query * scale, key, given["relative_pos"], given["rel_embeddings"], parts
        )
    return Record(module, query, key, value, _additive(given["attention_mask"]), scale, bias, weights)


def _deberta_v2(module: Any, given: Given, weights: Tensor) -> Record:
    """DeBERTa 2 and 3: as DeBERTa, with the distances in buckets (He et al. 2023)."""
    states, heads = given["hidden_states"], module.num_attention_heads
    query, key, value = (
        module.transpose_for_scores(projection(states), heads)
        for projection in (module.query_proj, module.key_proj, module.value_proj)
    )
    parts = 1 + len({"c2p", "p2c"} & set(module.pos_att_type))
    bias = None
    if module.relative_attention and parts > 1:
        flat = module.disentangled_attention_bias(
            query, key, given["relative_pos"], given["rel_embeddings"], parts
        )
        bias = flat[None]
    return Record(
        module=module,
        query=query[None],
        key=key[None],
        value=value[None],
        mask=_additive(given["attention_mask"]),
        scale=(query.shape[-1] * parts) ** -0.5,
        bias=bias,
        weights=weights,
    )


def _gptj(module: Any, given: Given, weights: Tensor) -> Record:
    """GPT-J: scaled dot products of rotated queries and keys."""
    return Record(
        module=module,
        query=given["query"],
        key=given["key"],
        value=given["value"],
        mask=given["attention_mask"],
        scale=module.head_dim**-0.5,
        bias=None,
        weights=weights,
    )


def _gpt_neo(module: Any, given: Given, weights: Tensor) -> Record:
    """GPT-Neo: dot products that nothing scales; in every other layer it looks at its nearest tokens only."""
    window = _additive(module.bias[:, :, : weights.shape[-2], : weights.shape[-1]])
    mask = window if given.get("attention_mask") is None else torch.minimum(window, given["attention_mask"])
    return Record(
        module=module,
        query=given["query"],
        key=given["key"],
        value=given["value"],
        mask=mask,
        scale=1.0,
        bias=None,
        weights=weights,
    )


def _heads(projected: Tensor, number: int) -> Tensor:
    """[batch, token, head · d_head] → [batch, head, token, d_head]."""
    return projected.reshape(*projected.shape[:2], number, -1).transpose(1, 2)


def _additive(allowed: Tensor) -> Tensor:
    """A mask of ones and zeros as what is added to the scores."""
    return torch.zeros(allowed.shape).masked_fill(~allowed.bool(), _FORBIDDEN)


# The class that computes attention, and what reads its steps, by transformers' `model_type`.
_READERS: dict[str, tuple[str, Read]] = {
    "bloom": ("BloomAttention", _bloom),
    "deberta": ("DisentangledSelfAttention", _deberta),
    "deberta-v2": ("DisentangledSelfAttention", _deberta_v2),
    "gpt_neo": ("GPTNeoSelfAttention", _gpt_neo),
    "gptj": ("GPTJAttention", _gptj),
    "mpnet": ("MPNetSelfAttention", _mpnet),
}
