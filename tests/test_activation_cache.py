"""Traces of cached weights contain the weights, layers and tokens of the cache."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch

import attnviz
from attnviz import InvalidTrace

RNG = np.random.default_rng(7)
TOKENS = ["<|endoftext|>", "The", " dog", " slept", "."]


def weights(heads: int, queries: int, keys: int, *, causal: bool = False) -> np.ndarray[Any, Any]:
    scores = RNG.standard_normal((heads, queries, keys)).astype(np.float32)
    if causal:
        scores[:, np.triu(np.ones((queries, keys), bool), 1)] = -np.inf
    exponentials = np.exp(scores)
    found: np.ndarray[Any, Any] = exponentials / exponentials.sum(-1, keepdims=True)
    return found


def test_the_trace_of_a_decoder_has_the_weights_and_layers_of_the_cache() -> None:
    layers = {number: weights(3, 5, 5, causal=True) for number in (2, 0)}
    cache = {
        f"blocks.{number}.attn.hook_pattern": torch.tensor(each)[None] for number, each in layers.items()
    }
    cache["blocks.0.attn.hook_q"] = torch.zeros(1, 5, 3, 7)
    trace = attnviz.from_cache(cache, TOKENS, model="tiny")
    assert [(block.kind, block.layer) for block in trace.blocks] == [("decoder", 0), ("decoder", 2)]
    for block in trace.blocks:
        np.testing.assert_array_equal(block.weights, layers[block.layer])
    assert (trace.model, trace.text) == ("tiny", "<|endoftext|>The dog slept.")


def test_layers_where_a_token_attends_to_later_tokens_are_an_encoder() -> None:
    layers = [weights(2, 3, 3), weights(2, 3, 3)]
    trace = attnviz.from_cache(dict(enumerate(layers)), ["a", "b", "c"])
    np.testing.assert_array_equal(trace.stack("encoder"), layers)


def test_the_trace_of_an_encoder_decoder_has_three_kinds() -> None:
    shapes = {"encoder.0.attn": (5, 5), "decoder.0.attn": (3, 3), "decoder.0.cross_attn": (3, 5)}
    cache = {
        f"{name}.hook_pattern": weights(2, *shape, causal=name == "decoder.0.attn")
        for name, shape in shapes.items()
    }
    trace = attnviz.from_cache(cache, TOKENS, target_tokens=["Le", "chien", "dort"])
    for (name, array), kind in zip(cache.items(), ("encoder", "decoder", "cross"), strict=True):
        [block] = [block for block in trace.blocks if block.kind == kind]
        np.testing.assert_array_equal(block.weights, array, err_msg=name)


@pytest.mark.parametrize(
    ("cache", "message"),
    [
        ({}, "no attention weights"),
        ({"blocks.0.attn.hook_q": np.ones((5, 3, 7))}, "no attention weights"),
        ({"blocks.0.attn.hook_pattern": np.full((2, 3, 5, 5), 0.2)}, "of one text"),
    ],
)
def test_caches_without_weights_or_of_two_texts_are_refused(cache: Mapping[Any, Any], message: str) -> None:
    with pytest.raises(InvalidTrace, match=message):
        attnviz.from_cache(cache, TOKENS)
