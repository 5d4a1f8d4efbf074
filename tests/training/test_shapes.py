"""The model of coloured shapes: its pictures match their questions, and its stored figures are correct."""

from random import Random

import numpy as np
import pytest

from attnviz.trained.shapes import figures
from attnviz.trained.shapes.pictures import BACKGROUND, CELL, COLOURS, draw, question
from training import shapes


@pytest.mark.parametrize("seed", range(5))
def test_a_picture_shows_its_shapes_and_its_question_has_one_answer(seed: int) -> None:
    asked = question(Random(seed))  # noqa: S311 - not security-relevant
    picture = draw(asked.shapes)
    for each in asked.shapes:
        cell = picture[each.row * CELL :, each.column * CELL :][:CELL, :CELL].reshape(-1, 3)
        assert (cell == COLOURS[each.colour]).all(axis=1).mean() > 0.1
        assert np.array_equal(cell[0], BACKGROUND)
    assert (picture == BACKGROUND).all(axis=2).mean() > 1 - len(asked.shapes) / 25
    named = [each for each in asked.shapes if asked.keyword in (each.shape, each.colour)]
    assert named == [asked.target]
    assert {asked.keyword, asked.answer} == {asked.target.shape, asked.target.colour}


def test_the_stored_figures_belong_to_the_model() -> None:
    stored, found = figures.stored(), shapes.measure(60)
    assert found.right >= 60 * stored.right / stored.pictures - 2
    for stored_share, found_share in ((stored.by_shape, found.by_shape), (stored.by_colour, found.by_colour)):
        assert found_share.head == stored_share.head
        assert stored_share.interval[0] - 0.1 < found_share.weight < stored_share.interval[1] + 0.1
        assert max(stored.uniform, stored_share.other_heads[1]) < stored_share.interval[0]
