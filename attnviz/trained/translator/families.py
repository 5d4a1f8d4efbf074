"""Semantic families: kinds of nouns that a verb can have as subject and object, and possible reasons."""

from dataclasses import dataclass
from functools import cache

from attnviz.trained.translator.lexicon import PEOPLE, PREDICATE, PREDICATES, VERB, Gender, Predicate, Verb

SUBJECT, OBJECT = 0, 1
"""The roles of a sentence's two nouns, as indices."""

Genders = tuple[Gender | None, Gender | None]


@dataclass(frozen=True, eq=False)
class Family:
    """Subjects, verbs and objects that can be combined.

    Attributes:
        subjects, objects: Kinds of nouns.
        verbs: Verbs with their relative frequencies.
        share: Relative frequency of the family.
    """

    name: str
    subjects: tuple[str, ...]
    verbs: dict[Verb, int]
    objects: tuple[str, ...]
    share: int

    def objects_of(self, verb: Verb) -> tuple[str, ...]:
        """Return the kinds of objects of a verb."""
        return tuple(kind for kind in self.objects if kind in verb.kinds)


def _verbs(frequent: str, rare: str = "") -> dict[Verb, int]:
    return {VERB[name]: share for names, share in ((frequent, 3), (rare, 1)) for name in names.split()}


_PLACES = ("way", "water", "land", "building")
_DRY = ("way", "land", "building")
_GOING = _verbs("cross", "reach explore enter avoid visit")
_DRIVING = _verbs("cross", "reach enter")

FAMILIES = (
    Family("an animal and a place", ("animal",), _GOING, _PLACES, 36),
    Family("a vehicle and a place", ("vehicle",), _DRIVING, _DRY, 11),
    Family("a thing and a container", ("thing",), _verbs("fit"), ("container",), 14),
    Family("two animals", ("animal",), _verbs("fear chase help follow"), ("animal",), 16),
    Family("a place and an animal", _PLACES, _verbs("frighten attract"), ("animal", "person"), 8),
    Family("a person and a place", ("person",), _GOING, _PLACES, 8),
    Family("a person and somebody", ("person",), _verbs("fear help follow"), ("animal", "person"), 5),
    Family("an animal and a person", ("animal",), _verbs("fear help follow"), ("person",), 2),
)

SEMANTIC_FAMILIES = tuple(family.name for family in FAMILIES[:3])
"""The families in which the kinds of the nouns determine the referent of "it"."""


@cache
def genders(subject: str, object_: str) -> tuple[Genders, ...]:
    """Return the possible genders of two nouns: different for two people; None for nouns of other kinds."""
    if subject in PEOPLE and object_ in PEOPLE:
        return ("m", "f"), ("f", "m")
    if subject in PEOPLE:
        return ("m", None), ("f", None)
    return ((None, "m"), (None, "f")) if object_ in PEOPLE else ((None, None),)


@cache
def reasons(
    verb: Verb, negated: bool, role: int, kind: str, other_kinds: tuple[str, ...]
) -> tuple[Predicate, ...]:
    """Return the possible reasons for an action.

    Args:
        role: Role of the noun that the reason describes.
        kind: Kind of that noun.
        other_kinds: Kinds of nouns that the reason must not describe; only "landmark" has an effect if the
            verb has its own list of reasons.
    """
    named = verb.because_not if negated else verb.because
    if named:
        names = named.of_object if role == OBJECT else named.of_subject
        options = [PREDICATE[name] for name in names]
        return tuple(
            each for each in options if kind in each.kinds and "landmark" not in each.kinds & {*other_kinds}
        )
    hinders = negated == verb.toward
    return tuple(
        each
        for each in PREDICATES
        if each.hinders is hinders and kind in each.kinds and not each.kinds & {*other_kinds}
    )
