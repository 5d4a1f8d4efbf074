"""Lengthened sentences: both languages are correct, and "it" refers to the same noun."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnviz.trained.translator import grammar
from attnviz.trained.translator.grammar import Pair, format_sentence
from attnviz.trained.translator.lexicon import NOUN, PREDICATE
from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH
from training.lengthening import MAX_CLAUSES, can_be_lengthened, clauses, lengthened


def parsed(text: str) -> Pair:
    return next(grammar.parses(text.split()))


def random_sentence(seed: int) -> Pair:
    """Draw a random sentence that can be lengthened."""
    rng = random.Random(seed)  # noqa: S311 - not security-relevant
    return next(filter(can_be_lengthened, iter(lambda: grammar.sentence(rng), None)))


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
def test_the_lengthened_sentence_is_translated_correctly(text: str, french: str) -> None:
    pair = lengthened(parsed(text), [(NOUN["queen"], PREDICATE["beautiful"])])
    assert format_sentence(pair.target) == french


@given(st.integers(0, 2**32), st.integers(0, MAX_CLAUSES))
def test_a_lengthened_sentence_keeps_its_referent(seed: int, count: int) -> None:
    short = random_sentence(seed)
    long = lengthened(short, clauses(random.Random(seed), count))  # noqa: S311 - not security-relevant
    before, it = short.pronoun, long.pronoun
    assert before is not None
    assert it is not None
    assert long.source[it.source] == "it"
    assert long.target[it.target] == {"m": "il", "f": "elle"}[NOUN[long.source[it.referent]].gender]
    assert (it.referent, it.other) == (before.referent, before.other)
    # The insertion is contiguous; without it, the sentence is the original sentence.
    assert (*long.source[: before.source - 1], *long.source[it.source - 1 :]) == short.source
    inserted = long.source[before.source - 1 : it.source - 1]
    assert any(
        (*long.target[:at], *long.target[at + it.target - before.target :]) == short.target
        for at in range(before.target)
    )
    # The inserted nouns are people, so "it" never refers to them; each occurs once.
    people = [word for word in inserted if word in NOUN]
    assert all(NOUN[word].kind == "person" for word in people)
    assert len(set(people)) == len(people) == count
    assert not {"it", "he", "she"} & {*inserted}
    assert all(word in ENGLISH for word in long.source)
    assert all(word in FRENCH for word in long.target)


@pytest.mark.parametrize(
    "text",
    [
        "the road was narrow",
        "as it was too tired the dog did not cross the road",
        "the man did not cross the road as it was too narrow",
        "the dog did not cross the road as the dog was too tired",
    ],
)
def test_some_sentences_cannot_be_lengthened(text: str) -> None:
    assert not can_be_lengthened(parsed(text))
