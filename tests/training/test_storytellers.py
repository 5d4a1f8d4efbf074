"""The stored results of the storytellers are measured with the shipped weights on held-out stories."""

import numpy as np
import pytest

from attnviz.trained.storyteller import grammar
from attnviz.trained.storyteller.figures import stored
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.storyteller.storyteller import Storyteller
from tests.trained.storyteller.tested_sizes import TESTED_SIZES
from training.storytellers import ITEMS, measure, placement_questions


@pytest.mark.parametrize("name", TESTED_SIZES)
def test_the_stored_figures_belong_to_the_weights(name: str) -> None:
    shipped, *others = (run for run in stored() if run.variant == name)
    assert [run.seed for run in (shipped, *others)] == [0, 1, 2]
    found = measure(Storyteller.load(SIZES[name].file))
    np.testing.assert_allclose(shipped.prefix_matching, found.prefix_matching, atol=2e-4)
    assert shipped._replace(prefix_matching=[]) == found._replace(prefix_matching=[])


def test_the_placement_in_each_question_is_stated_and_held_out() -> None:
    stories = placement_questions(3)
    assert len(stories) == ITEMS
    for words, container in stories:
        noun = words[-4]
        place = words.index(noun)
        assert words[place - 2 : place + 4] == ["put", "the", noun, "in", "the", container]
        assert grammar.is_held_out("contained", (noun, container))
