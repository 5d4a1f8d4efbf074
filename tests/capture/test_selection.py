"""Traces of selected layers, heads and queries match the complete trace, and store no other numbers."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import torch

import attnviz
from attnviz.errors import AttnvizError, InvalidTrace, ModelNotSupported
from tests.capture.reference import ENCODER_DECODERS, TARGET, reference_model, reference_tokenizer
from tests.capture.tiny import SENTENCE, FolderOf

FAMILIES = ("bert", "llama", "t5", "deberta-v2", "gpt_oss", "bloom")


def traced(folder: Any, **options: Any) -> attnviz.Trace:
    return attnviz.trace(
        SENTENCE, folder, target=TARGET if folder.name in ENCODER_DECODERS else None, **options
    )


@pytest.mark.parametrize(
    ("family", "store"),
    [(family, "weights") for family in FAMILIES]
    + [(family, "vectors") for family in FAMILIES if family != "deberta-v2"],
)
def test_selected_numbers_equal_the_complete_trace(folder_of: FolderOf, family: str, store: Any) -> None:
    complete = traced(folder_of(family), store=store)
    heads, queries = [2, 0], [3, 1, 4]
    part = traced(folder_of(family), store=store, layers=1, heads=heads, queries=queries)
    assert {(b.kind, b.layer) for b in part.blocks} == {(b.kind, 1) for b in complete.blocks if b.layer == 1}
    for block in part.blocks:
        expected = complete.block(block.kind, 1)
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
def test_bundled_models_support_selection(model: str) -> None:
    text = "The dog was tired."
    complete = attnviz.trace(text, model)
    part = attnviz.trace(text, model, heads=1, queries=[0, 2])
    assert [(block.kind, block.layer) for block in part.blocks] == [
        (b.kind, b.layer) for b in complete.blocks
    ]
    for block, expected in zip(part.blocks, complete.blocks, strict=True):
        assert np.array_equal(block.weights, expected.weights[1:2, [0, 2]])
        assert np.array_equal(block.key, expected.key[1:2])


def test_selection_applies_to_each_text_of_a_batch(folder_of: FolderOf) -> None:
    texts = ["The dog was tired .", SENTENCE, "he was"]
    selection: dict[str, Any] = {"layers": [0], "heads": [1], "queries": [1, 0]}
    found = list(attnviz.trace_many(texts, folder_of("mistral"), **selection))
    for text, trace in zip(texts, found, strict=True):
        [block] = trace.blocks
        [expected] = attnviz.trace(text, folder_of("mistral"), **selection).blocks
        assert block.shape == expected.shape
        np.testing.assert_allclose(block.weights, expected.weights, atol=1e-6)
        np.testing.assert_allclose(block.value, expected.value, atol=1e-5)
        assert np.array_equal(block.mask, expected.mask)


def test_forward_pass_stops_at_the_last_selected_layer(folder_of: FolderOf) -> None:
    network: Any = reference_model(folder_of("bert"))
    tokenizer = reference_tokenizer(folder_of("bert"))
    calls: list[int] = []
    for number, layer in enumerate(network.base_model.encoder.layer):
        layer.attention.self.register_forward_hook(lambda *_, at=number: calls.append(at))
    attnviz.trace(SENTENCE, network, tokenizer=tokenizer)
    for layers in (0, 1):
        calls.clear()
        attnviz.trace(SENTENCE, network, tokenizer=tokenizer, layers=layers)
        assert calls == [*range(layers)]  # the pass ends inside the selected layer
    calls.clear()
    attnviz.trace(SENTENCE, network, tokenizer=tokenizer, layers=0, edits=["encoder 1-1"])
    assert calls == [0, 1]


def test_only_selected_numbers_stay_in_memory(folder_of: FolderOf) -> None:
    trace = attnviz.trace(SENTENCE, folder_of("llama"), layers=1, heads=0, queries=2)
    for name, field in vars(trace.blocks[0]).items():
        if isinstance(field, torch.Tensor) and name != "mask":
            assert field.untyped_storage().nbytes() == field.numel() * 4, name


def test_edits_can_be_combined_with_selection(folder_of: FolderOf) -> None:
    for family in ("bert", "bloom"):
        kind = "encoder" if family == "bert" else "decoder"
        edits = [f"{kind} 2-3"]
        part = attnviz.trace(SENTENCE, folder_of(family), edits=edits, layers=1, heads=[2, 1], queries=3)
        assert not part.blocks[0].rows(2, [3]).any()
        assert part.blocks[0].rows(1, [3]).any()
        with pytest.raises(ModelNotSupported, match="does not support edits"):
            attnviz.trace(SENTENCE, folder_of(family), edits=edits, store="vectors")


def test_trace_of_selected_heads_can_be_saved_but_not_drawn(folder_of: FolderOf) -> None:
    trace = attnviz.trace(SENTENCE, folder_of("llama"), heads=[2, 0], queries=[1])
    file = io.BytesIO()
    trace.save(file)
    loaded = attnviz.Trace.load(io.BytesIO(file.getvalue())).blocks[1]
    assert (loaded.heads, loaded.queries) == ((2, 0), (1,))
    assert np.array_equal(loaded.row(2, 1), trace.blocks[1].weights[0, 0])
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
    ("options", "error", "message"),
    [
        ({"layers": 6}, InvalidTrace, "layers contains 6; .* are 0 to 5"),
        ({"heads": [0, 12]}, InvalidTrace, "heads contains 12; .* are 0 to 11"),
        ({"queries": 5}, InvalidTrace, "queries contains 5; .* are 0 to 4"),
        ({"layers": -1}, AttnvizError, "different indices from 0"),
        ({"heads": []}, AttnvizError, "different indices from 0"),
        ({"heads": [1, 1]}, AttnvizError, "different indices from 0"),
        ({"layers": "1"}, TypeError, "layers must be a whole number"),
        ({"store": "all"}, AttnvizError, "Unknown store 'all'; use one of auto, weights and vectors"),
        ({"max_weight_bytes": -1}, AttnvizError, "max_weight_bytes must be 0 or more"),
    ],
)
@pytest.mark.parametrize("model", ["minilm", "minilm-scratch"])
def test_invalid_selection_is_refused(
    options: dict[str, Any], error: type[Exception], message: str, model: str
) -> None:
    with pytest.raises(error, match=message):
        attnviz.trace("a dog slept", model, **options)
    with pytest.raises(error, match=message):
        list(attnviz.trace_many(["a dog slept"], model, **options))


def test_unselected_rows_cannot_be_read() -> None:
    block = attnviz.trace("a dog slept", heads=[3], queries=[1, 2]).blocks[0]
    with pytest.raises(InvalidTrace, match=r"There is no head 0; .* has 3"):
        block.row(0, 1)
    with pytest.raises(InvalidTrace, match=r"There is no query 0; .* has 1 and 2"):
        block.row(3, 0)
