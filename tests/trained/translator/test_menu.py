"""Every choice in the menus makes a sentence of the grammar, with predicates for either noun."""

import random

from attnviz.trained.translator import menu
from attnviz.trained.translator.grammar import format_sentence
from attnviz.trained.translator.lexicon import NOUN


def test_every_choice_gives_a_sentence() -> None:
    dog_predicates, road_predicates = menu.predicates("dog", "cross", "road")
    assert ("tired" in dog_predicates, "narrow" in road_predicates) == (True, True)
    pair = menu.canonical("dog", "cross", "road", "tired")
    assert format_sentence(pair.target) == "Le chien n'a pas traversé la route car il était trop fatigué."
    rng = random.Random(0)  # noqa: S311 - not security-relevant
    for subject in menu.SUBJECTS:
        for verb in menu.verbs(subject):
            object_ = rng.choice(menu.objects(subject, verb))
            readings = menu.predicates(subject, verb, object_)
            assert not {*readings[0]} & {*readings[1]}
            for noun, predicates in zip((subject, object_), readings, strict=True):
                pair = menu.canonical(subject, verb, object_, rng.choice(predicates))
                assert pair.pronoun
                assert pair.source[pair.pronoun.referent] == noun
                assert pair.target[pair.pronoun.target] == {"m": "il", "f": "elle"}[NOUN[noun].gender]
