"""The vocabulary of a small model."""

import difflib
import unicodedata
from collections.abc import Iterable

PAD, START, END = "[PAD]", "[START]", "[END]"

_NEAREST = 3  # known words that are offered for an unknown one
_LIKENESS = 0.65  # of 1: at least as much as a known word needs to be offered
_MAX_LETTERS = 20  # letters: no known word is like a word with more


class Vocabulary:
    """Words in a fixed order: the number of a word is its row in the model's table.

    Attributes:
        words: all of them; the first three are [PAD], [START] and [END].
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(dict.fromkeys((PAD, START, END, *words)))
        self._ids = {word: number for number, word in enumerate(self.words)}
        self._by_small_letters = {word.lower(): word for word in self.words if not word.startswith("[")}

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

    def spelled(self, word: str) -> str | None:
        """How the vocabulary spells a word, whatever its capital letters; None if it has no such word."""
        return self._by_small_letters.get(unicodedata.normalize("NFC", word.lower()))

    def nearest(self, word: str) -> list[str]:
        """Words that are spelled almost like an unknown one, nearest first."""
        if len(word) > _MAX_LETTERS:
            return []
        known = self._by_small_letters
        found = difflib.get_close_matches(
            unicodedata.normalize("NFC", word.lower()), known, _NEAREST, _LIKENESS
        )
        return [known[near] for near in found]

    def word(self, number: int) -> str:
        """The word with this number."""
        return self.words[number]
