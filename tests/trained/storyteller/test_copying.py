"""What the storyteller does with words said twice, and which heads have a role in it."""

import numpy as np
import pytest

from attnviz.interventions.edit import Edit
from attnviz.trained.storyteller.copying import copying, scores_of, words_twice
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.storyteller.storyteller import Storyteller


@pytest.fixture(scope="module")
def storyteller() -> Storyteller:
    return Storyteller.load(SIZES["storyteller"].file)


def test_the_second_time_is_copied_and_the_first_is_not(storyteller: Storyteller) -> None:
    found = copying(storyteller)
    assert found.right > 0.9
    assert found.first_loss > 5
    assert found.second_loss < 1
    again = scores_of(storyteller.steps(words_twice(100)))
    np.testing.assert_array_equal(found.prefix_matching, again.prefix_matching)
    assert {layer for layer, _ in found.previous_word_heads} == {0}
    assert {layer for layer, _ in found.induction_heads} == {1}


def test_without_the_heads_that_look_one_word_back_nothing_is_matched_or_copied(
    storyteller: Storyteller,
) -> None:
    whole = copying(storyteller)
    found = copying(storyteller, [Edit("decoder", *head) for head in whole.previous_word_heads])
    assert found.prefix_matching.max() < 0.2
    assert found.right < 0.1
