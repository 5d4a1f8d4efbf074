"""The training set has no held-out combinations; the tests search its English sentences for them."""

import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import combinations

import pytest

from attnviz.trained.translator import splits
from attnviz.trained.translator.grammar import Pair, format_sentence
from attnviz.trained.translator.lexicon import NOUN, NOUNS, PREDICATE
from attnviz.trained.translator.splits import SPLITS, is_held_out

SIZE = 10_000
BETWEEN = {"was", "is", "wanted", "wants", "want", "did", "does", "to", "not", "too", "very", "so", "really"}


@pytest.fixture(scope="module")
def training() -> list[Pair]:
    return splits.training(SIZE, seed=0)


def nouns(pair: Pair) -> list[str]:
    return sorted({word for word in pair.source if word in NOUN})


def descriptions(pair: Pair) -> Iterator[tuple[str, ...]]:
    """Yield each noun with its predicate, found from the order of the English words."""
    words = pair.source
    for place, word in enumerate(words):
        if word not in PREDICATE:
            continue
        if place + 1 < len(words) and words[place + 1] in NOUN:
            yield words[place + 1], word
            continue
        subject = next(each for each in reversed(words[:place]) if each not in BETWEEN)
        if subject == "it":
            assert pair.pronoun
            subject = words[pair.pronoun.referent]
        elif subject in {"he", "she"}:
            (subject,) = [noun for noun in nouns(pair) if NOUN[noun].pronoun == subject]
        yield subject, word


def combinations_in(pair: Pair, split: str) -> list[tuple[str, ...]]:
    if split == "description":
        return [*descriptions(pair)]
    if split == "pair":
        return list(combinations(nouns(pair), 2))
    predicates = [word for word in pair.source if word in PREDICATE]
    return [(*two, word) for two in combinations(nouns(pair), 2) for word in predicates]


@pytest.mark.parametrize("split", SPLITS)
def test_training_set_has_no_held_out_combinations(training: list[Pair], split: str) -> None:
    trained = Counter(each for pair in training for each in combinations_in(pair, split))
    assert len(trained) > 500
    assert not [each for each in trained if is_held_out(split, each)]


@pytest.mark.parametrize("split", SPLITS)
def test_held_out_sentences_have_held_out_combinations(split: str) -> None:
    for pair in splits.held_out(split, 300, seed=1):
        assert any(is_held_out(split, each) for each in combinations_in(pair, split)), format_sentence(
            pair.source
        )


def test_minimal_pairs_differ_in_the_last_word_and_the_referent() -> None:
    pairs = splits.minimal_pairs(150, seed=1)
    assert len({one.source for one, _ in pairs}) > 100
    for one, other in pairs:
        assert one.source[:-1] == other.source[:-1]
        assert one.source[-1] != other.source[-1]
        assert one.pronoun
        assert other.pronoun
        assert (one.pronoun.referent, one.pronoun.other) == (other.pronoun.other, other.pronoun.referent)
        assert one.pronoun.referent == 1
        row = one.pronoun.target
        assert {one.target[row], other.target[row]} == {"il", "elle"}
        for pair in (one, other):
            assert any(is_held_out(split, each) for split in SPLITS for each in combinations_in(pair, split))


def test_held_out_shares_are_as_stated() -> None:
    words = [noun.english for noun in NOUNS]
    pairs = [is_held_out("pair", two) for two in combinations(sorted(words), 2)]
    predicates = [is_held_out("description", (noun, each)) for noun in words for each in PREDICATE]
    assert sum(pairs) / len(pairs) == pytest.approx(0.08, abs=0.01)
    assert sum(predicates) / len(predicates) == pytest.approx(0.08, abs=0.01)


def test_training_sentences_match_the_shipped_weights() -> None:
    """A change to the grammar changes the splits and requires new training runs."""
    pairs = splits.training(300, seed=0)
    assert zlib.crc32(repr([(pair.source, pair.target) for pair in pairs]).encode()) == 2771186965
