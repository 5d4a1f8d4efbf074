"""The bundled BERT, run by transformers and by our own Transformer, compared with `eager` attention."""

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, PreTrainedModel

from attnviz.capture import loading
from attnviz.capture.model import Model
from attnviz.models import catalogue
from attnviz.trace import Floats
from tests.capture.sentences import sentence

# Lengths in tokens; every push tests only the shortest, an odd length and the longest.
LENGTHS = [
    pytest.param(length, marks=() if length in {3, 97, 512} else pytest.mark.everything)
    for length in (3, 4, 5, 7, 11, 16, 17, 31, 32, 33, 64, 97, 128, 200, 256, 300, 512)
]


def eager_weights(model: PreTrainedModel, text: str) -> list[Floats]:
    """Return the weights of each layer, computed with transformers' own tokenizer and attention."""
    tokenizer = AutoTokenizer.from_pretrained(catalogue.MINILM.folder, local_files_only=True)
    with torch.inference_mode():
        output = model(**tokenizer(text, return_tensors="pt"), output_attentions=True)
    return [layer[0].numpy() for layer in output.attentions]


@pytest.mark.parametrize("tokens", LENGTHS)
def test_weights_equal_eager_bit_for_bit(minilm: Model, eager: PreTrainedModel, tokens: int) -> None:
    text = sentence(tokens)
    blocks = minilm.trace(text).of_kind("encoder")
    expected = eager_weights(eager, text)
    assert len(blocks) == len(expected) == 6
    for block, weights in zip(blocks, expected, strict=True):
        assert weights.shape == (12, tokens, tokens)
        assert np.array_equal(block.weights, weights)


def test_weights_equal_eager_with_any_number_of_threads(minilm: Model, eager: PreTrainedModel) -> None:
    text = sentence(61)
    for threads in (1, 2, 4):
        torch.set_num_threads(threads)
        for block, weights in zip(minilm.trace(text).blocks, eager_weights(eager, text), strict=True):
            assert np.array_equal(block.weights, weights)


def test_query_key_and_value_are_projections_of_hidden_states(minilm: Model, eager: PreTrainedModel) -> None:
    trace = minilm.trace(sentence(19))
    ids = torch.tensor([[token.id for token in trace.blocks[0].query_tokens]])
    with torch.inference_mode():
        states = eager(ids, output_hidden_states=True).hidden_states
        for block, state in zip(trace.blocks, states[:-1], strict=True):
            for name in ("query", "key", "value"):
                module = eager.get_submodule(f"encoder.layer.{block.layer}.attention.self.{name}")
                projected = module(state)[0].numpy()
                for head in range(12):
                    head_slice = projected[:, head * 32 : head * 32 + 32]
                    np.testing.assert_allclose(getattr(block, name)[head], head_slice, atol=1e-6)


@pytest.mark.parametrize("tokens", [13, 97])
def test_our_encoder_computes_the_same_trace(minilm: Model, tokens: int) -> None:
    text = sentence(tokens)
    theirs, ours = minilm.trace(text), loading.load("minilm-scratch").trace(text)
    assert (theirs.model, ours.model) == ("minilm", "minilm-scratch")
    assert len(theirs.blocks) == len(ours.blocks) == 6
    for one, other in zip(theirs.blocks, ours.blocks, strict=True):
        assert (one.kind, one.layer, one.scale) == (other.kind, other.layer, other.scale)
        assert one.query_tokens == other.query_tokens == other.key_tokens
        assert np.array_equal(one.mask, other.mask)
        assert one.projection is not None
        assert other.projection is not None
        assert np.array_equal(one.projection, other.projection)
        for name in ("query", "key", "value", "scores", "weights", "output"):
            np.testing.assert_allclose(getattr(other, name), getattr(one, name), atol=1e-5, rtol=1e-5)
