"""Words said twice: the numbers of the picture are the model's own."""

import numpy as np
import pytest

from attnviz.app.learn.induction.compute import in_model, measured, repeated
from attnviz.errors import InvalidEdit

WORDS = ("lamp", "key", "map", "pen")


def test_the_arrows_are_weights_of_the_model() -> None:
    found = repeated(WORDS)
    for place in range(len(WORDS) - 1):
        # [CHANT] is token 0.
        np.testing.assert_array_equal(found.back[..., place], found.weights[..., place + 2, place + 1])
        again = 1 + len(WORDS) + place
        np.testing.assert_array_equal(found.match[..., place], found.weights[..., again, place + 2])
    assert len(found.likeliest) == len(found.right) == len(WORDS) - 1
    copied = np.array([word == right for word, right in zip(found.likeliest, WORDS[1:], strict=True)])
    assert copied[found.right > 0.5].all()


def test_a_silenced_head_gives_nothing_and_is_measured_so() -> None:
    assert not repeated(WORDS, ("2-2",)).weights[1, 1].any()
    assert not measured(("2-2",)).prefix_matching[1, 1]


def test_a_head_may_put_out_its_mean_instead() -> None:
    whole, nothing, mean = measured(), measured(("1-4",)), measured(("1-4",), mean=True)
    np.testing.assert_array_equal(
        mean.previous_word[0], whole.previous_word[0]
    )  # in its own layer it looks on
    assert not nothing.previous_word[0, 3]
    assert mean.right < whole.right
    assert mean.right != nothing.right
    np.testing.assert_array_equal(measured((), mean=True).prefix_matching, whole.prefix_matching)


def test_a_head_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidEdit, match="9"):
        repeated(WORDS, ("9-1",))


def test_bert_looks_at_the_same_token_and_not_at_what_followed() -> None:
    found = in_model("minilm")
    assert found.prefix_matching.max() < 0.1
    assert found.same_token.max() > 0.5
