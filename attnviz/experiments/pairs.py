"""Pairs of sentences that differ only in the words that determine a pronoun's referent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from attnviz.analysis.words import Span
from attnviz.errors import AttnvizError, quoted
from attnviz.text import joined

FILE = Path(__file__).with_name("pairs.txt")
"""The bundled pairs; the file's first lines describe the format."""

EXAMPLE = "The [dog] did not cross the [road] as *it* was too {tired > dog | narrow > road}."
"""An example of the format."""

_FOR_EXAMPLE = f"For example: {EXAMPLE}"
_MARKED = re.compile(r"(\[[^\[\]]*\]|\*[^*]*\*|\{[^{}]*\})")


@dataclass(frozen=True, slots=True)
class SentenceOfPair:
    """One sentence of a pair.

    Attributes:
        text: The sentence.
        pronoun: Position of the pronoun.
        candidates: Positions of the two possible referents, in the order of the text.
        right: Index of the correct referent, 0 or 1.
        deciding: Position of the words that determine the referent: "too tired" or "narrow".
    """

    text: str
    pronoun: Span
    candidates: tuple[Span, Span]
    right: int
    deciding: Span

    def word(self, span: Span) -> str:
        """Return the text at a position."""
        return self.text[span.start : span.end]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sentences in which the same pronoun refers to different words.

    Attributes:
        readings: The two sentences.
    """

    readings: tuple[SentenceOfPair, SentenceOfPair]

    @property
    def text(self) -> str:
        """Both sentences."""
        return " / ".join(reading.text for reading in self.readings)


def bundled() -> tuple[Pair, ...]:
    """Return the bundled pairs."""
    return parse(FILE.read_text("utf-8"))


def parse(text: str) -> tuple[Pair, ...]:
    """Parse pairs in the format of `pairs.txt`.

    Raises:
        AttnvizError: there are no pairs, or a line is invalid.
    """
    lines = [
        (number, content)
        for number, line in enumerate(text.splitlines(), 1)
        if (content := line.strip()) and not content.startswith("#")
    ]
    if not lines:
        raise AttnvizError(f"The text has no pairs. Write one per line, for example: {EXAMPLE}")
    found: dict[str, Pair] = {}
    for number, content in lines:
        try:
            pair = _pair(content)
        except AttnvizError as error:
            raise AttnvizError(f"Line {number}: {error}") from error
        if pair.text in found:
            raise AttnvizError(f"Line {number}: duplicate pair. Delete one of the two.")
        found[pair.text] = pair
    return tuple(found.values())


def _pair(line: str) -> Pair:
    parts = _MARKED.split(line)
    marked = parts[1::2]
    order = [part[0] for part in marked if part[0] != "{"]
    stray = any(sign in part for part in parts[::2] for sign in "[]*{}")
    filled = all(part[1:-1].strip() for part in marked)
    if order != ["[", "[", "*"] or len(marked) != 4 or stray or not filled:
        raise AttnvizError(
            f"a pair needs two words in [ ], then a pronoun in * *, and one choice in {{ }}. {_FOR_EXAMPLE}"
        )
    choices = _choices(next(part for part in marked if part[0] == "{")[1:-1])
    names = [part[1:-1].strip() for part in marked if part[0] == "["]
    referents = [_referent_index(referent, names) for _, referent in choices]
    if referents[0] == referents[1]:
        raise AttnvizError(f"both parts in {{ }} end with {quoted(choices[0][1])}. Write different words.")
    one, other = (_reading(parts, words, right) for (words, _), right in zip(choices, referents, strict=True))
    return Pair((one, other))


def _choices(content: str) -> list[tuple[str, str]]:
    """Return the deciding words of each sentence, with the pronoun's referent."""
    choices = [tuple(map(str.strip, each.split(">"))) for each in content.split("|")]
    if len(choices) != 2 or not all(len(each) == 2 and all(each) for each in choices):
        raise AttnvizError(
            f"{quoted(content)} must have two parts separated by |, each with its referent after >, for "
            "example: tired > dog | narrow > road."
        )
    if choices[0][0] == choices[1][0]:
        raise AttnvizError(f"both parts in {{ }} begin with {quoted(choices[0][0])}. Write different words.")
    return [(words, referent) for words, referent in choices]


def _referent_index(referent: str, names: Sequence[str]) -> int:
    """Return the index of the referent among the two marked words."""
    if names.count(referent) != 1:
        marked = joined([quoted(name) for name in names])
        raise AttnvizError(f"{quoted(referent)} must be in [ ] exactly once. The words in [ ] are {marked}.")
    return names.index(referent)


def _reading(parts: Sequence[str], words: str, right: int) -> SentenceOfPair:
    """Return one of the two sentences, with the positions of its marked words."""
    text = ""
    places: dict[str, list[Span]] = {"[": [], "*": [], "{": []}
    for number, part in enumerate(parts):
        plain = part
        if number % 2:  # the marked parts are at odd indices
            plain = words if part[0] == "{" else part[1:-1].strip()
            places[part[0]].append(Span(len(text), len(text) + len(plain)))
        text += plain
    return SentenceOfPair(text, places["*"][0], (places["["][0], places["["][1]), right, places["{"][0])
