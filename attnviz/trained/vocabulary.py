"""The vocabulary of a small model."""

import difflib
import unicodedata
from collections.abc import Iterable

PAD, START, END = "[PAD]", "[START]", "[END]"

_MAX_SUGGESTIONS = 3
_MIN_SIMILARITY = 0.75  # 0 to 1, between a suggestion and the unknown word
_MIN_LETTERS, _MAX_LETTERS = 4, 20  # shorter and longer words have no suggestions


class Vocabulary:
    """Words in a fixed order: the id of a word is its row in the embedding table.

    Attributes:
        words: All words; the first three are [PAD], [START] and [END].
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(dict.fromkeys((PAD, START, END, *words)))
        self._ids = {word: number for number, word in enumerate(self.words)}
        self._by_lower_case = {word.lower(): word for word in self.words if not word.startswith("[")}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._ids

    def ids(self, words: Iterable[str]) -> list[int]:
        """Return the ids of some words.

        Raises:
            KeyError: the vocabulary has no such word.
        """
        return [self._ids[word] for word in words]

    def spelling(self, word: str) -> str | None:
        """Return the vocabulary's spelling of a word, ignoring case; None for an unknown word."""
        return self._by_lower_case.get(unicodedata.normalize("NFC", word.lower()))

    def nearest(self, word: str) -> list[str]:
        """Return the known words with the most similar spelling, as suggestions for an unknown word."""
        if not _MIN_LETTERS <= len(word) <= _MAX_LETTERS:
            return []
        wanted, known = unicodedata.normalize("NFC", word.lower()), self._by_lower_case
        candidates = [each for each in known if each[0] == wanted[0]]
        matches = difflib.get_close_matches(wanted, candidates, _MAX_SUGGESTIONS, _MIN_SIMILARITY)
        return [known[match] for match in matches]

    def word(self, number: int) -> str:
        """Return the word with this id."""
        return self.words[number]
