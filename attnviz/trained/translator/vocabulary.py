"""The translator's vocabularies, one for English and one for French."""

from collections.abc import Iterator

from attnviz.trained.translator import lexicon
from attnviz.trained.vocabulary import Vocabulary


def _english() -> Iterator[str]:
    yield from lexicon.ARTICLES
    yield from ("it", "he", "she", "is", "was", "does", "did", "not", "wants", "wanted", "want", "to")
    yield from (noun.english for noun in lexicon.NOUNS)
    yield from (predicate.english for predicate in lexicon.PREDICATES)
    for verb in lexicon.VERBS:
        yield from (verb.english, verb.past, verb.third, *verb.english_preposition.split())
    yield from (part for word in _fixed_words() for part in word.english.split())


def _french() -> Iterator[str]:
    yield from ("le", "la", "l'", "un", "une", "de", "du", "d'")
    yield from ("il", "elle", "est", "était", "a", "ne", "n'", "pas", "veut", "voulait", "que", "qu'")
    yield "puisqu'"
    yield from (noun.french for noun in lexicon.NOUNS)
    for adjective in lexicon.ADJECTIVES:
        yield from filter(None, (adjective.masculine, adjective.feminine, adjective.before_vowel))
    yield from (wish.french for wish in lexicon.WISHES)
    for verb in lexicon.VERBS:
        yield from (verb.present, *verb.french_preposition.split())
        yield verb.participle or verb.imperfect
        if verb.participle and verb.auxiliary == "est":
            yield f"{verb.participle}e"
    yield from (part for word in _fixed_words() for part in word.french.split())


def _fixed_words() -> Iterator[lexicon.Word]:
    yield from (*lexicon.INTENSIFIERS, lexicon.ENOUGH, *lexicon.PREPOSITIONS, *lexicon.CONNECTIVES)
    yield from (*lexicon.FRONTED_CONNECTIVES, *lexicon.CONJUNCTIONS)
    for adverbials in lexicon.ADVERBIALS.values():
        yield from adverbials


ENGLISH = Vocabulary(_english())
FRENCH = Vocabulary(_french())
