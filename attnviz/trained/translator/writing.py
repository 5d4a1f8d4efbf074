"""Interpreters of the grammar: `RandomWriter` generates a sentence; `derivations` parses one."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

Option = TypeVar("Option")
Result = TypeVar("Result")
Forms = Callable[[Option], Iterable[str]]


class OtherWords(Exception):
    """The choices made so far do not generate the given sentence."""


class Writer(ABC):
    """An interpreter of the grammar: it makes the choices and writes the words.

    Attributes:
        words: Words written so far.
    """

    def __init__(self) -> None:
        self.words: list[str] = []

    @abstractmethod
    def choose(self, options: Sequence[Option], shares: Sequence[float] | None = None) -> Option:
        """Choose an option; `shares` are relative frequencies."""

    def choose_word(
        self,
        options: Sequence[Option],
        forms: Forms[Option],  # noqa: ARG002
        shares: Sequence[float] | None = None,
    ) -> Option:
        """Choose an option; one of its forms will be written now or later."""
        return self.choose(options, shares)

    def write(self, *phrases: str) -> int:
        """Write some words; return the position of the last word."""
        for phrase in phrases:
            self.words += phrase.split()
        return len(self.words) - 1


def perhaps(writer: Writer, share: float) -> bool:
    """Choose True or False; `share` is the relative frequency of True."""
    return writer.choose((True, False), (share, 1 - share))


class RandomWriter(Writer):
    """A writer that makes random choices."""

    def __init__(self, source: random.Random) -> None:
        super().__init__()
        self._random = source

    def choose(self, options: Sequence[Option], shares: Sequence[float] | None = None) -> Option:
        """Choose a random option."""
        if shares is None:
            return options[int(self._random.random() * len(options))]
        return self._random.choices(options, shares)[0]


class Derivation(Writer):
    """A writer that repeats given choices, then always takes the first option and records the other options.

    Args:
        sentence: Expected words.
        given: The first choices, as indices of options.

    Attributes:
        untried: Lists of choices to try later.
    """

    def __init__(self, sentence: Sequence[str], given: list[int]) -> None:
        super().__init__()
        self.untried: list[list[int]] = []
        self._sentence = list(sentence)
        self._choices = given
        self._made = 0

    def choose(self, options: Sequence[Option], shares: Sequence[float] | None = None) -> Option:  # noqa: ARG002
        """Return the given option; after the last given choice, return the first option.

        Raises:
            OtherWords: there are no options.
        """
        if not options:
            raise OtherWords
        if self._made == len(self._choices):
            self.untried += [[*self._choices, other] for other in range(1, len(options))]
            self._choices = [*self._choices, 0]
        self._made += 1
        return options[self._choices[self._made - 1]]

    def choose_word(
        self,
        options: Sequence[Option],
        forms: Forms[Option],
        shares: Sequence[float] | None = None,  # noqa: ARG002
    ) -> Option:
        """Choose an option with a form that occurs in the words not yet written.

        Raises:
            OtherWords: there is no such option.
        """
        rest = {*self._sentence[len(self.words) :]}
        return self.choose([option for option in options if not rest.isdisjoint(forms(option))])

    def write(self, *phrases: str) -> int:
        """Write some words; return the position of the last word.

        Raises:
            OtherWords: the sentence has other words here.
        """
        place = super().write(*phrases)
        if self.words != self._sentence[: len(self.words)]:
            raise OtherWords
        return place


def derivations(write: Callable[[Writer], Result], words: Sequence[str]) -> Iterator[Result]:
    """Yield the result of every sequence of choices that generates exactly these words."""
    untried: list[list[int]] = [[]]
    while untried:
        derivation = Derivation(words, untried.pop())
        try:
            result = write(derivation)
        except OtherWords:
            pass
        else:
            if len(derivation.words) == len(words):
                yield result
        untried += derivation.untried
