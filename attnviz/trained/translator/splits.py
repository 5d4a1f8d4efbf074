"""Training and held-out sentences of the translator.

Some combinations of words are held out: two nouns, a noun with a predicate, or two nouns with a
predicate. They occur in no training sentence, so a model cannot have memorized them.
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

# With this salt, the pairs dog–road and trophy–suitcase are held out, and at least four fifths of each noun's
# predicates are in the training set.
_SALT = "attnviz 48582"

Nouns = Iterable[str]
Descriptions = Sequence[tuple[str, str]]


def combinations_of(nouns: Nouns, descriptions: Descriptions, split: str) -> Iterator[tuple[str, ...]]:
    """Yield the combinations of words in a sentence that a split can hold out.

    "pair": any two nouns; "description": a noun and a predicate (an adjective or a wish, such as "wants
    to eat") of this noun; "triple": any two nouns and any predicate.
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
    """Return whether a combination is held out, as determined by its hash."""
    number = zlib.crc32(" ".join((_SALT, split, *combination)).encode())
    return number / 2**32 < _SHARES[split]


def has_held_out(pair: Pair, split: str) -> bool:
    """Return whether a sentence has a held-out combination of a split."""
    return _has_held_out(pair.nouns, pair.descriptions, split)


def training(size: int, seed: int) -> list[Pair]:
    """Return training sentences, without held-out combinations of any split."""
    return _sentences(size, seed, lambda pair: not any(has_held_out(pair, split) for split in SPLITS))


def held_out(split: str, size: int, seed: int) -> list[Pair]:
    """Return test sentences, each with a held-out combination of this split."""
    return _sentences(size, seed, lambda pair: has_held_out(pair, split))


def minimal_pairs(size: int, seed: int) -> list[tuple[Pair, Pair]]:
    """Return pairs of sentences that differ in one word, which changes the referent of "it".

    For example, "The dog did not cross the road as it was too tired" / "narrow". The nouns differ in gender,
    and each sentence has a held-out combination of some split. In the first sentence, "it" refers to the
    subject.
    """
    rng = random.Random(seed)  # noqa: S311 - not for security
    pairs: list[tuple[Pair, Pair]] = []
    while len(pairs) < size:
        subject = rng.choice(menu.SUBJECTS)
        verb = rng.choice(menu.verbs(subject))
        object_ = rng.choice(menu.objects(subject, verb))
        if NOUN[subject].gender == NOUN[object_].gender:
            continue
        for_subject, for_object = menu.predicates(subject, verb, object_)
        described = (subject, rng.choice(for_subject)), (object_, rng.choice(for_object))
        if all(
            any(_has_held_out((subject, object_), [each], split) for split in SPLITS) for each in described
        ):
            one, two = (menu.canonical(subject, verb, object_, predicate) for _, predicate in described)
            pairs.append((one, two))
    return pairs


def _sentences(size: int, seed: int, wanted: Callable[[Pair], bool]) -> list[Pair]:
    rng = random.Random(seed)  # noqa: S311 - not for security
    return list(islice(filter(wanted, (grammar.sentence(rng) for _ in count())), size))


def _has_held_out(nouns: Nouns, descriptions: Descriptions, split: str) -> bool:
    return any(is_held_out(split, each) for each in combinations_of(nouns, descriptions, split))
