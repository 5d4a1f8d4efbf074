"""Who does what to whom, and because of what: the sorts of nouns that go with a verb, and its reasons."""

from dataclasses import dataclass
from functools import cache

from attnviz.trained.translator.lexicon import PEOPLE, PREDICATE, PREDICATES, VERB, Gender, Predicate, Verb

SUBJECT, OBJECT = 0, 1
"""The roles of a sentence's two nouns, as places in its tuples."""

Genders = tuple[Gender | None, Gender | None]


@dataclass(frozen=True, eq=False)
class Family:
    """Who does what to whom.

    Attributes:
        subjects, objects: the sorts of nouns.
        verbs: what they do, and how often, relative to the other verbs.
        share: how frequent such sentences are, relative to the others.
    """

    name: str
    subjects: tuple[str, ...]
    verbs: dict[Verb, int]
    objects: tuple[str, ...]
    share: int

    def objects_of(self, verb: Verb) -> tuple[str, ...]:
        """Those sorts of objects that the verb takes."""
        return tuple(kind for kind in self.objects if kind in verb.kinds)


def _verbs(often: str, seldom: str = "") -> dict[Verb, int]:
    return {VERB[name]: share for names, share in ((often, 3), (seldom, 1)) for name in names.split()}


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

OF_TWO_SORTS = tuple(family.name for family in FAMILIES[:3])
"""The families in which what "it" means follows from what sort of thing can be so, or fits in what."""


@cache
def genders(subject: str, object_: str) -> tuple[Genders, ...]:
    """The genders that two sorts of nouns can have: chosen for people, one of each where both are people."""
    if subject in PEOPLE and object_ in PEOPLE:
        return ("m", "f"), ("f", "m")
    if subject in PEOPLE:
        return ("m", None), ("f", None)
    return ((None, "m"), (None, "f")) if object_ in PEOPLE else ((None, None),)


@cache
def reasons(
    verb: Verb, negated: bool, role: int, kind: str, unlike: tuple[str, ...]
) -> tuple[Predicate, ...]:
    """The possible reasons for an action.

    Args:
        role: where the reason lies, in the subject or in the object.
        kind: what sort of noun that is.
        unlike: other sorts of nouns in the sentence, which it must not describe as well; where the verb has
            its own list of reasons, only landmarks count.
    """
    named = verb.because_not if negated else verb.because
    if named:
        names = named.of_object if role == OBJECT else named.of_subject
        options = [PREDICATE[name] for name in names]
        return tuple(
            each for each in options if kind in each.kinds and "landmark" not in each.kinds & {*unlike}
        )
    hinders = negated == verb.toward
    return tuple(
        each
        for each in PREDICATES
        if each.hinders is hinders and kind in each.kinds and not each.kinds & {*unlike}
    )
