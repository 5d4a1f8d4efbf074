"""What the shipped storytellers are shipped for, measured again; the stored figures are those."""

from functools import cache

import numpy as np
import pytest
import torch

from attnviz.analysis.intervals import wilson
from attnviz.interventions.edit import Edit
from attnviz.trained.storyteller.figures import Training, stored
from attnviz.trained.storyteller.grammar import VOCABULARY
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.storyteller.storyteller import Storyteller, build
from attnviz.trained.storyteller.tasks import NUM_REPEATED, Item
from tests.trained.storyteller.both import SMALL_FIRST
from training import storyteller_measures as measures

LEAST = {"agreement": 0.98, "pronoun": 0.98, "made-up name": 0.8}


@cache
def storyteller(name: str) -> Storyteller:
    return Storyteller.load(SIZES[name].file)


@pytest.mark.parametrize("name", SMALL_FIRST)
def test_the_stored_figures_are_the_weights_own(name: str) -> None:
    assert [training.seed for training in stored() if training.variant == name] == [0, 1, 2]
    found, written = measures.measure(storyteller(name)), stored()[Training(name, 0)]
    assert (written.items, written.right) == (found.items, found.right)
    assert [(each.heads, each.right) for each in written.ablated] == [
        (each.heads, each.right) for each in found.ablated
    ]
    for one, other in [
        (written.previous_word, found.previous_word),
        (written.prefix_matching, found.prefix_matching),
        *(
            (one.prefix_matching, other.prefix_matching)
            for one, other in zip(written.ablated, found.ablated, strict=True)
        ),
    ]:
        np.testing.assert_allclose(one, other, atol=2e-4)


@pytest.mark.parametrize("name", SIZES)
def test_it_does_what_it_is_shipped_for(name: str) -> None:
    found = stored()[Training(name, 0)]
    assert found.items >= 300
    for task, least in LEAST.items():
        low, _ = wilson(found.right[task], found.items)
        assert low >= least, task


def test_scores_worked_by_hand() -> None:
    """A head that sees the word before, and one that sees what followed: in place of the model's weights."""
    network = Storyteller(build(SIZES["storyteller"], 0), {"variant": "storyteller"})
    n = NUM_REPEATED
    tokens = 1 + 2 * n
    again = range(1 + n, tokens)
    edits = tuple(
        Edit("decoder", 0, head, row, None, row - back)
        for head, back in ((1, 1), (2, n - 1))
        for row in again
    )
    scores = measures.head_scores(network, edits, texts=2)
    assert scores.previous_word[0, 1] == scores.prefix_matching[0, 2] == 1
    assert scores.previous_word[0, 2] == scores.prefix_matching[0, 1] == 0


def test_an_answer_is_the_likeliest_of_its_choices_at_the_end_of_its_text() -> None:
    name = "storyteller"
    long, short = ["[START]", "Mary", "called", "John", "because"], ["[START]", "Mary"]
    likeliest = [
        VOCABULARY.word(int(storyteller(name).steps(torch.tensor(VOCABULARY.ids(words))).logits[-1].argmax()))
        for words in (long, short)
    ]
    both = [Item(long, likeliest[0]), Item(short, likeliest[1])]
    assert measures.right(storyteller(name), both) == 2
    assert measures.right(storyteller(name), [Item(long, "key"), both[1]]) == 1
    assert measures.right(storyteller(name), [Item(long, "key", ("key",))]) == 1
