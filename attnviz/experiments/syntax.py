"""Which head knows the grammar: whether it looks from a word to the word that it depends on, sort by sort."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

from attnviz.analysis.display_tokens import DisplayTokens, merged_weights, only
from attnviz.analysis.distance import ranked
from attnviz.analysis.intervals import wilson
from attnviz.analysis.words import Span
from attnviz.errors import AttnvizError, quoted
from attnviz.experiments.progress import Progress
from attnviz.experiments.sentences import CANNOT_READ, SkippedSentence, UnusableSentence
from attnviz.trace import Counts, Floats, Kind, Mask, Trace

FILE = Path(__file__).with_name("relations.txt")
"""The sentences that come with attnviz; how they are annotated stands at its beginning."""

SORTS = ("determiner", "possessive", "auxiliary", "subject", "object", "preposition")
"""The relations, in the order in which they are shown."""

CALLED = {
    "determiner": "determiner → its noun",
    "possessive": "possessive → its noun",
    "auxiliary": "auxiliary → its main verb",
    "subject": "subject → its verb",
    "object": "object → its verb",
    "preposition": "noun → its preposition",
}
"""What a person calls them: the word that depends, and the one it depends on."""

Looks = Literal["dependent", "head word"]
LOOKS: tuple[Looks, ...] = ("dependent", "head word")
"""Who looks: the dependent word at what it depends on, or that word at the dependent one."""

COLUMNS = (
    *("relation", "layer", "head", "instances", "right", "share", "low", "high"),
    *("best_offset", "offset_share"),
)
"""The columns of the CSV table of all heads; shares are 0 to 1, layer and head count from 1."""


@dataclass(frozen=True, slots=True)
class Relation:
    """One word that depends on another: a name of `SORTS`, and where both stand in the sentence."""

    sort: str
    dependent: Span
    head: Span


@dataclass(frozen=True, slots=True)
class Annotated:
    """A sentence and its relations."""

    text: str
    relations: tuple[Relation, ...]


@dataclass(frozen=True, eq=False)
class Answers:
    """What every head answered in one sentence, for each of its relations.

    Attributes:
        sentence: the sentence.
        words: where its words stand, pieces merged.
        places: [looks, relation, layer, head], which of these words is the answer, from 0.
        right: [relation], which word is the right one: that on which the other depends.
        weights: [looks, relation, layer, head, 2], of the answer and of the right word, 0 to 1. Where the
            answer's is 0, there is none: the mask forbids every word.
    """

    sentence: Annotated
    words: tuple[Span, ...]
    places: Counts
    right: Counts
    weights: Floats

    @property
    def hits(self) -> Mask:
        """[looks, relation, layer, head]: whether the answer is the right word."""
        found: Mask = (self.places == self.right[:, None, None]) & (self.weights[..., 0] > 0)
        return found


@dataclass(frozen=True, eq=False)
class Grammar:
    """How often every head finds the right word, in the sentences that were read so far; `a + b`: in both.

    Attributes:
        sentences: how many were read.
        hits: [looks, sort, layer, head], by every head.
        totals: [sort], how many there are of each sort.
        offsets: for each sort, how often the right word stands so many words behind (negative: before).
        unread: the sentences that the model could not read.
        answers: the sentences that were read, each with what every head answered.
    """

    sentences: int
    hits: Counts
    totals: Counts
    offsets: tuple[Counter[int], ...]
    unread: tuple[SkippedSentence, ...] = ()
    answers: tuple[Answers, ...] = ()

    def __add__(self, other: Grammar) -> Grammar:
        """Of both together."""
        return Grammar(
            self.sentences + other.sentences,
            self.hits + other.hits,
            self.totals + other.totals,
            tuple(one + another for one, another in zip(self.offsets, other.offsets, strict=True)),
            self.unread + other.unread,
            self.answers + other.answers,
        )

    def best_offset(self, sort: int) -> tuple[int, int]:
        """The fixed offset that is right most often in these very sentences, and how often.

        Of several, the shortest, and of two of these the one behind. It is the best of all offsets after the
        fact, as the best head is the best of all heads.
        """
        counted = self.offsets[sort]
        if not counted:
            return 0, 0
        offset = min(counted, key=lambda each: (-counted[each], abs(each), -each))
        return offset, counted[offset]

    def ranking(self, sort: int, looks: Looks = "dependent") -> list[tuple[int, int]]:
        """All heads, as layer and head from 0, the best first; of equals, in their order."""
        return list(ranked(self.hits[LOOKS.index(looks), sort]))


@cache
def bundled() -> tuple[Annotated, ...]:
    """The sentences that come with attnviz."""
    return parse(FILE.read_text("utf-8"))


def parse(text: str) -> tuple[Annotated, ...]:
    """The sentences and relations that are written there, as in `relations.txt`.

    Raises:
        AttnvizError: a line cannot be read, and the message names it; or there is no sentence.
    """
    found: list[Annotated] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            if line[0].isspace():
                found.append(_annotated(found.pop() if found else None, line))
            else:
                found.append(Annotated(line.strip(), ()))
        except AttnvizError as error:
            raise AttnvizError(f"Line {number}: {error}") from error
    if not found:
        raise AttnvizError(
            "There are no sentences here. Write each on a line, and its relations indented on the next, like "
            "this: object cat>chased"
        )
    return tuple(found)


def measure(
    sentences: Sequence[Annotated], trace: Callable[[str], Trace], kind: Kind
) -> Iterator[Progress[Grammar]]:
    """Read the sentences, one after the other; after each, how often every head was right so far.

    A head's answer for a word is the word it looks at most (or, where the other word looks, the word that
    looks at it most), with pieces merged into words, and without special tokens and the word itself, as
    Clark et al. (2019) do.

    Args:
        sentences: what is read; one that cannot be read, or of which a word is lost, is left out.
        kind: the attention that is looked at, as `sentences.self_attention` tells.
    """
    found: Grammar | None = None
    unread: list[SkippedSentence] = []
    for done, sentence in enumerate(sentences, 1):
        try:
            read = count(sentence, trace(sentence.text), kind)
        except CANNOT_READ as error:
            unread.append(SkippedSentence(sentence.text, str(error)))
        else:
            found = read if found is None else found + read
        yield Progress(done, len(sentences), _with(found, unread))


def count(sentence: Annotated, trace: Trace, kind: Kind) -> Grammar:
    """What every head finds in one sentence.

    Raises:
        UnusableSentence: a word of a relation has no token.
    """
    shown = DisplayTokens(
        trace.of_kind(kind)[0].query_tokens, trace.text, hide_special=True, merge_words=True
    )
    weights = only(merged_weights(trace.stack(kind), shown), shown.visible, shown.visible).copy()
    weights[..., np.arange(len(shown)), np.arange(len(shown))] = 0
    stand = [(_place(shown, each.dependent), _place(shown, each.head)) for each in sentence.relations]
    dependents, heads = np.array(stand, dtype=np.int64).reshape(-1, 2).T
    answers = _answers(sentence, shown, weights, dependents, heads)
    hits = np.zeros((len(LOOKS), len(SORTS), *weights.shape[:2]), dtype=np.int64)
    totals = np.zeros(len(SORTS), dtype=np.int64)
    offsets: tuple[Counter[int], ...] = tuple(Counter() for _ in SORTS)
    for number, (dependent, head) in enumerate(stand):
        sort = SORTS.index(sentence.relations[number].sort)
        totals[sort] += 1
        offsets[sort][head - dependent] += 1
        hits[:, sort] += answers.hits[:, number]
    return Grammar(1, hits, totals, offsets, answers=(answers,))


def table_rows(grammar: Grammar, looks: Looks) -> list[tuple[str | int | float, ...]]:
    """The rows of the CSV table under `COLUMNS`: every head for every sort, the best first."""
    rows: list[tuple[str | int | float, ...]] = []
    for sort, name in enumerate(SORTS):
        total = int(grammar.totals[sort])
        if not total:
            continue
        offset, by_offset = grammar.best_offset(sort)
        for layer, head in grammar.ranking(sort, looks):
            right = int(grammar.hits[LOOKS.index(looks), sort, layer, head])
            shares = [round(share, 6) for share in (right / total, *wilson(right, total))]
            rows.append(
                (name, layer + 1, head + 1, total, right, *shares, offset, round(by_offset / total, 6))
            )
    return rows


def _answers(
    sentence: Annotated, shown: DisplayTokens, weights: Floats, dependents: Counts, heads: Counts
) -> Answers:
    """The answers of every head, from its weights [layer, head, word, word] without the diagonal."""
    # [looks, relation, layer, head, word]: from the dependent word to each, and from each to it.
    given = np.stack([weights[..., dependents, :], weights[..., dependents].swapaxes(-1, -2)])
    given = np.moveaxis(given, -2, 1)
    places = given.argmax(axis=-1)
    right = np.broadcast_to(heads[:, None, None], places.shape)
    both = np.take_along_axis(given, np.stack([places, right], axis=-1), axis=-1)
    pieces = [[shown.tokens[position] for position in group.positions] for group in shown.groups]
    words = tuple(Span(each[0].start, each[-1].end) for each in pieces)
    return Answers(sentence, words, places, heads, both)


def _with(found: Grammar | None, unread: Sequence[SkippedSentence]) -> Grammar:
    """What was found so far, with what could not be read."""
    sorts = len(SORTS)
    found = found or Grammar(
        0,
        np.zeros((len(LOOKS), sorts, 0, 0), dtype=np.int64),
        np.zeros(sorts, dtype=np.int64),
        tuple(Counter() for _ in SORTS),
    )
    return replace(found, unread=tuple(unread))


def _place(shown: DisplayTokens, span: Span) -> int:
    """Which of the shown words stands there, from 0."""
    for place, group in enumerate(shown.groups):
        pieces = [shown.tokens[position] for position in group.positions]
        if pieces[0].start < span.end and pieces[-1].end > span.start:
            return place
    raise UnusableSentence(
        f"The model’s tokenizer keeps nothing of {quoted(shown.text[span.start : span.end])}."
    )


def _annotated(sentence: Annotated | None, line: str) -> Annotated:
    """The sentence with the relations of one more line."""
    if sentence is None:
        raise AttnvizError("relations need a sentence above them.")
    return Annotated(sentence.text, (*sentence.relations, *_relations(line, sentence.text)))


def _relations(line: str, text: str) -> Iterator[Relation]:
    """What is written of one sentence: "subject dog>chased; object cat>chased, mouse>chased"."""
    for part in filter(None, map(str.strip, line.split(";"))):
        sort, _, links = part.partition(" ")
        if sort not in SORTS:
            raise AttnvizError(f"{quoted(sort)} is none of {', '.join(SORTS)}.")
        for link in links.split(","):
            dependent, arrow, head = map(str.strip, link.partition(">"))
            if not (dependent and arrow and head):
                raise AttnvizError(f"{quoted(link.strip())} must have two words with > between them.")
            yield Relation(sort, _find(dependent, text), _find(head, text))


def _find(named: str, text: str) -> Span:
    """Where the word stands; "the#2": where it stands for the second time."""
    word, sign, which = named.partition("#")
    places = [match.span() for match in re.finditer(rf"\b{re.escape(word)}\b", text, re.IGNORECASE)]
    if not places:
        raise AttnvizError(f"{quoted(word)} does not stand in the sentence.")
    if not sign and len(places) > 1:
        raise AttnvizError(f"{quoted(word)} stands there {len(places)} times. Write {word}#1 for the first.")
    number = int(which) if which.isdecimal() else 0 if sign else 1
    if not 1 <= number <= len(places):
        raise AttnvizError(f"{quoted(named)}: there are {len(places)} of {quoted(word)}.")
    return Span(*places[number - 1])
