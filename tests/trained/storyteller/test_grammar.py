"""Stories use the whole vocabulary, fit the token limit, and have no held-out combinations."""

import random
import re
import zlib
from collections.abc import Iterable
from itertools import combinations, product

import pytest

from attnviz.trained.storyteller import grammar
from attnviz.trained.storyteller.grammar import CHANT, CONTAINERS, MEN, NOUNS, VOCABULARY, WOMEN
from attnviz.trained.vocabulary import END, PAD, START

NAMES = {*WOMEN, *MEN}


def rng(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - not security-relevant


SINGULAR = {plural: noun for noun in NOUNS for plural in (noun, grammar.plural(noun))}


def test_word_order_matches_the_shipped_weights() -> None:
    assert VOCABULARY.words[:4] == (PAD, START, END, CHANT)
    assert len({word.lower() for word in VOCABULARY.words}) == len(VOCABULARY) == 259
    assert zlib.crc32(" ".join(VOCABULARY.words).encode()) == 1976232442


def test_texts_fit_the_model_and_use_every_word() -> None:
    generator = rng(1)
    texts = [grammar.text(generator, repetition_share=0.2) for _ in range(3000)]
    assert {word for text in texts for word in text} == {*VOCABULARY.words} - {PAD}
    assert max(len(text) - 1 for text in texts) <= grammar.TOKEN_LIMIT
    assert {(text[0], text[-1] == END) for text in texts} == {(START, True), (CHANT, False)}


def test_stories_have_no_held_out_combinations() -> None:
    stories = [" ".join(grammar.story(rng(seed))) for seed in range(3000)]
    for story in stories:
        outside_quotes = re.sub(r"\w+ said : [^.]*", "", story)  # quotes combine words at random
        people = {word for word in outside_quotes.split() if word in NAMES}
        assert not any(grammar.is_held_out("names", pair) for pair in combinations(sorted(people), 2))
    for split, pattern in (
        ("nouns", r"the (\w+) (?:near|behind|beside|by) the (\w+) (?:was|were)"),
        ("contained", r"the (\w+) in the (\w+) \."),
    ):
        found = re.findall(pattern, "\n".join(stories))
        assert len(found) > 1000
        assert not any(
            grammar.is_held_out(split, (SINGULAR.get(one, one), SINGULAR.get(two, two))) for one, two in found
        )


@pytest.mark.parametrize(
    ("split", "pairs", "share"),
    [
        ("names", combinations(sorted(NAMES), 2), 0.19),
        ("nouns", combinations(NOUNS, 2), 0.1),
        ("contained", product(NOUNS, CONTAINERS), 0.1),
    ],
)
def test_held_out_shares_are_as_stated(split: str, pairs: Iterable[tuple[str, str]], share: float) -> None:
    held_out = [grammar.is_held_out(split, (one, two)) for one, two in pairs]
    assert sum(held_out) / len(held_out) == pytest.approx(share, abs=0.03)
