"""The training: a few steps repeat to the bit, and every weight learns."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from attnviz.trained.storyteller import training
from attnviz.trained.storyteller.grammar import VOCABULARY
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.storyteller.storyteller import build
from attnviz.trained.vocabulary import PAD
from tests.trained.storyteller.both import SMALL_FIRST

STEPS = 3


def trained(size: str, seed: int) -> dict[str, torch.Tensor]:
    *_, last = training.train(size, seed, STEPS)
    assert last.step == STEPS
    return last.model.state_dict()


@pytest.mark.parametrize("size", SMALL_FIRST)
def test_a_training_repeats_to_the_bit_and_every_weight_learns(size: str) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        one, again, other = trained(size, 0), trained(size, 0), trained(size, 1)
    finally:
        torch.set_num_threads(before)
    untrained = build(SIZES[size], 0).state_dict()
    for name, tensor in one.items():
        assert torch.equal(tensor, again[name])
        assert not torch.equal(tensor, other[name])
        assert not torch.equal(tensor, untrained[name])


def test_the_loss_is_that_of_each_next_word_and_of_no_padding() -> None:
    model = build(SIZES["storyteller"], 0)
    long, short = torch.randint(4, len(VOCABULARY), (2, 9))
    padded = torch.stack([long, short])
    padded[1, 6:] = VOCABULARY.ids([PAD])[0]
    logits = torch.cat([model(long[:-1]).logits, model(short[:5]).logits])
    expected = cross_entropy(logits, torch.cat([long[1:], short[1:6]]))
    torch.testing.assert_close(training._loss(model, padded), expected)
