"""The vocabulary has exactly the words of the grammar, in the order of the shipped weights."""

import random
import zlib

import pytest

from attnviz.trained.translator import grammar
from attnviz.trained.translator.lexicon import without_gender
from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH
from attnviz.trained.vocabulary import END, PAD, START


def test_word_order_matches_the_shipped_weights() -> None:
    orders = [zlib.crc32(" ".join(vocabulary.words).encode()) for vocabulary in (ENGLISH, FRENCH)]
    assert [len(ENGLISH), len(FRENCH)] == [241, 274]
    assert orders == [443579308, 2261168497]


def test_sentences_use_exactly_the_vocabulary() -> None:
    rng = random.Random(0)  # noqa: S311 - not security-relevant
    pairs = [grammar.sentence(rng) for _ in range(8000)]
    special = {PAD, START, END}
    assert {word for pair in pairs for word in pair.source} == {*ENGLISH.words} - special
    assert {word for pair in pairs for word in pair.target} == {*FRENCH.words} - special


@pytest.mark.parametrize(
    ("word", "masculine"),
    [("elle", "il"), ("étroite", "étroit"), ("vieil", "vieux"), ("entrée", "entré"), ("route", "route")],
)
def test_a_word_without_its_gender(word: str, masculine: str) -> None:
    assert without_gender(word) == masculine
