import numpy as np
import pytest

from attnviz.capture import loading
from attnviz.capture.model import Model
from tests.capture.sentences import sentence


@pytest.mark.parametrize("tokens", [13, 97])
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
