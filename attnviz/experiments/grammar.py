"""Grammatical relations: whether a head attends from a word to the word that it depends on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from attnviz.analysis.display_tokens import DisplayTokens, merged_weights, only
from attnviz.analysis.words import Span
from attnviz.errors import AttnvizError, quoted
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.scoring import AnnotatedSource, HeadTest, Scored
from attnviz.experiments.sentences import UnusableSentence
from attnviz.text import plural
from attnviz.trace import Counts, Doubles, Kind, Mask, Trace

FILE = Path(__file__).with_name("relations.txt")
"""The sentences that come with attnviz; how they are annotated stands at its beginning."""

SORTS = {
    "determiner": "noun",
    "possessive": "noun",
    "auxiliary": "verb",
    "subject": "verb",
    "object": "verb",
    "preposition": "preposition",
}
"""The relations: the word that depends, and what it depends on; of a preposition, the noun depends on it."""

Query = Literal["dependent", "head word"]


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
    """What every head answers in one sentence, for each of its relations.

    A head's answer for a word is the word that it attends to most (or, where the head word is the query, the
    word that attends to it most), with pieces merged into words, and without special tokens and the word
    itself, as in Clark et al. 2019.

    Attributes:
        sorts: [relation], a name of `SORTS`.
        offsets: [relation], how many words after the dependent one its head word is; negative: before.
        hits: bool [query, relation, layer, head], whether the answer is the right word.
        weights: float64 [query, relation, layer, head], between the two words.
    """

    sorts: tuple[str, ...]
    offsets: Counts
    hits: Mask
    weights: Doubles


class GrammarSource(AnnotatedSource[Annotated, Answers]):
    """Sentences with their relations."""

    name, unit = "grammar", "sentence"
    example = "The dog chased a cat.\n    object cat>chased; determiner the>dog, a>cat"

    def bundled(self) -> str:  # noqa: D102 - as in the base class
        return FILE.read_text("utf-8")

    def examples(self, corpus: Corpus) -> tuple[int, Sequence[Annotated]]:  # noqa: D102 - as in the base class
        found = parse(corpus.text)
        return len(found), found

    def one(  # noqa: D102 - as in the base class
        self, example: Annotated, trace: Callable[[str], Trace], kind: Kind
    ) -> Answers:
        return answers(example, trace(example.text), kind)


def answers(sentence: Annotated, trace: Trace, kind: Kind) -> Answers:
    """Return what every head answers in one sentence.

    Raises:
        UnusableSentence: a word of a relation has no token.
    """
    shown = DisplayTokens(
        trace.of_kind(kind)[0].query_tokens, trace.text, hide_special=True, merge_words=True
    )
    weights = only(merged_weights(trace.stack(kind), shown), shown.visible, shown.visible).copy()
    weights[..., np.arange(len(shown)), np.arange(len(shown))] = 0
    places = [(_place(shown, each.dependent), _place(shown, each.head)) for each in sentence.relations]
    dependents, heads = np.array(places, dtype=np.int64).reshape(-1, 2).T
    # [query, relation, layer, head, word]: from the dependent word to each, and from each to it.
    given = np.stack([weights[..., dependents, :], weights[..., dependents].swapaxes(-1, -2)])
    given = np.moveaxis(given, -2, 1)
    largest = given.argmax(axis=-1)
    right = np.broadcast_to(heads[:, None, None], largest.shape)
    between = np.take_along_axis(given, right[..., None], axis=-1)[..., 0]
    # Where the mask forbids every word, the largest weight is 0, and there is no answer.
    hits = (largest == right) & (between > 0)
    sorts = tuple(each.sort for each in sentence.relations)
    return Answers(sorts, heads - dependents, hits, between.astype(np.float64))


def _score(sort: str, query: Query, read: Answers) -> Scored:
    """Score 1 for each relation of this sort of which the answer is the right word."""
    chosen = [place for place, each in enumerate(read.sorts) if each == sort]
    at = 0 if query == "dependent" else 1
    offsets = read.offsets[chosen]
    always = {
        _always(int(each)): (offsets == each)[:, None, None].astype(np.float64) for each in np.unique(offsets)
    }
    return Scored(read.hits[at, chosen].astype(np.float64), read.weights[at, chosen], always)


def _always(offset: int) -> str:
    """The baseline that always answers with the word at this distance."""
    return f"always {plural(abs(offset), 'word')} {'later' if offset > 0 else 'earlier'}"


_SOURCE = GrammarSource()


def _tests(sort: str, head_word: str) -> Iterator[HeadTest[Answers]]:
    dependent, on = ("noun", "preposition") if sort == "preposition" else (sort, head_word)
    both: tuple[tuple[Query, str, str], ...] = (
        ("dependent", f"{dependent} to {on}", f"the {dependent} attends most to its {on}"),
        ("head word", f"{on} to {dependent}", f"the word that attends most to the {dependent} is its {on}"),
    )
    for query, name, question in both:
        yield HeadTest(name, f"How often {question}", _SOURCE, partial(_score, sort, query), "right")


TESTS = tuple(test for sort, head_word in SORTS.items() for test in _tests(sort, head_word))
"""As in table 1 of Clark et al. 2019, each relation also with the head word as the query."""


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
