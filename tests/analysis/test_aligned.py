import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.analysis.aligned import Place, Word, align, aligned_sentences, place_labels, place_weights
from attnviz.errors import AttnvizError
from tests.analysis.texts import shown


def words(text: str) -> list[Word]:
    """Return the words of the text; words in brackets are special tokens."""
    return [(word.startswith("["), word) for word in text.split()]


def alignment(first: str, second: str) -> str:
    """Return the alignment as a line, such as "the dog→cat −was +is"."""
    one, other = first.split(), second.split()

    def name(place: Place) -> str:
        if place.second is None:
            assert place.first is not None
            return f"−{one[place.first]}"
        if place.first is None:
            return f"+{other[place.second]}"
        return one[place.first] if place.same else f"{one[place.first]}→{other[place.second]}"

    return " ".join(map(name, align(words(first), words(second))))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("the dog was tired", "the dog was narrow", "the dog was tired→narrow"),
        ("the dog was tired", "the big dog was very tired", "the +big dog was +very tired"),
        ("it was too tired .", "it was narrow .", "it was −too −tired +narrow ."),
        ("a b c d", "a x y d", "a b→x c→y d"),
        ("[CLS] a", "x a", "−[CLS] +x a"),  # a word is never aligned with a special token
        ("a [SEP]", "a", "a −[SEP]"),
        ("the dog .", "the dog barks", "the dog −. +barks"),  # a word is never aligned with punctuation
        ("the dog .", "the dog ?", "the dog .→?"),
        # Repeated words are aligned with their neighbours.
        ("the dog saw the cat", "the cat", "−the −dog −saw the cat"),
        ("the dog saw the cat", "the dog", "the dog −saw −the −cat"),
        (
            "time flies like an arrow but fruit flies like a banana",
            "fruit flies like a banana",
            "−time −flies −like −an −arrow −but fruit flies like a banana",
        ),
        ("very good", "very very very good", "+very +very very good"),
    ],
)
def test_alignment_of_two_texts(first: str, second: str, expected: str) -> None:
    assert alignment(first, second) == expected


WORD_LISTS = st.lists(st.sampled_from(words("a b c [SEP]")), max_size=7)


@given(WORD_LISTS, WORD_LISTS)
def test_every_word_is_aligned_once_and_in_order(first: list[Word], second: list[Word]) -> None:
    places = align(first, second)
    assert [place.first for place in places if place.first is not None] == list(range(len(first)))
    assert [place.second for place in places if place.second is not None] == list(range(len(second)))
    for place in places:
        if place.first is not None and place.second is not None:
            one, other = first[place.first], second[place.second]
            assert one == other if place.same else one != other and one[0] == other[0]
        else:
            assert not place.same
            assert not place.shared


def test_labels_name_both_texts() -> None:
    first, second = shown("a b c"), shown("A x c y")
    places = aligned_sentences(first, second)
    groups = place_labels(places, first.groups, second.groups)
    assert [group.label for group in groups] == ["a", "b → x", "c", "+ y"]
    assert [group.number for group in groups] == [1, 2, 3, 4]
    assert groups[3].title == 'only in the second text: token 4: "y", character 7'
    reverse = aligned_sentences(second, first)
    assert [group.label for group in place_labels(reverse, second.groups, first.groups)] == [
        *("A", "x → b", "c", "− y")
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        *(("a b", "c d"), ("a b .", "c d ."), (". ?", ". ?")),  # no common words
        *(
            ("a b x .", "a c d e ."),
            ("a b c x y", "y c b a z v"),
            ("a b c d e", "a b x y z w"),
        ),  # too few common words
    ],
)
def test_texts_with_too_few_common_words_are_refused(first: str, second: str) -> None:
    for one, other in ((first, second), (second, first)):
        with pytest.raises(AttnvizError, match="at least half are required"):
            aligned_sentences(shown(one), shown(other))


def test_weights_are_placed_on_the_aligned_grid() -> None:
    weights = np.arange(2 * 5 * 3, dtype=np.float32).reshape(2, 5, 3)
    placed = place_weights(weights, [4, None, 0], [None, 2, 0, 1])
    gap = np.nan
    expected = [
        [[gap, 14, 12, 13], [gap] * 4, [gap, 2, 0, 1]],
        [[gap, 29, 27, 28], [gap] * 4, [gap, 17, 15, 16]],
    ]
    np.testing.assert_array_equal(placed, expected)
    assert placed.dtype == np.float32
