import numpy as np
import pytest
import torch

from attnviz.capture import loading
from attnviz.capture.loading import Model
from attnviz.capture.scratch import ScratchModel, attend_like_ours
from attnviz.trace import attend
from tests.capture.sentences import sentence


@pytest.mark.parametrize("tokens", [3, 13, 64, 300])
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
        assert np.array_equal(block.scores, layer.attention.attention.scores.numpy())


def test_a_mask_works_as_in_the_stated_formula() -> None:
    random = np.random.default_rng(7)
    query = random.normal(size=(3, 5, 7)).astype(np.float32)
    key = random.normal(size=(3, 5, 7)).astype(np.float32)
    mask = np.tril(np.ones((5, 5), dtype=np.bool_))
    for ours, stated in zip(
        attend_like_ours(query, key, mask, 0.3), attend(query, key, mask, 0.3), strict=True
    ):
        np.testing.assert_allclose(ours, stated, atol=1e-6)


def test_a_bias_is_refused_rather_than_ignored() -> None:
    one = np.ones((1, 1, 1), dtype=np.float32)
    with pytest.raises(ValueError, match="no bias"):
        attend_like_ours(one, one, np.ones((1, 1), dtype=np.bool_), 1.0, one)
