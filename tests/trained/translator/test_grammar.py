"""The grammar's French is correct, and every English sentence has exactly one translation."""

import random
import re

import pytest

from attnviz.trained.translator.grammar import Pair, format_sentence, parses, sentence
from attnviz.trained.translator.lexicon import NOUN, PEOPLE

# Human translations: each English line is followed by its French translation.
TRANSLATIONS = """
The dog did not cross the road as it was too tired.
Le chien n'a pas traversé la route car il était trop fatigué.
The dog did not cross the road as it was too narrow.
Le chien n'a pas traversé la route car elle était trop étroite.
The trophy does not fit in the suitcase as it is too small.
Le trophée ne rentre pas dans la valise car elle est trop petite.
As it was too tired, the dog did not cross the road.
Comme il était trop fatigué, le chien n'a pas traversé la route.
Since she was so curious, the old queen entered the castle.
Puisqu'elle était si curieuse, la vieille reine est entrée dans le château.
The cow entered the stable last night because it wanted to eat.
La vache est entrée dans l'écurie hier soir parce qu'elle voulait manger.
The cat does not explore the forest as it does not want to play.
Le chat n'explore pas la forêt car il ne veut pas jouer.
The old man did not help the girl as he was too selfish.
Le vieil homme n'a pas aidé la fille car il était trop égoïste.
The fox chased the squirrel in front of the school.
Le renard a poursuivi l'écureuil devant l'école.
The cave frightened the dog near the mill as it was so dark.
La grotte a effrayé le chien près du moulin car elle était si sombre.
Every day, the small cat follows the beautiful girl.
Chaque jour, le petit chat suit la belle fille.
An old hen did not avoid the dry alley.
Une vieille poule n'a pas évité la ruelle sèche.
The lake is too deep and the frog does not want to drink.
Le lac est trop profond et la grenouille ne veut pas boire.
The ambulance crossed the farm but did not enter the courtyard.
L'ambulance a traversé la ferme mais n'est pas entrée dans la cour.
"""
_LINES = TRANSLATIONS.strip().splitlines()


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    rng = random.Random(11)  # noqa: S311 - not security-relevant
    return [sentence(rng) for _ in range(4000)]


def english_words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


@pytest.mark.parametrize(("english", "french"), list(zip(_LINES[::2], _LINES[1::2], strict=True)))
def test_grammar_gives_the_human_translations(english: str, french: str) -> None:
    words = english_words(english)
    translations = {pair.target for pair in parses(words)}
    assert [format_sentence(target) for target in translations] == [french]
    assert format_sentence(words) == english


def test_other_sentences_are_not_parsed() -> None:
    others = [
        "The old man did not help the girl as she was too selfish.",
        "The cave near the fountain frightened the dog.",
        "Every day, the small black cat follows the girl.",
    ]
    others += ["Dog dog dog.", "It it it.", "The dog did not cross the road as it was too", "The dog"]
    others += ["The road did not cross the dog as it was too tired."]
    others += ["The dog did not cross the road as it was too old."]  # ambiguous
    others += ["The dog and the cat crossed the road.", "A elephant crossed the road.", ""]
    for text in others:
        assert not list(parses(english_words(text))), text


def test_generated_sentences_are_parsed_with_one_translation(pairs: list[Pair]) -> None:
    assert all(next(parses(pair.source)).target == pair.target for pair in pairs[:400])
    for pair in pairs[:60]:
        found = list(parses(pair.source))
        assert pair in found
        assert {other.target for other in found} == {pair.target}
        assert {other.pronoun for other in found} == {pair.pronoun}


def test_positions_of_the_pronoun_and_its_nouns(pairs: list[Pair]) -> None:
    for pair in pairs:
        assert ("it" in pair.source) == (pair.pronoun is not None)
        if pair.pronoun is None:
            continue
        it = pair.pronoun
        noun = NOUN[pair.source[it.referent]]
        assert pair.source[it.source] == "it"
        assert pair.target[it.target] == {"m": "il", "f": "elle"}[noun.gender]
        people = [word for word in pair.source if word in NOUN and NOUN[word].kind in PEOPLE]
        if it.other is None:
            assert people
        else:
            assert pair.source[it.other] in NOUN
            assert it.other != it.referent
