"""Longer sentences: both languages stay right, and "it" still means what it meant."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.trained.translator import grammar
from attnviz.trained.translator.grammar import written
from attnviz.trained.translator.lexicon import NOUN, PREDICATE
from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH
from training.lengthening import MAX_CLAUSES, Clause, Elastic, clauses


def understood(text: str) -> Elastic | None:
    return Elastic.of(next(grammar.understood(text.split())))


def elastic(text: str) -> Elastic:
    sentence = understood(text)
    assert sentence is not None
    return sentence


def by_chance(seed: int) -> Elastic:
    """A sentence of the grammar that can be longer."""
    dice = random.Random(seed)  # noqa: S311 - sentences are no secret
    while True:
        sentence = Elastic.of(grammar.sentence(dice))
        if sentence:
            return sentence


@pytest.mark.parametrize(
    ("text", "french"),
    [
        (
            "the trophy does not fit in the suitcase because it is too small",
            "Le trophée ne rentre pas dans la valise et la reine est belle parce qu'elle est trop petite.",
        ),
        (
            "the cow reached the forest since it wanted to play",
            "La vache a atteint la forêt et la reine était belle puisqu'elle voulait jouer.",
        ),
    ],
)
def test_a_clause_has_the_tense_the_place_and_the_gender(text: str, french: str) -> None:
    pair = elastic(text).stretched([Clause(NOUN["queen"], PREDICATE["beautiful"])]).pair
    assert written(pair.target) == french


@given(st.integers(0, 2**32), st.integers(0, MAX_CLAUSES))
def test_whatever_is_put_in_it_means_the_same(seed: int, count: int) -> None:
    short = by_chance(seed)
    put_in = clauses(random.Random(seed), count)  # noqa: S311 - no secret
    long = short.stretched(put_in)
    source, target = long.pair.source, long.pair.target
    assert source[long.it.source] == "it"
    assert target[long.it.target] == {"m": "il", "f": "elle"}[NOUN[source[long.it.referent]].gender]
    assert (long.it.referent, long.it.other) == (short.it.referent, short.it.other)
    assert long.pair.pronoun == long.it
    # What was put in stands in one piece; without it, the sentence is what it was.
    english = [word for clause in put_in for word in clause.english(short.tense)]
    french = [word for clause in put_in for word in clause.french(short.tense)]
    at, to = short.it.source - 1, long.it.source - 1
    assert list(source[at:to]) == english
    assert source[:at] + source[to:] == short.pair.source
    at = short.room[1]
    assert list(target[at : at + len(french)]) == french
    assert (*target[:at], *target[at + len(french) :]) == short.pair.target
    # People are never "it", and nobody is spoken of twice.
    people = [word for word in english if word in NOUN]
    assert all(NOUN[word].kind == "person" for word in people)
    assert len(set(people)) == count
    assert not {"it", "he", "she"} & {*english}
    assert target.index(NOUN[source[long.it.referent]].french) < long.room[1] < long.it.target
    assert long.words_apart == short.words_apart + len(english)
    assert all(word in ENGLISH for word in source)
    assert all(word in FRENCH for word in target)


@pytest.mark.parametrize(
    "text",
    [
        "the road was narrow",
        "as it was too tired the dog did not cross the road",
        "the man did not cross the road as it was too narrow",
        "the dog did not cross the road as the dog was too tired",
    ],
)
def test_a_sentence_without_a_place_for_clauses(text: str) -> None:
    assert understood(text) is None
