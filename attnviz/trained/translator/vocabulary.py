"""The words that the small translator knows, numbered: one list for English, one for French."""

from collections.abc import Iterable, Iterator

from attnviz.trained.translator import lexicon

PAD, START, END = "[PAD]", "[START]", "[END]"


class Vocabulary:
    """Words in a fixed order: the number of a word is its row in the model's table.

    Attributes:
        words: all of them; the first three are [PAD], [START] and [END].
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(dict.fromkeys((PAD, START, END, *words)))
        self._ids = {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._ids

    def ids(self, words: Iterable[str]) -> list[int]:
        """The numbers of some words.

        Raises:
            KeyError: the vocabulary has no such word.
        """
        return [self._ids[word] for word in words]

    def word(self, number: int) -> str:
        """The word with this number."""
        return self.words[number]


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
