"""Tests of grammatical relations: whether attention heads link a dependent word and its head word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from attnviz.analysis.display_tokens import DisplayTokens, merged_weights
from attnviz.analysis.words import Span
from attnviz.errors import AttnvizError, quoted
from attnviz.experiments.scoring import HeadTest, Scored, Source
from attnviz.experiments.sentences import UnusableSentence
from attnviz.text import plural
from attnviz.trace import Counts, Doubles, Kind, Mask, Trace

FILE = Path(__file__).with_name("relations.txt")
"""The bundled sentences; the file's first lines describe the format."""

RELATIONS = {
    "determiner": "noun",
    "possessive": "noun",
    "auxiliary": "verb",
    "subject": "verb",
    "object": "verb",
    "preposition": "preposition",
}
"""The part of speech of each relation's head word."""

Query = Literal["dependent", "head word"]


@dataclass(frozen=True, slots=True)
class Relation:
    """One dependency: its name in `RELATIONS`, and the positions of both words."""

    name: str
    dependent: Span
    head: Span


@dataclass(frozen=True, slots=True)
class AnnotatedSentence:
    """A sentence and its relations."""

    text: str
    relations: tuple[Relation, ...]


@dataclass(frozen=True, eq=False)
class Answers:
    """The answer of every attention head for each relation of a sentence.

    If the dependent word is the query, the answer is the word to which it attends most; if the head word is
    the query, the word that attends most to the dependent word. Pieces are merged into words. Special tokens
    and the dependent word itself are excluded, as in Clark et al. 2019.

    Attributes:
        relations: [relation], a name in `RELATIONS`.
        offsets: [relation], distance from the dependent word to the head word, in words; negative if the
            head word comes first.
        hits: bool [query, relation, layer, head], whether the answer is correct.
        unfiltered: bool [query, relation, layer, head], whether it is correct if no token is excluded.
        weights: float64 [query, relation, layer, head], weight between the two words.
    """

    relations: tuple[str, ...]
    offsets: Counts
    hits: Mask
    unfiltered: Mask
    weights: Doubles


def answers(sentence: AnnotatedSentence, traces: Sequence[Trace], kind: Kind) -> Answers:
    """Return the answers of every attention head in one sentence.

    Raises:
        UnusableSentence: a word of a relation has no token.
    """
    [trace] = traces
    shown = DisplayTokens(trace.of_kind(kind)[0].query_tokens, trace.text, merge_words=True)
    weights = merged_weights(trace.stack(kind), shown)
    places = [(_place(shown, each.dependent), _place(shown, each.head)) for each in sentence.relations]
    dependents, heads = np.array(places, dtype=np.int64).reshape(-1, 2).T
    # [query, relation, layer, head, word]: weights from the dependent word to each word, and vice versa.
    given = np.stack([weights[..., dependents, :], weights[..., dependents].swapaxes(-1, -2)])
    given = np.moveaxis(given, -2, 1)
    special = np.array([group.special for group in shown.groups])
    itself = np.arange(len(special)) == dependents[:, None]
    words = np.where((special | itself)[:, None, None], 0, given)
    right = np.broadcast_to(heads[:, None, None], given.shape[:-1])
    between = np.take_along_axis(words, right[..., None], axis=-1)[..., 0]
    # If the mask excludes every word, the largest weight is 0, and there is no answer.
    hits, unfiltered = ((each.argmax(axis=-1) == right) & (between > 0) for each in (words, given))
    names = tuple(each.name for each in sentence.relations)
    return Answers(names, heads - dependents, hits, unfiltered, between.astype(np.float64))


def _score(relation: str, query: Query, read: Answers) -> Scored:
    """Score each instance of the relation: 1 if the answer is correct, else 0."""
    chosen = [place for place, each in enumerate(read.relations) if each == relation]
    at = 0 if query == "dependent" else 1
    offsets = read.offsets[chosen]
    baselines = {
        _baseline_name(int(each)): (offsets == each)[:, None, None].astype(np.float64)
        for each in np.unique(offsets)
    }
    hits, unfiltered = (each[at, chosen].astype(np.float64) for each in (read.hits, read.unfiltered))
    return Scored(hits, read.weights[at, chosen], baselines, unfiltered)


def _baseline_name(offset: int) -> str:
    """Return the name of the baseline that always answers with the word at this distance."""
    return f"always the word {plural(abs(offset), 'position')} {'after' if offset > 0 else 'before'} it"


def parse(text: str) -> tuple[AnnotatedSentence, ...]:
    """Parse sentences and relations in the format of `relations.txt`.

    Raises:
        AttnvizError: a line is invalid, or there is no sentence.
    """
    found: list[AnnotatedSentence] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            if line[0].isspace():
                found.append(_annotated(found.pop() if found else None, line))
            else:
                found.append(AnnotatedSentence(line.strip(), ()))
        except AttnvizError as error:
            raise AttnvizError(f"Line {number}: {error}") from error
    if not found:
        raise AttnvizError(
            "The text has no sentences. Write one sentence per line, with its relations indented on the next "
            "line, for example: object cat>chased"
        )
    return tuple(found)


def _place(shown: DisplayTokens, span: Span) -> int:
    """Return the index, from 0, of the shown word at a span."""
    for place, group in enumerate(shown.groups):
        if group.special:
            continue
        pieces = [shown.tokens[position] for position in group.positions]
        if pieces[0].start < span.end and pieces[-1].end > span.start:
            return place
    raise UnusableSentence(
        f"The model’s tokenizer has no token for {quoted(shown.text[span.start : span.end])}."
    )


def _annotated(sentence: AnnotatedSentence | None, line: str) -> AnnotatedSentence:
    """Return the sentence with the relations of another line added."""
    if sentence is None:
        raise AttnvizError("there is no sentence above these relations. Write it on the line before.")
    return AnnotatedSentence(sentence.text, (*sentence.relations, *_relations(line, sentence.text)))


def _relations(line: str, text: str) -> Iterator[Relation]:
    """Parse relations, such as "subject dog>chased; object cat>chased, mouse>chased"."""
    for part in filter(None, map(str.strip, line.split(";"))):
        relation, _, links = part.partition(" ")
        if relation not in RELATIONS:
            choices = ", ".join(RELATIONS)
            raise AttnvizError(f"{quoted(relation)} is not a relation. Choose one of: {choices}.")
        for link in links.split(","):
            dependent, arrow, head = map(str.strip, link.partition(">"))
            if not (dependent and arrow and head):
                raise AttnvizError(f"{quoted(link.strip())} must be two words with > between them.")
            yield Relation(relation, _find(dependent, text), _find(head, text))


def _find(reference: str, text: str) -> Span:
    """Return the span of a word; "the#2" is the second occurrence of "the"."""
    word, sign, which = reference.partition("#")
    places = [match.span() for match in re.finditer(rf"\b{re.escape(word)}\b", text, re.IGNORECASE)]
    if not places:
        raise AttnvizError(f"{quoted(word)} is not in the sentence.")
    if not sign and len(places) > 1:
        raise AttnvizError(f"{quoted(word)} occurs {len(places)} times. Write {word}#1 for the first.")
    number = int(which) if which.isdecimal() else 0 if sign else 1
    if not 1 <= number <= len(places):
        raise AttnvizError(f"{quoted(reference)}: {quoted(word)} occurs only {plural(len(places), 'time')}.")
    return Span(*places[number - 1])


SOURCE = Source(
    name="grammar",
    unit="sentence",
    example="The dog chased a cat.\n    object cat>chased; determiner the>dog, a>cat",
    file=FILE,
    parse=lambda corpus: parse(corpus.text),
    texts=lambda sentence: (sentence.text,),
    read=answers,
)


def _tests(relation: str, head_word: str) -> Iterator[HeadTest[Answers]]:
    word, head = ("noun", "preposition") if relation == "preposition" else (relation, head_word)
    directions: tuple[tuple[Query, str, str], ...] = (
        ("dependent", f"{word} to {head}", f"the {word} attends most to its {head}"),
        ("head word", f"{head} to {word}", f"the word that attends most to the {word} is its {head}"),
    )
    for query, name, event in directions:
        question = f"How often {event} (special tokens and the word itself excluded)"
        yield HeadTest(name, question, SOURCE, partial(_score, relation, query), "right")


TESTS = tuple(test for relation, head_word in RELATIONS.items() for test in _tests(relation, head_word))
"""Tests as in table 1 of Clark et al. 2019; each relation is also tested with the head word as the query."""
