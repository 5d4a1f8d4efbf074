"""Translations without and with edited attention.

Functions that take a sentence raise EmptyText, TextTooLong or UnknownWords if it is invalid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from attnviz.app.lessons.translate.values import attention_of, pronoun_probabilities, pronoun_step
from attnviz.capture import loading
from attnviz.capture.arrays import owned
from attnviz.errors import InvalidEdit
from attnviz.interventions.edit import Edit
from attnviz.trace import Floats, Kind, Mask
from attnviz.trained.translator import lexicon, reading
from attnviz.trained.translator.grammar import format_sentence
from attnviz.trained.translator.translator import Translator
from attnviz.trained.vocabulary import END, START


@dataclass(frozen=True)
class Row:
    """One row of one head; `layer`, `head` and `query` count from 0."""

    kind: Kind
    layer: int
    head: int
    query: int

    def has(self, edit: Edit) -> bool:
        """Return whether an edit changes this row."""
        same_head = (edit.kind, edit.layer, edit.head) == (self.kind, self.layer, self.head)
        return same_head and edit.query in (None, self.query)


@dataclass(frozen=True)
class Gender:
    """The probabilities of *il* and *elle* in a translation.

    Attributes:
        step: Number of French words before the pronoun.
        written: Pronoun in the unchanged translation.
        before, now: Probabilities of *il* and *elle* as the next word, without and with the edits, both after
            the words of the unchanged translation.
    """

    step: int
    written: str
    before: tuple[float, float]
    now: tuple[float, float]


@dataclass(frozen=True, eq=False)
class Experiment:
    """A sentence, translated without and with edits.

    Attributes:
        queries, keys: Query and key tokens of the row's head.
        allowed: [key], True where a key is not masked.
        row_before, row_now: [key], weights of the row without and with the edits.
        words_before, words_now: French words without and with the edits.
        gender: Probabilities of the pronouns; None if the unchanged translation has no *il* or *elle*.
    """

    queries: tuple[str, ...]
    keys: tuple[str, ...]
    allowed: Mask
    row_before: Floats
    row_now: Floats
    words_before: tuple[str, ...]
    words_now: tuple[str, ...]
    gender: Gender | None

    @property
    def source(self) -> int:
        """Index of the key with the largest weight before the edits."""
        return int(self.row_before.argmax())

    @property
    def french(self) -> str:
        """The translation with the edits; [END] if it is empty."""
        return format_sentence(self.words_now) or END

    @property
    def result(self) -> Literal["same", "gender", "other"]:
        """The difference between the translations: none, only genders, or more."""
        if self.words_now == self.words_before:
            return "same"
        before, now = ([*map(lexicon.without_gender, each)] for each in (self.words_before, self.words_now))
        return "gender" if before == now else "other"

    def other_noun(self, query: int) -> int | None:
        """Return the index of the unmasked noun nearest to the query, other than `source`, or None."""
        nouns = [
            place
            for place, word in enumerate(self.keys)
            if word in lexicon.NOUN and place != self.source and self.allowed[place]
        ]
        return min(nouns, key=lambda place: abs(place - query), default=None)


def queries(model: str, text: str, kind: Kind) -> tuple[str, ...]:
    """Return the query tokens, from the English sentence or from the unchanged translation."""
    if kind == "encoder":
        return _source(text)
    translating = loading.load_translator(model).translator
    return (START, *_translate(translating, _source(text)[:-1]))


def experiment(model: str, text: str, row: Row, edits: Sequence[str] = ()) -> Experiment:
    """Translate a sentence without and with edits, and return one row of one head in both runs.

    Args:
        model: A translator's name in the catalogue.
        text: English sentence.
        row: Layer, head and query of the returned row.
        edits: The edits, in order, as formatted by `Edit`.

    Raises:
        InvalidEdit: an edit is invalid, or not possible for this model and sentence, or the head is unknown.
    """
    parsed = tuple(map(Edit.parse, edits))
    translating = loading.load_translator(model).translator
    source = _source(text)
    words_before = _translate(translating, source[:-1])
    words_now = _translate(translating, source[:-1], parsed)
    # Both runs have the French words of the unchanged translation as input, so that only the edits differ.
    before = translating.steps(source[:-1], words_before)
    now = translating.steps(source[:-1], words_before, parsed) if parsed else before
    step = pronoun_step(words_before)
    gender = None
    if step is not None:
        gender = Gender(
            step,
            words_before[step],
            *(pronoun_probabilities(run.probabilities[step]) for run in (before, now)),
        )
    target = (START, *words_before)
    steps = attention_of(before, row.kind, row.layer)
    if row.head >= steps.query.shape[-3]:
        raise InvalidEdit(f"The model has no head {row.head + 1} in layer {row.layer + 1}.")
    return Experiment(
        queries=source if row.kind == "encoder" else target,
        keys=target if row.kind == "decoder" else source,
        allowed=owned(steps.attention.masked[row.head, row.query].isfinite()),
        row_before=owned(steps.attention.weights[row.head, row.query]),
        row_now=owned(attention_of(now, row.kind, row.layer).attention.weights[row.head, row.query]),
        words_before=words_before,
        words_now=words_now,
        gender=gender,
    )


# A translation needs one pass per word, and visitors open many rows of a sentence.
@lru_cache(maxsize=64)
def _translate(
    translating: Translator, source: tuple[str, ...], edits: tuple[Edit, ...] = ()
) -> tuple[str, ...]:
    return translating.translate(source, edits)


def _source(text: str) -> tuple[str, ...]:
    return tuple(token.text for token in reading.tokens(text))
