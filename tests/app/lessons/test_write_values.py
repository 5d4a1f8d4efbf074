"""Writing: the key–value cache does not change the numbers."""

import numpy as np
import pytest
import torch

from attnviz.app.lessons.write.values import read, word_by_word
from attnviz.capture import loading
from attnviz.models.catalogue import STORYTELLER
from attnviz.transformer.decoder_only import DecoderOnly

IDS = (1, 20, 30, 40, 20, 30)


def test_cached_steps_equal_one_masked_pass() -> None:
    found = read(IDS)
    np.testing.assert_allclose(found.stepwise, found.one_pass, atol=1e-5)
    assert found.one_pass.shape == (len(IDS) - 1,)
    assert 0 < found.weight_difference < 1e-5
    assert 0 < found.probability_difference < 1e-5
    assert np.abs(found.unmasked - found.one_pass).max() > 0.01
    with torch.inference_mode():
        network = loading.load_storyteller(STORYTELLER).model
        expected = network(torch.tensor(IDS[:3])).logits[-1].softmax(-1)[IDS[3]]
    assert found.one_pass[2] == pytest.approx(float(expected), abs=1e-6)


@torch.no_grad()
def test_cache_is_exact_in_double_precision() -> None:
    network = DecoderOnly(17, 30, 5, 13, layers=2).double()
    ids = torch.randint(17, (11,))
    one_by_one = torch.cat([steps.logits for steps in word_by_word(network, ids.tolist())])
    torch.testing.assert_close(one_by_one, network(ids).logits, atol=1e-12, rtol=0)
