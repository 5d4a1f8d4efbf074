"""Traces of some layers, heads and queries: the same numbers, and nothing else is kept or run."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import torch

import attnviz
from attnviz.errors import AttnvizError, InvalidTrace, ModelNotSupported
from tests.capture.by_transformers import PAIRED, TARGET, own_model, own_tokenizer
from tests.capture.tiny import SENTENCE, FolderOf

FAMILIES = ("bert", "llama", "t5", "deberta-v2", "gpt_oss", "bloom")


def traced(folder: Any, **chosen: Any) -> attnviz.Trace:
    return attnviz.trace(SENTENCE, folder, target=TARGET if folder.name in PAIRED else None, **chosen)


@pytest.mark.parametrize(
    ("family", "store"),
    [(family, "weights") for family in FAMILIES]
    + [(family, "vectors") for family in FAMILIES if family != "deberta-v2"],
)
def test_what_is_selected_is_the_same_as_in_the_whole_trace(
    folder_of: FolderOf, family: str, store: Any
) -> None:
    whole = traced(folder_of(family), store=store)
    heads, queries = [2, 0], [3, 1, 4]
    part = traced(folder_of(family), store=store, layers=1, heads=heads, queries=queries)
    assert {(b.kind, b.layer) for b in part.blocks} == {(b.kind, 1) for b in whole.blocks if b.layer == 1}
    for block in part.blocks:
        expected = whole.block(block.kind, 1)
        assert (block.heads, block.queries) == ((2, 0), (3, 1, 4))
        assert block.query_tokens == tuple(expected.query_tokens[place] for place in queries)
        assert block.key_tokens == expected.key_tokens
        for name in ("query", "weights", "bias"):
            if (array := getattr(expected, name)) is not None:
                np.testing.assert_allclose(getattr(block, name), array[heads][:, queries], atol=1e-6)
        for name in ("key", "value", "projection", "sinks"):
            if (array := getattr(expected, name)) is not None:
                assert np.array_equal(getattr(block, name), array[heads])
        assert np.array_equal(block.mask, expected.mask[queries])
        np.testing.assert_allclose(block.row(0, 4), expected.weights[0, 4], atol=1e-6)
        np.testing.assert_allclose(block.scores, expected.scores[heads][:, queries], atol=1e-5)


@pytest.mark.parametrize("model", ["minilm", "minilm-scratch", "translator"])
def test_bundled_models_select_too(model: str) -> None:
    text = "The dog was tired."
    whole = attnviz.trace(text, model)
    part = attnviz.trace(text, model, heads=1, queries=[0, 2])
    assert [(block.kind, block.layer) for block in part.blocks] == [(b.kind, b.layer) for b in whole.blocks]
    for block, expected in zip(part.blocks, whole.blocks, strict=True):
        assert np.array_equal(block.weights, expected.weights[1:2, [0, 2]])
        assert np.array_equal(block.key, expected.key[1:2])


def test_of_many_texts_each_is_selected_from(folder_of: FolderOf) -> None:
    texts = ["The dog was tired .", SENTENCE, "he was"]
    chosen: dict[str, Any] = {"layers": [0], "heads": [1], "queries": [1, 0]}
    found = list(attnviz.trace_many(texts, folder_of("mistral"), **chosen))
    for text, trace in zip(texts, found, strict=True):
        [block] = trace.blocks
        [expected] = attnviz.trace(text, folder_of("mistral"), **chosen).blocks
        assert block.shape == expected.shape
        np.testing.assert_allclose(block.weights, expected.weights, atol=1e-6)
        np.testing.assert_allclose(block.value, expected.value, atol=1e-5)
        assert np.array_equal(block.mask, expected.mask)


def test_the_model_runs_no_further_than_the_last_selected_layer(folder_of: FolderOf) -> None:
    network: Any = own_model(folder_of("bert"))
    reads = own_tokenizer(folder_of("bert"))
    ran: list[int] = []
    for number, layer in enumerate(network.base_model.encoder.layer):
        layer.attention.self.register_forward_hook(lambda *_, at=number: ran.append(at))
    attnviz.trace(SENTENCE, network, tokenizer=reads)
    for layers in (0, 1):
        ran.clear()
        attnviz.trace(SENTENCE, network, tokenizer=reads, layers=layers)
        assert ran == [*range(layers)]  # the pass ends inside of the last one
    ran.clear()
    attnviz.trace(SENTENCE, network, tokenizer=reads, layers=0, edits=["encoder 1-1"])
    assert ran == [0, 1]


def test_only_what_is_selected_stays_in_memory(folder_of: FolderOf) -> None:
    trace = attnviz.trace(SENTENCE, folder_of("llama"), layers=1, heads=0, queries=2)
    for name, held in vars(trace.blocks[0]).items():
        if isinstance(held, torch.Tensor) and name != "mask":
            assert held.untyped_storage().nbytes() == held.numel() * 4, name


def test_edits_and_selection_go_together(folder_of: FolderOf) -> None:
    for family in ("bert", "bloom"):
        kind = "encoder" if family == "bert" else "decoder"
        edits = [f"{kind} 2-3"]
        part = attnviz.trace(SENTENCE, folder_of(family), edits=edits, layers=1, heads=[2, 1], queries=3)
        assert not part.blocks[0].rows(2, [3]).any()
        assert part.blocks[0].rows(1, [3]).any()
        with pytest.raises(ModelNotSupported, match="does not support edits"):
            attnviz.trace(SENTENCE, folder_of(family), edits=edits, store="vectors")


def test_a_selected_trace_is_saved_and_not_drawn(folder_of: FolderOf) -> None:
    trace = attnviz.trace(SENTENCE, folder_of("llama"), heads=[2, 0], queries=[1])
    file = io.BytesIO()
    trace.save(file)
    again = attnviz.Trace.load(io.BytesIO(file.getvalue())).blocks[1]
    assert (again.heads, again.queries) == ((2, 0), (1,))
    assert np.array_equal(again.row(2, 1), trace.blocks[1].weights[0, 0])
    for draw in (
        attnviz.show,
        attnviz.links_table,
        lambda trace: attnviz.weights_table(trace, "decoder", 0, 0),
    ):
        with pytest.raises(InvalidTrace, match="only some heads or queries"):
            draw(trace)
    layers = attnviz.trace(SENTENCE, folder_of("llama"), layers=1)
    assert attnviz.show(layers).title.startswith("Layer 2")


@pytest.mark.parametrize(
    ("chosen", "error", "said"),
    [
        ({"layers": 6}, InvalidTrace, "layers has 6; .* there are 0 to 5"),
        ({"heads": [0, 12]}, InvalidTrace, "heads has 12; .* there are 0 to 11"),
        ({"queries": 5}, InvalidTrace, "queries has 5; .* there are 0 to 4"),
        ({"layers": -1}, AttnvizError, "different indices from 0"),
        ({"heads": []}, AttnvizError, "different indices from 0"),
        ({"heads": [1, 1]}, AttnvizError, "different indices from 0"),
        ({"layers": "1"}, TypeError, "layers must be a whole number"),
        ({"store": "all"}, AttnvizError, "Unknown store 'all'; use one of auto, weights and vectors"),
        ({"max_weight_bytes": -1}, AttnvizError, "max_weight_bytes must be 0 or more"),
    ],
)
@pytest.mark.parametrize("model", ["minilm", "minilm-scratch"])
def test_what_cannot_be_selected_is_refused(
    chosen: dict[str, Any], error: type[Exception], said: str, model: str
) -> None:
    with pytest.raises(error, match=said):
        attnviz.trace("a dog slept", model, **chosen)
    with pytest.raises(error, match=said):
        list(attnviz.trace_many(["a dog slept"], model, **chosen))


def test_what_was_not_selected_cannot_be_read() -> None:
    block = attnviz.trace("a dog slept", heads=[3], queries=[1, 2]).blocks[0]
    with pytest.raises(InvalidTrace, match=r"no head 0; .* has 3"):
        block.row(0, 1)
    with pytest.raises(InvalidTrace, match=r"no query 0; .* has 1 and 2"):
        block.row(3, 0)
