"""Training the storyteller is reproducible and changes every weight."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from attnviz.trained.storyteller import training
from attnviz.trained.storyteller.grammar import VOCABULARY
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.storyteller.storyteller import build
from attnviz.trained.vocabulary import PAD
from tests.trained.storyteller.tested_sizes import TESTED_SIZES

STEPS = 3


def trained(size: str, seed: int) -> dict[str, torch.Tensor]:
    *_, last = training.train(size, seed, STEPS)
    assert last.step == STEPS
    return last.model.state_dict()


@pytest.mark.parametrize("size", TESTED_SIZES)
def test_training_is_reproducible_and_changes_every_weight(size: str) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        one, repeated, other = trained(size, 0), trained(size, 0), trained(size, 1)
    finally:
        torch.set_num_threads(before)
    untrained = build(SIZES[size], 0).state_dict()
    for name, tensor in one.items():
        assert torch.equal(tensor, repeated[name])
        assert not torch.equal(tensor, other[name])
        assert not torch.equal(tensor, untrained[name])


def test_loss_excludes_padding() -> None:
    model = build(SIZES["storyteller"], 0)
    long, short = torch.randint(4, len(VOCABULARY), (2, 9))
    padded = torch.stack([long, short])
    padded[1, 6:] = VOCABULARY.ids([PAD])[0]
    logits = torch.cat([model(long[:-1]).logits, model(short[:5]).logits])
    expected = cross_entropy(logits, torch.cat([long[1:], short[1:6]]))
    torch.testing.assert_close(training._loss(model, padded), expected)
