"""Scores of heads over many sentences, by the rules of `attnviz.analysis.rules`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from attnviz.analysis.rules import SINGLE_RULES, Measured, Rule, Special, layout_of, measured
from attnviz.capture import loading
from attnviz.capture.batches import Batch, Refused, batches
from attnviz.experiments.corpus import FILE, NOT_UTF_8, broken
from attnviz.experiments.scoring import HeadTest, Numbered, Scored, Source, Unit
from attnviz.experiments.sentences import SkippedSentence, return_freed_memory
from attnviz.models import resolve

_SPECIAL = Special("", ())
_NAMES = {"previous": "previous token", "next": "next token", "first": "first token"}


@dataclass(frozen=True, eq=False)
class ReadLines:
    """Sentences of equal length that the model read in one batch."""

    batch: Batch

    @cached_property
    def layers(self) -> tuple[Measured, ...]:
        """The scores of all rules, layer by layer, computed once for all tests."""
        layout = layout_of(self.batch.texts, self.batch.tokens)
        return tuple(measured(SINGLE_RULES, layout, self.batch.weights, self.batch.masks))


def _read(examples: Numbered, model: str) -> Iterator[tuple[Sequence[int], ReadLines] | SkippedSentence]:
    """Read sentences of equal length together."""
    texts = dict(examples)
    for line, text in examples:
        if broken(text):
            yield SkippedSentence(f"line {line + 1}", NOT_UTF_8)
    readable = ((line, text) for line, text in examples if text.strip() and not broken(text))
    for read in batches(loading.load(model), resolve.entry(model), readable):
        if isinstance(read, Refused):
            yield SkippedSentence(texts[read.line], read.why)
        else:
            yield read.lines, ReadLines(read)
            return_freed_memory()


SENTENCES = Source(
    name="rules",
    unit="sentence",
    example="The ferry was late again.\nWho left the gate open?",
    file=FILE,
    examples=lambda corpus: (corpus.lines, corpus),
    read=_read,
)
"""Plain sentences, one per line."""


def _score(rule: Rule, read: ReadLines) -> Scored:
    """Score each sentence by a rule; its baseline is uniform attention over what the mask allows."""
    at = SINGLE_RULES.index(rule)
    counts, scores, raw, even = (
        np.stack([each[at] for each in of_layers], axis=1)
        for of_layers in zip(
            *((each.counts, each.score, each.raw, each.even) for each in read.layers), strict=True
        )
    )
    scores = np.where(counts[..., None], scores, np.nan)
    weights = raw if rule.unit == "attention" else np.full_like(raw, np.nan)
    return Scored(scores, weights, {"uniform attention": even[..., None]})


def _test(rule: Rule) -> HeadTest[ReadLines]:
    question = f"On average, a token {rule.defined(_SPECIAL)}"
    unit: Unit = "tokens" if rule.unit == "tokens" else "share"
    return HeadTest(_NAMES.get(rule.name, rule.name), question, SENTENCES, partial(_score, rule), unit)


TESTS = tuple(map(_test, SINGLE_RULES))
