import threading
from dataclasses import fields

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, PreTrainedModel

from attnviz.capture import loading
from attnviz.capture.given import Model
from attnviz.capture.huggingface import HuggingFaceModel
from attnviz.models import catalogue
from attnviz.trace import Block, Floats, Trace
from tests.capture.sentences import sentence
from tests.formula import attention

LENGTHS = (3, 4, 5, 7, 11, 16, 17, 31, 32, 33, 64, 97, 128, 200, 256, 300, 512)


def eager_weights(model: PreTrainedModel, text: str) -> list[Floats]:
    """What transformers itself returns, from the text on: its own tokenizer, its own attention."""
    tokenizer = AutoTokenizer.from_pretrained(catalogue.MINILM.folder, local_files_only=True)
    with torch.inference_mode():
        output = model(**tokenizer(text, return_tensors="pt"), output_attentions=True)
    return [layer[0].numpy() for layer in output.attentions]


@pytest.mark.parametrize("tokens", LENGTHS)
def test_weights_are_those_of_eager_to_the_bit(minilm: Model, eager: PreTrainedModel, tokens: int) -> None:
    text = sentence(tokens)
    blocks = minilm.trace(text).of_kind("encoder")
    expected = eager_weights(eager, text)
    assert len(blocks) == len(expected) == 6
    for block, weights in zip(blocks, expected, strict=True):
        assert weights.shape == (12, tokens, tokens)
        assert np.array_equal(block.weights, weights)


def test_weights_equal_eagers_to_the_bit_on_any_number_of_threads(
    minilm: Model, eager: PreTrainedModel
) -> None:
    before = torch.get_num_threads()
    text = sentence(61)
    try:
        for threads in (1, 2, 4):
            torch.set_num_threads(threads)
            for block, weights in zip(minilm.trace(text).blocks, eager_weights(eager, text), strict=True):
                assert np.array_equal(block.weights, weights)
    finally:
        torch.set_num_threads(before)


def test_the_stated_formula_gives_the_same_weights(minilm: Model) -> None:
    for block in minilm.trace(sentence(23)).blocks:
        _, weights = attention(block.query, block.key, block.mask, block.scale)
        np.testing.assert_allclose(weights, block.weights, atol=1e-6, rtol=0)
        assert block.scale == 32**-0.5


def test_query_key_and_value_are_the_projections_of_the_hidden_states(
    minilm: Model, eager: PreTrainedModel
) -> None:
    trace = minilm.trace(sentence(19))
    ids = torch.tensor([[token.id for token in trace.blocks[0].query_tokens]])
    with torch.inference_mode():
        states = eager(ids, output_hidden_states=True).hidden_states
        for block, state in zip(trace.blocks, states[:-1], strict=True):
            for name in ("query", "key", "value"):
                module = eager.get_submodule(f"encoder.layer.{block.layer}.attention.self.{name}")
                projected = module(state)[0].numpy()
                for head in range(12):
                    own = projected[:, head * 32 : head * 32 + 32]
                    np.testing.assert_allclose(getattr(block, name)[head], own, atol=1e-6)


def test_the_heads_shares_add_up_to_what_the_block_adds(minilm: Model, eager: PreTrainedModel) -> None:
    trace = minilm.trace(sentence(13))
    ids = torch.tensor([[token.id for token in trace.blocks[0].query_tokens]])
    added: list[Floats] = []
    denses = [
        eager.get_submodule(f"encoder.layer.{layer}.attention.output.dense")
        for layer in range(len(trace.blocks))
    ]
    hooks = [dense.register_forward_hook(lambda *call: added.append(call[2][0].numpy())) for dense in denses]
    with torch.inference_mode():
        eager(ids)
    for hook in hooks:
        hook.remove()
    for block, dense, whole in zip(trace.blocks, denses, added, strict=True):
        assert block.projection is not None
        assert block.projection.shape == (12, 32, 384)
        shares = np.einsum("hqd,hdm->hqm", block.output, block.projection)
        bias = dense.get_parameter("bias").detach().numpy()
        np.testing.assert_allclose(shares.sum(axis=0) + bias, whole, atol=1e-5)


def arrays(trace: Trace) -> list[tuple[str, Floats]]:
    return [
        (field.name, array)
        for block in trace.blocks
        for field in fields(Block)
        if isinstance(array := getattr(block, field.name), np.ndarray)
    ]


def test_nothing_in_a_trace_can_be_written_to(minilm: Model) -> None:
    trace = minilm.trace("a dog")
    assert {name for name, _ in arrays(trace)} == {"query", "key", "value", "weights", "mask", "projection"}
    derived = [(name, getattr(block, name)) for block in trace.blocks for name in ("scores", "output")]
    for name, array in [*arrays(trace), *derived, ("stack", trace.stack("encoder"))]:
        assert not array.flags.writeable, name
        with pytest.raises(ValueError, match="read-only"):
            array[(0,) * array.ndim] = 1


def test_traces_share_the_output_projection_and_nothing_else(minilm: Model) -> None:
    first, second = minilm.trace("a dog"), minilm.trace("a dog")
    for (name, one), (_, other) in zip(arrays(first), arrays(second), strict=True):
        assert (one is other) == (name == "projection"), name
        assert np.array_equal(one, other)


def test_the_model_is_ready_for_reading_only(minilm: Model) -> None:
    assert isinstance(minilm, HuggingFaceModel)
    network = minilm.network
    assert not network.training
    assert network.dtype == torch.float32


def test_threads_that_share_a_model_never_mix_their_sentences() -> None:
    model = loading.load("minilm")
    texts = [sentence(tokens) for tokens in (9, 17, 17 + 7, 40)]
    expected = [model.trace(text) for text in texts]
    assert not np.array_equal(expected[0].blocks[0].query, expected[1].blocks[0].query[:, :9])
    runs, wrong = [0] * len(texts), []
    start = threading.Barrier(len(texts))

    def trace_again_and_again(number: int) -> None:
        start.wait()
        for _ in range(75):
            found = model.trace(texts[number])
            runs[number] += 1
            for block, right in zip(found.blocks, expected[number].blocks, strict=True):
                same = [
                    np.array_equal(getattr(block, name), getattr(right, name))
                    for name in ("query", "key", "value")
                ]
                if not all(same) or block.query_tokens != right.query_tokens:
                    wrong.append((number, block.layer))

    threads = [threading.Thread(target=trace_again_and_again, args=(number,)) for number in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert runs == [75] * len(texts)
    assert wrong == []


@pytest.mark.parametrize("stop", ["", "."])
@pytest.mark.parametrize("model", ["minilm", "minilm-scratch"])
def test_layer_4_head_2_follows_the_pronoun(model: str, stop: str) -> None:
    looks = {}
    for word in ("tired", "narrow"):
        trace = loading.load(model).trace(f"The dog did not cross the road as it was too {word}{stop}")
        names = [token.text for token in trace.blocks[0].query_tokens]
        row = trace.block("encoder", layer=3).weights[1, names.index("it")]
        looks[word] = (row[names.index("dog")], row[names.index("road")])
    assert looks["tired"][0] > 4 * looks["tired"][1]
    assert looks["narrow"][1] > looks["narrow"][0]
