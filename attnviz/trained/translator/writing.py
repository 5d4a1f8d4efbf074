"""How the grammar is run: `Dice` makes random choices, `derivations` finds the choices of a sentence."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

Option = TypeVar("Option")
Result = TypeVar("Result")
Forms = Callable[[Option], Iterable[str]]


class OtherWords(Exception):
    """The choices made so far do not lead to the given sentence."""


class Writer(ABC):
    """Makes the grammar's choices, and writes its words.

    Attributes:
        words: those written so far.
    """

    def __init__(self) -> None:
        self.words: list[str] = []

    @abstractmethod
    def choose(self, options: Sequence[Option], shares: Sequence[float] | None = None) -> Option:
        """Return one of some options; `shares` are relative frequencies."""

    def choose_word(
        self,
        options: Sequence[Option],
        forms: Forms[Option],  # noqa: ARG002
        shares: Sequence[float] | None = None,
    ) -> Option:
        """Return one of some options; one of its forms will be written, now or later."""
        return self.choose(options, shares)

    def write(self, *phrases: str) -> int:
        """Write some words; return the position of the last one."""
        for phrase in phrases:
            self.words += phrase.split()
        return len(self.words) - 1


def perhaps(writer: Writer, share: float) -> bool:
    """Yes in this share of all cases."""
    return writer.choose((True, False), (share, 1 - share))


class Dice(Writer):
    """Leaves every choice to chance."""

    def __init__(self, source: random.Random) -> None:
        super().__init__()
        self._random = source

    def choose(self, options: Sequence[Option], shares: Sequence[float] | None = None) -> Option:
        """Return a random option, each with its share."""
        if shares is None:
            return options[int(self._random.random() * len(options))]
        return self._random.choices(options, shares)[0]


class Derivation(Writer):
    """Retells a sentence: makes the choices it is given, then always the first, and notes the other ones.

    Args:
        sentence: what must come out.
        given: the choices, as places among the options.

    Attributes:
        untried: the lists of choices that this retelling has passed by.
    """

    def __init__(self, sentence: Sequence[str], given: list[int]) -> None:
        super().__init__()
        self.untried: list[list[int]] = []
        self._sentence = list(sentence)
        self._choices = given
        self._made = 0

    def choose(self, options: Sequence[Option], shares: Sequence[float] | None = None) -> Option:  # noqa: ARG002
        """The option that was given, or else the first.

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
        """One of those options of which one form is still to come in the sentence.

        Raises:
            OtherWords: there are none.
        """
        rest = {*self._sentence[len(self.words) :]}
        return self.choose([option for option in options if not rest.isdisjoint(forms(option))])

    def write(self, *phrases: str) -> int:
        """Write some words; return the position of the last one.

        Raises:
            OtherWords: the sentence goes on with others.
        """
        place = super().write(*phrases)
        if self.words != self._sentence[: len(self.words)]:
            raise OtherWords
        return place


def derivations(write: Callable[[Writer], Result], words: Sequence[str]) -> Iterator[Result]:
    """What every way of telling exactly these words results in."""
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
