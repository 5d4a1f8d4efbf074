"""Weights of long texts, recomputed from vectors and mask rules, equal the model's weights up to rounding."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from transformers import T5Config, T5EncoderModel
from transformers.masking_utils import (
    causal_mask_function,
    eager_mask,
    or_masks,
    sliding_window_bidirectional_mask_function,
)

import attnviz
from attnviz.capture import custom_attention, vectors
from attnviz.capture.recorder import attend
from attnviz.capture.vectors import MaskRule, additive, fast_attention
from attnviz.errors import InvalidTrace, ModelNotSupported
from tests.capture.tiny import untrained

SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "vocab_size": 90,
}
LLAMA: dict[str, Any] = {**SIZES, "num_key_value_heads": 1, "intermediate_size": 24}
DEBERTA: dict[str, Any] = {
    **SIZES,
    "intermediate_size": 24,
    "relative_attention": True,
    "max_relative_positions": 96,
    "max_position_embeddings": 2_048,
    "position_biased_input": False,
}
MODELS: dict[str, dict[str, Any]] = {
    "llama": LLAMA,
    "mistral": {**LLAMA, "sliding_window": 100},
    "bloom": {"hidden_size": 32, "n_layer": 2, "n_head": 2, "vocab_size": 90},
    "mpt": {"d_model": 32, "n_layers": 2, "n_heads": 2, "vocab_size": 90},
    "gptj": {"n_embd": 32, "n_layer": 2, "n_head": 2, "rotary_dim": 8, "vocab_size": 90, "n_positions": 320},
    "codegen": {
        "n_embd": 64,
        "n_layer": 2,
        "n_head": 4,
        "rotary_dim": 8,
        "vocab_size": 90,
        "n_positions": 320,
    },
    "gpt_neo": {
        "hidden_size": 32,
        "num_layers": 2,
        "num_heads": 2,
        "vocab_size": 90,
        "window_size": 50,
        "attention_types": [[["global", "local"], 1]],
    },
    "falcon": {**SIZES, "max_position_embeddings": 320},
    "roformer": {**SIZES, "intermediate_size": 24, "max_position_embeddings": 320},
    "deberta": {**DEBERTA, "pos_att_type": ["c2p", "p2c"]},
    "deberta-v2": {
        **DEBERTA,
        "position_buckets": 16,
        "share_att_key": True,
        "norm_rel_ebd": "layer_norm",
        "pos_att_type": ["p2c", "c2p"],
    },
    "mpnet": {**SIZES, "intermediate_size": 24, "max_position_embeddings": 320},
    "t5": {"d_model": 32, "d_kv": 16, "d_ff": 24, "num_layers": 2, "num_heads": 2, "vocab_size": 90},
    "gemma2": {**LLAMA, "head_dim": 16, "sliding_window": 100, "attn_logit_softcapping": 2.0},
    "gpt_oss": {
        **LLAMA,
        "head_dim": 16,
        "sliding_window": 100,
        "num_local_experts": 2,
        "num_experts_per_tok": 1,
    },
}


def model(family: str) -> Any:
    """Return a model with random weights and non-uniform attention."""
    with torch.random.fork_rng():
        torch.manual_seed(5)
        if family == "t5":
            build: Any = T5EncoderModel._from_config
            network: Any = build(T5Config(**MODELS[family]), attn_implementation="eager").eval()
        else:
            network = untrained(family, **MODELS[family])
        for name, parameter in network.named_parameters():
            if any(
                part in name.lower()
                for part in ("q_", "k_", ".q.", ".k.", "qkv", "query", "key", "rel_", "sinks", "bias")
            ):
                torch.nn.init.normal_(parameter, std=0.2)
    return network


def ids(tokens: int) -> Tensor:
    return torch.randint(5, 90, (tokens,), generator=torch.Generator().manual_seed(2))


def eager(network: Any, tokens: int) -> list[np.ndarray[Any, Any]]:
    with torch.inference_mode():
        returned = network(ids(tokens)[None], output_attentions=True).attentions
    return [layer[0].numpy() for layer in returned]


@pytest.mark.parametrize("family", ["llama", "mistral", "bloom", "deberta-v2", "t5"])
def test_rows_of_2048_tokens_equal_eager(family: str) -> None:
    network, places = model(family), [0, 1, 99, 100, 101, 1_023, 2_047]
    trace = attnviz.trace(ids(2_048), network, store="vectors")
    for block, weights in zip(trace.blocks, eager(network, 2_048), strict=True):
        for head in range(2):
            np.testing.assert_allclose(block.rows(head, places), weights[head, places], atol=1e-6, rtol=0)
        assert block.row(1, 2_047).max() > 5 / 2_048


@pytest.mark.parametrize("family", MODELS)
def test_small_tiles_give_the_same_results(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "MAX_TILE", 7_000)
    network = model(family)
    trace = attnviz.trace(ids(301), network, store="vectors")
    complete = attnviz.trace(ids(301), network, store="weights")
    for block, expected, weights in zip(trace.blocks, complete.blocks, eager(network, 301), strict=True):
        np.testing.assert_allclose(block.weights, weights, atol=5e-6, rtol=0)
        assert np.array_equal(block.mask, expected.mask)
        np.testing.assert_allclose(block.scores, expected.scores, atol=1e-4)
        np.testing.assert_allclose(block.output, expected.output, atol=1e-5)


def test_bfloat16_weights_equal_eager_up_to_rounding() -> None:
    network = model("mistral").to(torch.bfloat16)
    block = attnviz.trace(ids(200), network, store="vectors").blocks[0]
    with torch.inference_mode():
        weights = network(ids(200)[None], output_attentions=True).attentions[0][0].float().numpy()
    np.testing.assert_allclose(block.weights, weights, atol=0.01)


def test_stored_memory_grows_linearly_with_the_text() -> None:
    for family in ("llama", "bloom", "t5", "mistral"):
        sizes = []
        for tokens in (400, 800):
            block = attnviz.trace(ids(tokens), model(family), store="vectors").blocks[1]
            weights: Any = vars(block)["weights"]
            bias = [weights.bias.line] if weights.bias is not None else []
            tensors = [weights.query, weights.key, *bias]
            sizes.append(sum(each.untyped_storage().nbytes() for each in tensors))
        assert sizes[1] < 2.1 * sizes[0]


def test_large_matrices_are_refused_but_rows_are_not() -> None:
    block = attnviz.trace(ids(300), model("t5"), max_weight_bytes=100_000).blocks[0]
    for name in ("weights", "bias", "scores", "output"):
        with pytest.raises(InvalidTrace, match=r"2 × 300 × 300 numbers would take 0\.00 GB.* Read rows"):
            getattr(block, name)
    assert block.row(1, 299).sum() == pytest.approx(1, abs=1e-5)
    assert block.mask.all()
    with pytest.raises(InvalidTrace, match="300 × 300 numbers"):
        _ = attnviz.trace(ids(300), model("llama"), max_weight_bytes=50_000).blocks[0].mask


def test_auto_stores_weights_that_fit() -> None:
    network = model("llama")  # 2 layers × 2 heads × 100² × 4 bytes
    cases: list[tuple[int, dict[str, Any], bool]] = [
        (160_000, {}, True),
        (159_999, {}, False),
        (80_000, {"layers": 1}, True),
        (79_999, {"layers": 1, "heads": 0}, False),  # `eager` would compute both heads
    ]
    for limit, chosen, stored in cases:
        weights = vars(attnviz.trace(ids(100), network, max_weight_bytes=limit, **chosen).blocks[0])[
            "weights"
        ]
        assert isinstance(weights, Tensor) == stored
    [one] = attnviz.trace_many([ids(100)], network, max_weight_bytes=159_999)
    assert not isinstance(vars(one.blocks[0])["weights"], Tensor)


def test_family_without_mask_rules_must_store_its_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(custom_attention._FINISH, "mpnet")
    network = model("mpnet")
    options: dict[str, Any]
    for options in ({"store": "vectors"}, {"max_weight_bytes": 10}):
        with pytest.raises(ModelNotSupported, match=r'without storing its weights.* Use store="weights"'):
            attnviz.trace(ids(20), network, **options)
    assert attnviz.trace(ids(20), network, store="weights", max_weight_bytes=10).stack().any()


def test_wrong_mask_rule_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MaskRule, "rows", lambda _, places: torch.ones(len(places), 11, dtype=torch.bool))
    with pytest.raises(ModelNotSupported, match="differ from the model’s by up to 1"):
        attnviz.trace(ids(20), model("mistral"), store="vectors")


def prefix(length: int) -> Any:
    return lambda _batch, _head, _query, key: key < length


PADDING = torch.arange(40)[None] < 33


@pytest.mark.parametrize(
    "rule",
    [
        {"mask_function": causal_mask_function, "attention_mask": PADDING},
        {"mask_function": or_masks(causal_mask_function, prefix(9))},
        {"mask_function": sliding_window_bidirectional_mask_function(7), "attention_mask": PADDING},
    ],
    ids=["padding", "prefix", "bidirectional"],
)
def test_mask_rules_equal_transformers(rule: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "MAX_TILE", 300)
    arguments = {"batch_size": 1, "q_length": 40, "kv_length": 40, "q_offset": 0, "device": "cpu", **rule}
    mask = eager_mask(**arguments, dtype=torch.float32)
    places = [3, 4, 5, 39, 0]
    assert torch.equal(additive(MaskRule(arguments).rows(places), torch.float32), mask[0, 0, places])
    random = torch.Generator().manual_seed(3)
    query = torch.randn(1, 4, 40, 8, generator=random)
    key, value = torch.randn(2, 1, 2, 40, 8, generator=random)
    found = fast_attention(query, key, value, MaskRule(arguments), 0.3, None, None, None, attend)
    weights = attend(query, key, mask, 0.3)
    torch.testing.assert_close(found, weights @ value.repeat_interleave(2, dim=1), atol=1e-5, rtol=0)


# Top keys and pooled weights


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 9), st.integers(1, 14))
def test_top_and_pooled_weights_equal_the_complete_matrix(seed: int, tokens: int, size: int, k: int) -> None:
    random = np.random.default_rng(seed)
    matrix = random.dirichlet(np.full(tokens, 0.5), (2, tokens)).astype(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["attnviz.trace"], "_TILE", int(random.integers(1, 40)))
        block = attnviz.Trace.from_weights([matrix], ["a"] * tokens).blocks[0]
        top = block.top(1, k)
        assert top.keys.shape == top.weights.shape == (tokens, min(k, tokens))
        assert np.array_equal(top.weights, -np.sort(-block.weights[1], axis=1)[:, :k])
        assert np.array_equal(np.take_along_axis(block.weights[1], top.keys, axis=1), top.weights)
        assert all(len({*row}) == len(row) for row in top.keys.tolist())
        for how, reduce in (("max", np.max), ("mean", np.mean), ("sum", np.sum)):
            pooled = block.pooled(0, size, how)  # type: ignore[arg-type]
            count = -(-tokens // size)
            assert pooled.shape == (count, count)
            for row, column in np.ndindex(pooled.shape):
                part = block.weights[0, row * size :][:size, column * size :][:, :size]
                assert pooled[row, column] == pytest.approx(reduce(part), abs=1e-5)


def test_invalid_top_pooled_and_row_calls_are_refused() -> None:
    block = attnviz.trace("a dog").blocks[0]
    for call, message in (
        (lambda: block.top(0, 0), "k must be 1 or more"),
        (lambda: block.pooled(0, 0), "size must be 1 or more"),
        (lambda: block.pooled(0, 2, "min"), "Unknown pooling 'min'; use one of max, mean and sum"),  # type: ignore[arg-type]
        (lambda: block.row(12, 0), "no head 12"),
        (lambda: block.row(0, 4), "no query 4"),
    ):
        with pytest.raises(InvalidTrace, match=message):
            call()
