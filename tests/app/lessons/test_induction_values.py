"""Induction on repeated words: the picture's numbers equal the model's."""

import numpy as np
import pytest
import torch

from attnviz.app.lessons.induction.values import control_heads, measured, measured_after_start, repeated
from attnviz.capture import loading
from attnviz.errors import InvalidEdit
from attnviz.models.catalogue import STORYTELLER
from attnviz.trained.storyteller.grammar import CHANT, VOCABULARY

WORDS = ("lamp", "key", "map", "pen")


def test_numbers_are_weights_of_the_model() -> None:
    found = repeated(WORDS)
    for place in range(len(WORDS) - 1):
        # [CHANT] is token 0.
        np.testing.assert_array_equal(
            found.previous_word_weights[..., place], found.weights[..., place + 2, place + 1]
        )
        repetition = 1 + len(WORDS) + place
        np.testing.assert_array_equal(
            found.induction_weights[..., place], found.weights[..., repetition, place + 2]
        )
    ids = torch.tensor(VOCABULARY.ids([CHANT, *WORDS * 2]))
    expected = loading.load_storyteller(STORYTELLER).steps(ids).logits.softmax(dim=-1)
    repeated_words = torch.arange(1 + len(WORDS), 2 * len(WORDS))
    expected = expected[repeated_words, ids[repeated_words + 1]]
    np.testing.assert_array_equal(found.right, expected)


def test_ablated_head_has_no_weights() -> None:
    assert not repeated(WORDS, ("decoder 2-2",)).weights[1, 1].any()
    assert not measured(("decoder 2-2",)).prefix_matching[1, 1]


def test_unknown_head_is_refused() -> None:
    with pytest.raises(InvalidEdit, match="9"):
        repeated(WORDS, ("decoder 9-1",))


@pytest.mark.parametrize("model", ["storyteller", "storyteller-4-layers"])
def test_copying_is_less_accurate_after_the_start_token(model: str) -> None:
    chant, start = measured(model=model), measured_after_start(model=model)
    assert start.right < 0.9 < chant.right
    assert start.second_loss > chant.second_loss
    # After the start token, no other heads are induction heads, and the scores are lower.
    assert set(start.induction_heads) <= set(chant.induction_heads)
    assert start.prefix_matching.max() < chant.prefix_matching.max()


def test_control_heads_have_no_role_and_are_in_the_layers_of_previous_word_heads() -> None:
    intact = measured()
    control = control_heads(intact)
    assert {layer for layer, _ in control} == {layer for layer, _ in intact.previous_word_heads}
    assert not {*control} & {*intact.previous_word_heads, *intact.induction_heads}
    assert len(control) + len(intact.previous_word_heads) == 4
