"""What is held out is never learned from: found again in the words themselves, not in the grammar's notes."""

import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import combinations

import pytest

from attnviz.trained.translator import splits
from attnviz.trained.translator.grammar import Pair, written
from attnviz.trained.translator.lexicon import ADJECTIVES, NOUN, NOUNS, PREDICATE
from attnviz.trained.translator.splits import SPLITS, is_held_out

SIZE = 10_000
BETWEEN = {"was", "is", "wanted", "wants", "want", "did", "does", "to", "not", "too", "very", "so", "really"}


@pytest.fixture(scope="module")
def training() -> list[Pair]:
    return splits.training(SIZE, seed=0)


def nouns(pair: Pair) -> list[str]:
    return sorted({word for word in pair.source if word in NOUN})


def descriptions(pair: Pair) -> Iterator[tuple[str, ...]]:
    """What is said of which noun, as a reader finds it who goes through the English words."""
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
    spoken = [word for word in pair.source if word in PREDICATE]
    return [(*two, word) for two in combinations(nouns(pair), 2) for word in spoken]


@pytest.mark.parametrize("split", SPLITS)
def test_nothing_held_out_is_learned_from(training: list[Pair], split: str) -> None:
    learned = Counter(each for pair in training for each in combinations_in(pair, split))
    assert len(learned) > 500
    assert not [each for each in learned if is_held_out(split, each)]


@pytest.mark.parametrize("split", SPLITS)
def test_what_is_tested_with_is_held_out(split: str) -> None:
    for pair in splits.held_out(split, 300, seed=1):
        assert any(is_held_out(split, each) for each in combinations_in(pair, split)), written(pair.source)


def test_minimal_pairs() -> None:
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


def test_every_noun_is_learned_with_every_sort_of_word(training: list[Pair]) -> None:
    """Each as the subject, as the object, as what "it" means, and with most of what can be said of it."""
    seen = Counter(noun for pair in training for noun in nouns(pair))
    meant = Counter(pair.source[pair.pronoun.referent] for pair in training if pair.pronoun)
    other = Counter(
        pair.source[pair.pronoun.other] for pair in training if pair.pronoun and pair.pronoun.other
    )
    spoken = {each for pair in training for each in descriptions(pair)}
    for noun in NOUNS:
        word = noun.english
        assert seen[word] >= 30, word
        if noun.kind not in {"person", "landmark"}:
            assert meant[word] >= 20, word
            assert other[word] >= 20, word
        possible = [each.english for each in ADJECTIVES if noun.kind in each.kinds]
        assert sum((word, each) in spoken for each in possible) >= 0.6 * len(possible), word


def test_every_adjective_and_wish_is_learned(training: list[Pair]) -> None:
    spoken = Counter(predicate for pair in training for _, predicate in descriptions(pair))
    assert min(spoken[predicate] for predicate in PREDICATE) >= 25


def test_the_opening_sentences_are_held_out() -> None:
    assert is_held_out("pair", ("dog", "road"))
    assert is_held_out("pair", ("suitcase", "trophy"))


def test_the_shares_are_the_ones_that_are_stated() -> None:
    words = [noun.english for noun in NOUNS]
    pairs = [is_held_out("pair", two) for two in combinations(sorted(words), 2)]
    spoken = [is_held_out("description", (noun, each)) for noun in words for each in PREDICATE]
    assert sum(pairs) / len(pairs) == pytest.approx(0.08, abs=0.01)
    assert sum(spoken) / len(spoken) == pytest.approx(0.08, abs=0.01)


def test_the_sentences_are_the_ones_that_the_shipped_weights_learned_from() -> None:
    """Whoever changes the grammar changes what can be held out, and has to train again."""
    pairs = splits.training(300, seed=0)
    assert zlib.crc32(repr([(pair.source, pair.target) for pair in pairs]).encode()) == 2771186965


def test_the_same_seed_gives_the_same_sentences() -> None:
    assert splits.training(50, seed=3) == splits.training(80, seed=3)[:50]
    assert splits.training(50, seed=3) != splits.training(50, seed=4)
