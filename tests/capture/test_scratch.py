import numpy as np
import pytest
import torch

from attnviz.capture import loading
from attnviz.capture.model import Model
from attnviz.capture.scratch import ScratchModel
from tests.capture.sentences import sentence


@pytest.mark.parametrize("tokens", [13, 300])
def test_our_own_encoder_gives_the_same_trace(minilm: Model, tokens: int) -> None:
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


def test_the_blocks_numbers_are_the_steps_that_the_encoder_returned() -> None:
    model = loading.load("minilm-scratch")
    assert isinstance(model, ScratchModel)
    trace = model.trace(sentence(17))
    with torch.inference_mode():
        steps = model.bert(torch.tensor([token.id for token in trace.blocks[0].query_tokens]))
    for block, layer in zip(trace.blocks, steps.layers, strict=True):
        assert np.array_equal(block.weights, layer.attention.attention.weights.numpy())
        scores = layer.attention.attention.scores.numpy()
        np.testing.assert_allclose(
            block.scores, scores, atol=1e-5, rtol=1e-5
        )  # derived, so rounded otherwise
