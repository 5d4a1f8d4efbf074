import numpy as np
import pytest

from attnviz.capture import stored
from attnviz.capture.model import Model

# CPUs sum float32 numbers in different orders: a difference of 1.2e-6 was measured after six layers.
CPU_TOLERANCE = 1e-5


@pytest.mark.parametrize("text", stored.FILES)
def test_stored_trace_equals_a_new_one(minilm: Model, text: str) -> None:
    loaded, fresh = stored.find("minilm", text), minilm.trace(text)
    assert loaded is not None
    assert (loaded.model, loaded.text, loaded.target) == (fresh.model, fresh.text, fresh.target)
    assert len(loaded.blocks) == len(fresh.blocks)
    for one, other in zip(loaded.blocks, fresh.blocks, strict=True):
        assert (one.kind, one.layer, one.scale) == (other.kind, other.layer, other.scale)
        assert one.query_tokens == other.query_tokens
        assert one.key_tokens == other.key_tokens
        assert np.array_equal(one.mask, other.mask)
        np.testing.assert_allclose(one.weights, other.weights, atol=CPU_TOLERANCE, rtol=0)
        for name in ("query", "key", "value", "scores", "output"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-5, rtol=1e-5)
        assert one.projection is None


def test_only_the_opening_sentences_of_minilm_are_stored() -> None:
    (tired, narrow) = stored.FILES
    assert tired.replace("tired", "narrow") == narrow
    assert stored.find("minilm-scratch", tired) is None
    assert stored.find("minilm", tired + " ") is None
    assert stored.find("no such model", tired) is None
    assert stored.find("minilm", tired) is stored.find("minilm", tired)


def test_stored_files_are_complete_and_small() -> None:
    assert sorted(path.name for path in stored.FOLDER.iterdir()) == sorted(stored.FILES.values())
    assert all(path.stat().st_size < 600_000 for path in stored.FOLDER.iterdir())
