"""Writing: with the cache the numbers are the same, with fewer multiplications."""

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from attnviz.app.lessons.write import values
from attnviz.app.lessons.write.values import _network, costs, products, read, word_by_word
from attnviz.models.catalogue import STORYTELLER
from attnviz.transformer.decoder_only import DecoderOnly

IDS = (1, 20, 30, 40, 20, 30)


def test_the_cache_gives_what_one_pass_with_the_mask_gives() -> None:
    found = read(IDS)
    np.testing.assert_allclose(found.one_by_one, found.at_once, atol=1e-5)
    assert found.at_once.shape == (len(IDS) - 1,)
    assert 0 < found.weights_differ < 1e-5
    assert 0 < found.probabilities_differ < 1e-5
    assert np.abs(found.unmasked - found.at_once).max() > 0.01
    with torch.inference_mode():
        expected = _network(STORYTELLER)(torch.tensor(IDS[:3])).logits[-1].softmax(-1)[IDS[3]]
    assert found.at_once[2] == pytest.approx(float(expected), abs=1e-6)


@torch.no_grad()
def test_in_double_precision_cache_and_no_cache_are_equal() -> None:
    network = DecoderOnly(17, 30, 5, 13, layers=2).double()
    ids = torch.randint(17, (11,))
    one_by_one = torch.cat([steps.logits for steps in word_by_word(network, ids.tolist())])
    torch.testing.assert_close(one_by_one, network(ids).logits, atol=1e-12, rtol=0)


@pytest.mark.parametrize("wide", [0, 13])
@torch.no_grad()
def test_multiplications_are_what_torch_counts(wide: int) -> None:
    network, ids = DecoderOnly(17, 30, 5, wide, layers=2), torch.randint(17, (7,))
    for rows, before in ((7, None), (2, network(ids[:5]))):
        with FlopCounterMode(display=False) as counter:
            network(ids[-rows:], before)
        for_earlier_words = (rows - 1) * 17 * 30  # torch predicts after every row, writing after one
        counted = products(network, rows, 7) + for_earlier_words
        assert counter.get_total_flops() == 2 * counted  # a product and a sum each


def test_the_costs_of_three_words_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    network = DecoderOnly(vocabulary=3, d_model=2, n_heads=1, d_feed_forward=0, layers=1)
    monkeypatch.setattr(values, "_network", lambda _: network)
    # A row: W_Q, W_K, W_V, W_O with 4 numbers each, and 2 × 2 numbers for each key; the table with 6, once.
    assert costs(4, 3) == (
        (4 * (16 + 16) + 6, 5 * (16 + 20) + 6, 6 * (16 + 24) + 6),
        (4 * (16 + 16) + 6, 16 + 20 + 6, 16 + 24 + 6),
    )
