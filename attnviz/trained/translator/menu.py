"""The options for each gap in "The … did not … the … as it was too …"."""

from functools import cache, lru_cache

from attnviz.trained.translator.families import FAMILIES, OBJECT, SEMANTIC_FAMILIES, SUBJECT, reasons
from attnviz.trained.translator.grammar import Pair, parses
from attnviz.trained.translator.lexicon import NOUN, NOUNS, VERB, Adjective, Predicate

_FAMILIES = [family for family in FAMILIES if family.name in SEMANTIC_FAMILIES]

SUBJECTS = tuple(noun.english for family in _FAMILIES for noun in NOUNS if noun.kind in family.subjects)
"""Possible subjects: animals, vehicles and things."""


@cache
def verbs(subject: str) -> tuple[str, ...]:
    """Return the possible verbs for a subject."""
    options = (verb for family in _FAMILIES if NOUN[subject].kind in family.subjects for verb in family.verbs)
    return tuple(dict.fromkeys(verb.english for verb in options if verb.toward))


@cache
def objects(subject: str, verb: str) -> tuple[str, ...]:
    """Return the possible objects for a subject and a verb."""
    subject_kind = NOUN[subject].kind
    kinds = {kind for family in _FAMILIES if subject_kind in family.subjects for kind in family.objects}
    return tuple(noun.english for noun in NOUNS if noun.kind in kinds & VERB[verb].kinds)


@cache
def predicates(subject: str, verb: str, object_: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the adjectives that make "it" refer to the subject, and the adjectives for the object."""
    kinds = NOUN[subject].kind, NOUN[object_].kind
    for_subject, for_object = (
        reasons(VERB[verb], True, role, kinds[role], (kinds[1 - role],)) for role in (SUBJECT, OBJECT)
    )
    return _gradable(for_subject), _gradable(for_object)


@lru_cache(maxsize=1000)  # the test of long distances adds clauses to the same sentences
def canonical(subject: str, verb: str, object_: str, predicate: str) -> Pair:
    """Return the sentence with these four options of the menu, and its translation."""
    action = VERB[verb].conjugate("past", negated=True)
    return next(parses(f"the {subject} {action} the {object_} as it was too {predicate}".split()))


def _gradable(options: tuple[Predicate, ...]) -> tuple[str, ...]:
    """Return the adjectives that can follow "too"."""
    return tuple(each.english for each in options if isinstance(each, Adjective) and not each.absolute)
