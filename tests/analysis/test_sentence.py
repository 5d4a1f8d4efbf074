import numpy as np

from attnviz.analysis.sentence import changed_keys, quiz_options, strongest_keys
from tests.analysis.texts import shown

GROUPS = shown("the dog saw the <b>").groups


def test_strongest_keys_are_sorted() -> None:
    weights = np.array([[0.1, 0.66, 0.04, 0.12, 0.08]] * 5, dtype=np.float32)
    keys = strongest_keys(weights, 2, GROUPS)
    assert [name for name, _ in keys] == ["dog", "the (token 4)", "the (token 1)"]
    np.testing.assert_allclose([weight for _, weight in keys], [0.66, 0.12, 0.1], rtol=1e-6)
    assert [name for name, _ in strongest_keys(weights, 0, GROUPS, minimum=0.11)] == ["dog", "the (token 4)"]


def test_quiz_options_are_the_largest_weights_and_content_words() -> None:
    def options(*row: float) -> list[int]:
        return quiz_options(np.array(row, np.float32), groups, maximum=3)

    groups = shown("the cat and the dog saw it .").groups
    assert options(0.3, 0.1, 0.25, 0.2, 0.04, 0.05, 0.03, 0.03) == [0, 1, 2]
    assert options(0.1, 0.3, 0.05, 0.05, 0.04, 0.06, 0.2, 0.2) == [1, 5, 6]  # "." is not a content word
    assert options(0.4, 0, 0, 0.4, 0, 0, 0.2, 0) == [0, 6]  # no tie with the first option, no zero weights
    assert options(*[0.125] * 8) == [0]


def test_largest_gain_and_loss() -> None:
    change = np.array([[0.3, -0.36, 0.05, 0.0, 0.01]] * 5, dtype=np.float32)
    largest = changed_keys(change, 2, GROUPS)
    assert largest.gain == ("the (token 1)", float(np.float32(0.3)))
    assert largest.loss == ("dog", float(np.float32(-0.36)))
    assert changed_keys(np.full((5, 5), 0.004, np.float32), 2, GROUPS) == (None, None)
