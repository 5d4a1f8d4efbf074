from collections.abc import Sequence

import numpy as np

from attnviz.analysis.change import change, largest_changes
from attnviz.analysis.display_tokens import DisplayToken
from tests.analysis.texts import shown


def labels(groups: Sequence[DisplayToken]) -> list[str]:
    return [group.label for group in groups]


def test_signed_difference() -> None:
    first = np.array([[[0.25, 0.75], [0.5, 0.5]]], dtype=np.float32)
    second = np.array([[[0.5, 0.5], [0.125, 0.875]]], dtype=np.float32)
    changed = change(first, [shown("a b")], second, [shown("a c")])
    assert changed.values.tolist() == [[[0.25, -0.25], [-0.375, 0.375]]]
    assert changed.values.dtype == np.float32
    assert changed.queries == changed.keys
    assert labels(changed.queries) == ["a", "b → c"]
    assert changed.queries[0].title == 'token 1: "a", character 1'
    assert changed.queries[1].title == 'token 2: "b", character 3 → token 2: "c", character 3'


def test_cell_masked_in_either_text_is_masked() -> None:
    first = np.array([[1.0, -np.inf], [2.0, 3.0]], dtype=np.float32)
    second = np.array([[1.5, -np.inf], [-np.inf, 3.0]], dtype=np.float32)
    changed = change(first, [shown("a b")], second, [shown("a b")])
    assert changed.values.tolist() == [[0.5, -np.inf], [-np.inf, 0.0]]


def test_largest_change_of_each_head_by_absolute_value() -> None:
    values = np.array([[[[0.25, -0.5], [0.0, 0.125]], [[0.0, -np.inf], [0.375, 0.25]]]], dtype=np.float32)
    queries, keys = shown("a b").groups, shown("c d").groups
    assert largest_changes(values, queries, keys) == (("a", "d", -0.5), ("b", "c", 0.375))


def test_word_of_only_one_sentence_is_a_gap() -> None:
    first = np.array([[0.25, 0.75], [0.5, 0.5]], dtype=np.float32)
    second = np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.25, 0.5, 0.25]], dtype=np.float32)
    changed = change(first, [shown("a b")], second, [shown("a very b")])
    gap = -np.inf
    assert labels(changed.queries) == labels(changed.keys) == ["a", "+ very", "b"]
    assert changed.values.tolist() == [[0.25, gap, -0.5], [gap, gap, gap], [-0.25, gap, -0.25]]
    reverse = change(second, [shown("a very b")], first, [shown("a b")])
    assert labels(reverse.queries) == ["a", "− very", "b"]
    np.testing.assert_array_equal(reverse.values[[0, 0, 2, 2], [0, 2, 0, 2]], [-0.25, 0.5, 0.25, 0.25])
