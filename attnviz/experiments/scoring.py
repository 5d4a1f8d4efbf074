"""Tests of heads: each test computes one score per head from examples.

A test is a `HeadTest`: a source of examples and a function that scores them. `attnviz.experiments.head_tests`
lists all tests. This module computes means, intervals, baselines and the best head for every test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from itertools import islice
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np

from attnviz.analysis.distance import ranked
from attnviz.analysis.intervals import bootstrap_interval, mean_interval, wilson
from attnviz.analysis.table import Cells
from attnviz.capture import loading
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.progress import Progress
from attnviz.experiments.sentences import (
    SkippedSentence,
    UnusableSentence,
    self_attention,
    skipped,
    traces,
)
from attnviz.models import resolve
from attnviz.trace import Counts, Doubles, Kind, Mask, Trace

PART = 64
"""Maximum number of examples in a part of a text; one process reads one part at a time."""

MAX_REASONS = 100
"""Maximum number of skipped examples for which the reason is stored; the others are only counted."""

MIN_WEIGHT = 0.05
"""Minimum mean weight of the best head in a right-or-wrong test; smaller weights have little effect."""

Read = TypeVar("Read")
Item = TypeVar("Item")

Unit = Literal["right", "share"]
"""Unit of a score: "right" is 1 if the head is right, else 0; "share" is a fraction from 0 to 1."""

CHOOSING, REPORTING = 0, 1
"""The halves, even and odd examples: the best head is chosen on the first and scored on the second."""


class Scored(NamedTuple):
    """The scores of one example, which has one or several items.

    Attributes:
        scores: float64 [item, layer, head]; NaN if the item does not count.
        weights: float64 [item, layer, head], attention weight, 0 to 1, on which the score is based; NaN
            if there is none.
        baselines: By name, scores at chance level or of strategies without a model, [item, layer, head]; an
            axis has length 1 if the value is the same for all layers or heads.
        unfiltered: Scores if no token is excluded; None if the test excludes no tokens.
    """

    scores: Doubles
    weights: Doubles
    baselines: Mapping[str, Doubles]
    unfiltered: Doubles | None = None


@dataclass(frozen=True)
class Source(Generic[Read]):
    """A source of examples, shared by several tests.

    Attributes:
        name: Name of the group of tests that use it.
        unit: Name of one example, in the singular.
        example: One or two lines that show the format.
        file: The bundled examples.
        parse: Returns the examples of a text; raises AttnvizError if there are none, or a line is invalid.
        texts: Returns the sentences of an example.
        read: Prepares the traces of these sentences for all tests; raises UnusableSentence if the example
            has no score.
    """

    name: str
    unit: str
    example: str
    file: Path
    parse: Callable[[Corpus], Corpus | Sequence[Any]]
    texts: Callable[[Any], Sequence[str]]
    read: Callable[[Any, Sequence[Trace], Kind], Read]

    def bundled(self) -> str:
        """Return the text of the bundled examples."""
        return self.file.read_text("utf-8")


@dataclass(frozen=True)
class HeadTest(Generic[Read]):
    """A test of heads.

    Attributes:
        name: Name in menus, links and on the command line.
        question: Description of the score, as a sentence without a full stop.
        source: Source of the examples; tests with the same source share one pass over them.
        score: Returns the scores for a result of `source.read`.
        unit: Unit of a score.
    """

    name: str
    question: str
    source: Source[Read]
    score: Callable[[Read], Scored]
    unit: Unit = "share"


class Best(NamedTuple):
    """The head chosen on the first half of the examples, with its score on the second half.

    Attributes:
        layer, head: Indices from 0.
        score, low, high: Score on the second half, with its confidence interval.
        baseline: Score, on the second half, of the baseline that is best on the first half; NaN for none.
        examples: Number of counted items in the second half.
    """

    layer: int
    head: int
    score: float
    low: float
    high: float
    baseline: float
    examples: int


@dataclass(frozen=True, eq=False)
class Scores:
    """Sums over examples, from which scores, intervals and baselines are computed; `a + b` adds the sums.

    Attributes:
        unit: as in the test.
        count: int64 [half, layer], number of counted items.
        sums: By name, float64 [half, layer, head], sums over these items: "score", "square", "weight",
            "unfiltered" and the baselines.
        by_example: In a right-or-wrong test, the half of each example, its number of items, [layer], and its
            number of right items, [layer, head].
        skipped: Number of examples that the model cannot read or that have no score.
        reasons: The first skipped examples, at most `MAX_REASONS`, with the reason.
    """

    unit: Unit
    count: Counts
    sums: Mapping[str, Doubles]
    by_example: tuple[tuple[int, Counts, Doubles], ...] = ()
    skipped: int = 0
    reasons: tuple[SkippedSentence, ...] = ()

    def __add__(self, other: Scores) -> Scores:
        """Return the sums over the examples of both operands."""
        zeros = np.zeros(self.sums["score"].shape)
        return Scores(
            self.unit,
            self.count + other.count,
            {
                name: self.sums.get(name, zeros) + other.sums.get(name, zeros)
                for name in {**self.sums, **other.sums}
            },
            self.by_example + other.by_example,
            self.skipped + other.skipped,
            (*self.reasons, *other.reasons)[:MAX_REASONS],
        )

    @classmethod
    def of(
        cls, test: HeadTest[Read], number: int, read: Read, layers: Sequence[int], layer_count: int
    ) -> Scores:
        """Return the scores of one example.

        Args:
            number: Number of the example, from 0.
            read: The result of `test.source.read`.
            layers: Layers with attention weights, from 0; items in other layers do not count.
            layer_count: Number of layers, including those without weights.
        """
        scored = test.score(read)
        found = scored.scores
        shape = len(found), layer_count, found.shape[-1]
        half = number % 2

        def total(values: Doubles, counted: Mask) -> Doubles:
            sums = np.zeros((2, *shape[1:]))
            sums[half, layers] = np.where(counted[..., None], values, 0).sum(axis=0)
            return sums

        counted = np.asarray(~np.isnan(found).any(axis=-1))
        count = np.zeros((2, layer_count), np.int64)
        count[half, layers] = counted.sum(axis=0)
        values = {"score": found, "square": found**2, "weight": scored.weights, **scored.baselines}
        if scored.unfiltered is not None:
            values["unfiltered"] = scored.unfiltered
        sums = {name: total(np.broadcast_to(each, found.shape), counted) for name, each in values.items()}
        each = ((half, count[half], sums["score"][half]),) if test.unit == "right" and len(found) else ()
        return cls(test.unit, count, sums, each)

    @classmethod
    def empty(cls, test: HeadTest[Any], layers: int, heads: int) -> Scores:
        """Return the scores before the first example; all sums are 0."""
        zeros = np.zeros((2, layers, heads))
        sums = {"score": zeros, "square": zeros, "weight": zeros}
        return cls(test.unit, np.zeros((2, layers), np.int64), sums)

    @property
    def examples(self) -> int:
        """Number of counted items in the layer with the most items."""
        return int(self.count.sum(axis=0).max())

    @property
    def mean(self) -> Doubles:
        """float64 [layer, head], mean scores; NaN in layers without counted items."""
        return self._mean("score")

    @property
    def weight(self) -> Doubles:
        """float64 [layer, head], mean attention weights."""
        return self._mean("weight")

    @property
    def unfiltered(self) -> Doubles | None:
        """float64 [layer, head], scores if no token is excluded; None if the test excludes no tokens."""
        return self._mean("unfiltered") if "unfiltered" in self.sums else None

    @property
    def baseline(self) -> tuple[str, Doubles]:
        """Name and score, float64 [layer, head], of the best baseline on these examples; NaN for none."""
        name = self._baseline((CHOOSING, REPORTING))
        return name, self._mean(name) if name else np.full(self.sums["score"].shape[1:], np.nan)

    @cached_property
    def interval(self) -> tuple[Doubles, Doubles]:
        """Lower and upper end of each head's confidence interval, both float64 [layer, head].

        For means, it is computed from the variance (NaN with too few examples). For right-or-wrong scores, it
        is the Wilson interval, or a bootstrap over examples if examples have several items.
        """
        return self._interval((CHOOSING, REPORTING))

    @property
    def ranking(self) -> tuple[tuple[int, int], ...]:
        """All heads, as layer and head from 0, largest score first."""
        return ranked(np.nan_to_num(self.mean, nan=-1.0))

    @cached_property
    def best(self) -> Best | None:
        """The best head on the first half, scored on the second; None with too few examples."""
        if not self.count[:, self.count.any(axis=0)].all() or not self.count.any():
            return None
        values = np.nan_to_num(self._mean("score", (CHOOSING,)), nan=-1.0)
        enough = self._mean("weight", (CHOOSING,)) >= MIN_WEIGHT
        if self.unit == "right" and enough.any():
            values = np.where(enough, values, -1.0)
        layer, head = at = ranked(values)[0]
        low, high = self._interval((REPORTING,))
        name = self._baseline((CHOOSING,))
        return Best(
            layer,
            head,
            float(self._mean("score", (REPORTING,))[at]),
            float(low[at]),
            float(high[at]),
            float(self._mean(name, (REPORTING,))[at]) if name else np.nan,
            int(self.count[REPORTING, layer]),
        )

    def _baseline(self, halves: Sequence[int]) -> str:
        """Return the name of the best baseline on these halves; "" if there is none."""
        totals = {
            name: sums[list(halves)].sum()
            for name, sums in self.sums.items()
            if name not in ("score", "square", "weight", "unfiltered")
        }
        return min(totals, key=lambda name: (-totals[name], name), default="")

    def _mean(self, name: str, halves: Sequence[int] = (CHOOSING, REPORTING)) -> Doubles:
        count = self.count[list(halves)].sum(axis=0)
        divisor = np.where(count > 0, count, np.nan)
        return np.asarray(self.sums[name][list(halves)].sum(axis=0) / divisor[:, None])

    def _interval(self, halves: Sequence[int]) -> tuple[Doubles, Doubles]:
        mean = self._mean("score", halves)
        if self.unit == "right" and any(count.max() > 1 for _, count, _ in self.by_example):
            parts = [(count, right) for half, count, right in self.by_example if half in halves]
            return bootstrap_interval(*map(np.stack, zip(*parts, strict=True)))
        counts = np.broadcast_to(self.count[list(halves)].sum(axis=0)[:, None], mean.shape)
        if self.unit == "right":
            right = self.sums["score"][list(halves)].sum(axis=0)
            ends = [wilson(int(each), int(n)) for each, n in zip(right.flat, counts.flat, strict=True)]
        else:
            variance = np.maximum(self._mean("square", halves) - mean**2, 0)
            both = zip(mean.flat, variance.flat, counts.flat, strict=True)
            ends = [mean_interval(float(each), float(v), int(n)) for each, v, n in both]
        low, high = np.array(ends).T.reshape(2, *mean.shape)
        return low, high


Found = Mapping[str, Scores]
"""Scores by name of test."""


class Step(NamedTuple):
    """The number of examples in one part, including skipped examples, and their scores."""

    examples: int
    found: Found


Share = Callable[[Callable[[Any], Any], Iterator[Any]], Iterable[Any]]
"""Applies a function to each item, like `map`; the results may come in any order."""


def measure(
    tests: Sequence[HeadTest[Any]], corpus: Corpus, model: str, share: Share = map
) -> Iterator[Progress[Found]]:
    """Read all examples of a text once and score them with all these tests.

    Args:
        tests: Tests with the same source.
        corpus: The examples.
        model: Name of a model, as for `loading.load`.
        share: Distributes the work, for example `on_ray.share(workers)`; `map` uses this process.

    Yields:
        The scores so far; `done` and `total` count examples.

    Raises:
        AttnvizError: the text or the model cannot be used.
        ModelNotSupported: the model does not read text.
    """
    entry = resolve.entry(model)
    shape = entry.layers_of(self_attention(entry)), entry.heads
    examples = tests[0].source.parse(corpus)
    total = len(examples)
    found: Found = {test.name: Scores.empty(test, *shape) for test in tests}
    done = 0
    yield Progress(done, total, found)
    for step in share(partial(_score_part, tests, model, found), parts(examples)):
        done += step.examples
        found = _merged(found, step.found)
        yield Progress(done, total, found)


def parts(items: Iterable[Item]) -> Iterator[tuple[tuple[int, Item], ...]]:
    """Yield the items with their numbers, from 0, in tuples of at most `PART`."""
    numbered = enumerate(items)
    while part := tuple(islice(numbered, PART)):
        yield part


def _score_part(
    tests: Sequence[HeadTest[Any]], model: str, empty: Found, part: Sequence[tuple[int, Any]]
) -> Step:
    entry, source = resolve.entry(model), tests[0].source
    kind = self_attention(entry)
    layers = [*entry.numbers_of(kind)], entry.layers_of(kind)
    found: dict[int, Found] = {}
    filled = [(number, example) for number, example in part if "".join(source.texts(example)).strip()]
    texts = [source.texts(example) for _, example in filled]
    for at, read in traces(entry, loading.load(model), texts):
        number, example = filled[at]
        prepared = read if isinstance(read, SkippedSentence) else _read(source, example, read, kind)
        if isinstance(prepared, SkippedSentence):
            found[number] = {
                name: replace(each, skipped=1, reasons=(prepared,)) for name, each in empty.items()
            }
        else:
            found[number] = {test.name: Scores.of(test, number, prepared, *layers) for test in tests}
    return Step(len(part), reduce(_merged, (found[number] for number in sorted(found)), empty))


def _read(source: Source[Read], example: Any, read: Sequence[Trace], kind: Kind) -> Read | SkippedSentence:
    try:
        return source.read(example, read, kind)
    except UnusableSentence as error:
        return skipped(source.texts(example), error)


def _merged(one: Found, other: Found) -> Found:
    return {name: one[name] + other[name] for name in one}


COLUMNS = (
    "test",
    "layer",
    "head",
    "score",
    "low",
    "high",
    "unit",
    "examples",
    "baseline",
    "baseline score",
    "attention weight",
    "score without exclusions",
)
"""Names of the columns that `rows` yields."""


def rows(name: str, scores: Scores) -> Iterator[Cells]:
    """Yield one row per head, largest score first; cells without a number are empty.

    Layers and heads count from 1; scores are between 0 and 1.
    """
    (low, high), (strategy, baseline) = scores.interval, scores.baseline
    count = scores.count.sum(axis=0)
    unfiltered = scores.mean if scores.unfiltered is None else scores.unfiltered
    for layer, head in scores.ranking:
        values = [each[layer, head] for each in (scores.mean, low, high, baseline, scores.weight, unfiltered)]
        score, *ends, baseline_score, weight, no_exclusions = (
            "" if np.isnan(each) else float(each) for each in values
        )
        first = (name, layer + 1, head + 1, score, *ends, scores.unit, int(count[layer]))
        yield (*first, strategy, baseline_score, weight, no_exclusions)
