"""Training and held-out sentences of the translator.

Some combinations of words are held out: two nouns, a noun with a predicate, or two nouns with a
predicate. No training sentence contains one of them, so a model cannot have memorized it.
"""

import random
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import combinations, count, islice

from attnviz.trained.translator import grammar, menu
from attnviz.trained.translator.grammar import Pair
from attnviz.trained.translator.lexicon import NOUN

SPLITS = ("pair", "description", "triple")

_SHARES = {"pair": 0.08, "description": 0.08, "triple": 0.12}

# Chosen so that dog and road, trophy and suitcase are held out, and that every noun keeps four fifths of its
# predicates.
_SALT = "attnviz 48582"

Nouns = Iterable[str]
Descriptions = Sequence[tuple[str, str]]


def combinations_of(nouns: Nouns, descriptions: Descriptions, split: str) -> Iterator[tuple[str, ...]]:
    """Yield the combinations in a sentence that a split may hold out.

    "pair": any two nouns; "description": a noun and an adjective or wish that describes it; "triple": any two
    nouns and any adjective or wish.
    """
    if split == "description":
        yield from descriptions
        return
    for two in combinations(sorted({*nouns}), 2):
        if split == "pair":
            yield two
        else:
            yield from ((*two, predicate) for _, predicate in descriptions)


@cache
def is_held_out(split: str, combination: tuple[str, ...]) -> bool:
    """Return whether a combination is held out; determined by its hash, so that it is reproducible."""
    number = zlib.crc32(" ".join((_SALT, split, *combination)).encode())
    return number / 2**32 < _SHARES[split]


def holds(pair: Pair, split: str) -> bool:
    """Return whether a sentence has a combination that a split holds out."""
    return _holds(pair.nouns, pair.descriptions, split)


def training(size: int, seed: int) -> list[Pair]:
    """Return training sentences, without held-out combinations of any split."""
    return _sentences(size, seed, lambda pair: not any(holds(pair, split) for split in SPLITS))


def held_out(split: str, size: int, seed: int) -> list[Pair]:
    """Return test sentences, each with a held-out combination of this split."""
    return _sentences(size, seed, lambda pair: holds(pair, split))


def minimal_pairs(size: int, seed: int) -> list[tuple[Pair, Pair]]:
    """Return pairs of sentences that differ in one word, in the referent of "it", and in "il" or "elle".

    "The dog did not cross the road as it was too tired" / "narrow": the nouns differ in gender, and each
    sentence has a held-out combination of some split. In the first one, "it" refers to the subject.
    """
    dice = random.Random(seed)  # noqa: S311 - sentences are no secret
    pairs: list[tuple[Pair, Pair]] = []
    while len(pairs) < size:
        subject = dice.choice(menu.SUBJECTS)
        verb = dice.choice(menu.verbs(subject))
        object_ = dice.choice(menu.objects(subject, verb))
        if NOUN[subject].gender == NOUN[object_].gender:
            continue
        of_subject, of_object = menu.predicates(subject, verb, object_)
        spoken = (subject, dice.choice(of_subject)), (object_, dice.choice(of_object))
        if all(any(_holds((subject, object_), [each], split) for split in SPLITS) for each in spoken):
            one, two = (menu.canonical(subject, verb, object_, predicate) for _, predicate in spoken)
            pairs.append((one, two))
    return pairs


def _sentences(size: int, seed: int, wanted: Callable[[Pair], bool]) -> list[Pair]:
    dice = random.Random(seed)  # noqa: S311 - sentences are no secret
    return list(islice(filter(wanted, (grammar.sentence(dice) for _ in count())), size))


def _holds(nouns: Nouns, descriptions: Descriptions, split: str) -> bool:
    return any(is_held_out(split, each) for each in combinations_of(nouns, descriptions, split))
