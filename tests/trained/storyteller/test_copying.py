"""The storyteller copies repeated words with previous-word heads and induction heads."""

import pytest

from attnviz.interventions.edit import Edit
from attnviz.trained.storyteller.copying import NUM_REPEATED, copying
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.storyteller.storyteller import Storyteller, build


@pytest.fixture(scope="module")
def storyteller() -> Storyteller:
    return Storyteller.load(SIZES["storyteller"].file)


def test_only_repeated_words_are_predicted(storyteller: Storyteller) -> None:
    found = copying(storyteller)
    assert found.right > 0.9
    assert found.first_loss > 5
    assert found.second_loss < 1
    assert {layer for layer, _ in found.previous_word_heads} == {0}
    assert {layer for layer, _ in found.induction_heads} == {1}


def test_without_previous_word_heads_no_word_is_matched_or_copied(storyteller: Storyteller) -> None:
    original = copying(storyteller)
    found = copying(storyteller, [Edit("decoder", *head) for head in original.previous_word_heads])
    assert found.prefix_matching.max() < 0.2
    assert found.right < 0.1


def test_scores_of_redirected_heads() -> None:
    """Redirect one head to the previous word, another to the word after the same word's first occurrence."""
    untrained = Storyteller(build(SIZES["storyteller"], 0), {"variant": "storyteller"})
    edits = tuple(
        Edit("decoder", 0, head, row, None, row - offset)
        for head, offset in ((1, 1), (2, NUM_REPEATED - 1))
        for row in range(1 + NUM_REPEATED, 1 + 2 * NUM_REPEATED)
    )
    found = copying(untrained, edits, texts=2)
    assert found.previous_word[0, 1] == found.prefix_matching[0, 2] == 1
    assert found.previous_word[0, 2] == found.prefix_matching[0, 1] == 0
    assert (found.previous_word_heads, found.induction_heads) == (((0, 1),), ((0, 2),))
