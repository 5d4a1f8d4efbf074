from collections.abc import Sequence

import numpy as np
import pytest

from attnviz.analysis.change import Change, change, largest_moves
from attnviz.analysis.display_tokens import DisplayToken, DisplayTokens
from attnviz.errors import AttnvizError
from attnviz.trace import Token
from tests.analysis.texts import shown


def labels(groups: Sequence[DisplayToken]) -> list[str]:
    return [group.label for group in groups]


def test_signed_difference_by_hand() -> None:
    first = np.array([[[0.25, 0.75], [0.5, 0.5]]], dtype=np.float32)
    second = np.array([[[0.5, 0.5], [0.125, 0.875]]], dtype=np.float32)
    changed = change(first, [shown("a b")], second, [shown("a c")])
    assert changed.values.tolist() == [[[0.25, -0.25], [-0.375, 0.375]]]
    assert changed.values.dtype == np.float32
    assert changed.queries == changed.keys
    assert labels(changed.queries) == ["a", "b → c"]
    assert changed.queries[0].title == 'token 1: "a", character 1'
    assert changed.queries[1].title == 'token 2: "b", character 3 → token 2: "c", character 3'


def test_cells_that_either_mask_forbids_stay_masked() -> None:
    first = np.array([[1.0, -np.inf], [2.0, 3.0]], dtype=np.float32)
    second = np.array([[1.5, -np.inf], [-np.inf, 3.0]], dtype=np.float32)
    changed = change(first, [shown("a b")], second, [shown("a b")])
    assert changed.values.tolist() == [[0.5, -np.inf], [-np.inf, 0.0]]


def test_largest_move_of_each_head_whichever_its_sign() -> None:
    values = np.array([[[[0.25, -0.5], [0.0, 0.125]], [[0.0, -np.inf], [0.375, 0.25]]]], dtype=np.float32)
    queries, keys = shown("a b").groups, shown("c d").groups
    assert largest_moves(Change(values, queries, keys)) == (("a", "d", -0.5), ("b", "c", 0.375))


def word(number: int, *pieces: str) -> list[Token]:
    return [Token(piece, number, number, number + 1, number, False) for piece in pieces]


@pytest.mark.parametrize(
    ("merge", "remedy"),
    [(False, "3 pieces, un ##break ##able: Merge pieces"), (True, "equally many words")],
)
def test_different_lengths_get_both_counts_and_a_remedy(merge: bool, remedy: str) -> None:
    first = DisplayTokens((*word(0, "dog"), *word(1, "em", "##bed")), "ab", merge_words=merge)
    both = (*word(0, "em", "##bed"), *word(1, "un", "##break", "##able"), *word(2, "it"))
    second = DisplayTokens(both, "abc", merge_words=merge)
    with pytest.raises(
        AttnvizError, match=f"shows {len(first)} tokens and the second {len(second)},.*{remedy}"
    ):
        change(np.eye(len(first), dtype=np.float32), [first], np.eye(len(second), dtype=np.float32), [second])


def test_between_two_texts_rows_and_columns_have_their_own_names() -> None:
    french, english = shown("il va"), shown("it goes up")
    elle, down = shown("elle va"), shown("it goes down")
    first = np.full((5, 2, 3), 0.25, dtype=np.float32)
    changed = change(first, (french, english), 2 * first, (elle, down), ("translation", "sentence"))
    assert labels(changed.queries) == ["il → elle", "va"]
    assert labels(changed.keys) == ["it", "goes", "up → down"]
    assert np.array_equal(changed.values, first)


@pytest.mark.parametrize(("longer", "named"), [(0, "translation"), (1, "sentence")])
def test_each_side_must_have_as_many_tokens(longer: int, named: str) -> None:
    first = [shown("il va"), shown("it goes up")]
    second = list(first)
    second[longer] = shown("one more word here")
    cells = [np.zeros((len(queries), len(keys)), dtype=np.float32) for queries, keys in (first, second)]
    with pytest.raises(AttnvizError, match=f"The first {named} shows .* Compare {named}s with equally many"):
        change(cells[0], first, cells[1], second, ("translation", "sentence"))
