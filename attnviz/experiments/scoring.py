"""Tests of heads: examples in, one score for every head out.

A test is a `HeadTest`: a function that scores the examples that a model has read, and where these come from.
`attnviz.experiments.head_tests` lists all tests. Sums, halves, intervals and baselines are computed here, in
the same way for every test.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import chain, islice
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np

from attnviz.analysis.distance import ranked
from attnviz.analysis.intervals import of_mean, wilson
from attnviz.analysis.table import Cells
from attnviz.capture import loading
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.progress import Progress
from attnviz.experiments.sentences import CANNOT_READ, SkippedSentence, reader, self_attention
from attnviz.models import resolve
from attnviz.trace import Counts, Doubles, Kind, Trace

PART = 1_000
"""Examples that are read together; with Ray, each worker takes so many at a time."""

MAX_REASONS = 100
"""Skipped examples of which the reason is kept; the others are counted."""

Read = TypeVar("Read")
Example = TypeVar("Example")
Numbered = Sequence[tuple[int, Any]]
"""Examples with their numbers, from 0."""

Unit = Literal["right", "share", "tokens"]
"""What a score is: 1 if the head is right and else 0; a number from 0 to 1; a number of tokens."""


class Scored(NamedTuple):
    """The scores of some examples.

    Attributes:
        scores: float64 [example, layer, head]; NaN where the example does not count.
        weights: float64 [example, layer, head], the attention weight, 0 to 1, from which the score is made;
            NaN where there is no such weight.
        baselines: by name, the scores at chance or of strategies that use no model, [example, layer, head];
            1 in place of layers or heads that all have the same.
    """

    scores: Doubles
    weights: Doubles
    baselines: Mapping[str, Doubles]


class Source(ABC, Generic[Read]):
    """Where the examples of some tests come from, and how a model reads them.

    Attributes:
        name: of the tests that use it, as one group.
        unit: what one example is, in the singular.
        example: a line or two that show how examples are written.
    """

    name: str
    unit: str
    example: str

    @abstractmethod
    def bundled(self) -> str:
        """Return the text of the examples that come with attnviz."""

    @abstractmethod
    def examples(self, corpus: Corpus) -> tuple[int, Iterable[Any]]:
        """Return how many examples a text has, and the examples.

        Raises:
            AttnvizError: the text has none, or is not written as it should be.
        """

    @abstractmethod
    def read(self, examples: Numbered, model: str) -> Iterator[tuple[Sequence[int], Read] | SkippedSentence]:
        """Yield what the model reads, with the numbers of its examples, and what it cannot read."""


class AnnotatedSource(Source[Read], Generic[Example, Read]):
    """Examples that are read one by one, with a forward pass for each of their sentences."""

    @abstractmethod
    def one(self, example: Example, trace: Callable[[str], Trace], kind: Kind) -> Read:
        """Read one example.

        Raises:
            UnusableSentence: the model can read it, but it does not answer the question.
        """

    def read(  # noqa: D102 - as in the base class
        self, examples: Numbered, model: str
    ) -> Iterator[tuple[Sequence[int], Read] | SkippedSentence]:
        entry = resolve.entry(model)
        trace, kind = reader(entry, loading.load(model)), self_attention(entry)
        for number, example in examples:
            try:
                yield [number], self.one(example, trace, kind)
            except CANNOT_READ as error:
                yield SkippedSentence(example.text, str(error))


@dataclass(frozen=True)
class HeadTest(Generic[Read]):
    """A test of heads.

    Attributes:
        name: the name in menus, links and on the command line.
        question: what a score says, as a sentence without its full stop.
        source: of the examples; tests with the same source share one pass over them.
        score: scores what the source has read.
        unit: what a score is.
        min_weight: heads with a smaller mean weight are never called the best.
    """

    name: str
    question: str
    source: Source[Read]
    score: Callable[[Read], Scored]
    unit: Unit = "share"
    min_weight: float = 0.0


class Best(NamedTuple):
    """A head that was chosen on one half of the examples, with its score on the other half.

    Attributes:
        layer, head: from 0.
        score, low, high: on the other half, with the confidence interval.
        baseline: the best baseline's score, on the other half.
        examples: in the other half.
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
    """Sums over examples, from which scores, intervals and baselines follow; `a + b` is that of both.

    The halves are the examples with even and with odd numbers.

    Attributes:
        unit, min_weight: of the test.
        count: int64 [half, layer], examples that count.
        total, squares: float64 [half, layer, head], the sums of their scores and of the squares.
        weights: float64 [half, layer, head], the sum of their attention weights.
        baselines: float64 [half, layer, head], the sums of the baselines' scores, by name.
        skipped: examples that the model cannot read or that do not answer the question.
        reasons: of the first `MAX_REASONS` of those.
    """

    unit: Unit
    min_weight: float
    count: Counts
    total: Doubles
    squares: Doubles
    weights: Doubles
    baselines: Mapping[str, Doubles] = field(default_factory=dict)
    skipped: int = 0
    reasons: tuple[SkippedSentence, ...] = ()

    def __add__(self, other: Scores) -> Scores:
        """Of both together."""
        zeros = np.zeros(self.total.shape)
        names = {**self.baselines, **other.baselines}
        return Scores(
            self.unit,
            self.min_weight,
            self.count + other.count,
            self.total + other.total,
            self.squares + other.squares,
            self.weights + other.weights,
            {name: self.baselines.get(name, zeros) + other.baselines.get(name, zeros) for name in names},
            self.skipped + other.skipped,
            (*self.reasons, *other.reasons)[:MAX_REASONS],
        )

    @classmethod
    def of(cls, test: HeadTest[Read], numbers: Sequence[int], read: Read) -> Scores:
        """Score what was read."""
        scores, weights, baselines = test.score(read)
        counts = ~np.isnan(scores).any(axis=-1)
        odd = np.broadcast_to(np.asarray(numbers) % 2, len(scores))
        halves = [counts & (odd == half)[:, None] for half in (0, 1)]

        def sums(values: Doubles) -> Doubles:
            return np.stack([np.where(half[..., None], values, 0).sum(axis=0) for half in halves])

        return cls(
            test.unit,
            test.min_weight,
            np.stack([half.sum(axis=0) for half in halves]),
            sums(scores),
            sums(scores**2),
            sums(weights),
            {name: sums(np.broadcast_to(each, scores.shape)) for name, each in baselines.items()},
        )

    @classmethod
    def nothing(cls, test: HeadTest[Any], layers: int, heads: int) -> Scores:
        """Return the sums over no example at all."""
        zeros = np.zeros((2, layers, heads))
        return cls(test.unit, test.min_weight, np.zeros((2, layers), np.int64), zeros, zeros, zeros)

    @property
    def examples(self) -> int:
        """How many examples count, in the layer with the most."""
        return int(self.count.sum(axis=0).max())

    @property
    def mean(self) -> Doubles:
        """float64 [layer, head], the scores; NaN where no example counts."""
        return self._mean(self.total)

    @property
    def weight(self) -> Doubles:
        """float64 [layer, head], the mean attention weight."""
        return self._mean(self.weights)

    @property
    def baseline(self) -> tuple[str, Doubles]:
        """The baseline that scores most on these very examples, and its score, float64 [layer, head]."""
        if not self.baselines:
            return "", np.full(self.total.shape[1:], np.nan)
        name = min(self.baselines, key=lambda each: (-self.baselines[each].sum(), each))
        return name, self._mean(self.baselines[name])

    @property
    def interval(self) -> tuple[Doubles, Doubles]:
        """The ends of the confidence interval of each head by itself, two float64 [layer, head].

        Wilson's where a score is right or wrong; else of the mean, and NaN of few examples.
        """
        return self._interval((0, 1))

    @property
    def ranking(self) -> tuple[tuple[int, int], ...]:
        """All heads, as layer and head from 0, the largest score first."""
        return ranked(np.nan_to_num(self.mean, nan=-1.0))

    @property
    def best(self) -> Best | None:
        """Choose the best head on one half of the examples, and score it on the other; None of too few."""
        choosing, reporting = 0, 1
        if not self.count.all():
            return None
        values = self._mean(self.total, (choosing,))
        enough = self._mean(self.weights, (choosing,)) >= self.min_weight
        if self.min_weight and enough.any():
            values = np.where(enough, values, -1.0)
        layer, head = ranked(values)[0]
        low, high = self._interval((reporting,))
        name, _ = self.baseline
        baseline = self._mean(self.baselines[name], (reporting,))[layer, head] if name else np.nan
        score = float(self._mean(self.total, (reporting,))[layer, head])
        ends = float(low[layer, head]), float(high[layer, head])
        return Best(layer, head, score, *ends, float(baseline), int(self.count[reporting, layer]))

    def _among(self, halves: Sequence[int]) -> Counts:
        found: Counts = self.count[list(halves)].sum(axis=0)
        return found

    def _mean(self, sums: Doubles, halves: Sequence[int] = (0, 1)) -> Doubles:
        among = self._among(halves)
        count = np.where(among > 0, among, np.nan)
        return np.asarray(sums[list(halves)].sum(axis=0) / count[:, None])

    def _interval(self, halves: Sequence[int]) -> tuple[Doubles, Doubles]:
        mean, among = self._mean(self.total, halves), self._among(halves)
        counts = np.broadcast_to(among[:, None], mean.shape)
        if self.unit == "right":
            right = self.total[list(halves)].sum(axis=0)
            ends = [wilson(int(each), int(n)) for each, n in zip(right.flat, counts.flat, strict=True)]
        else:
            variance = np.maximum(self._mean(self.squares, halves) - mean**2, 0)
            both = zip(mean.flat, variance.flat, counts.flat, strict=True)
            ends = [of_mean(float(each), float(v), int(n)) for each, v, n in both]
        low, high = np.array(ends).T.reshape(2, *mean.shape)
        return low, high


Found = Mapping[str, Scores]
"""Of each test, by its name."""


class Step(NamedTuple):
    """What was found in some more examples, and how many these are, skipped ones included."""

    examples: int
    found: Found


Share = Callable[[Callable[[Numbered], Step], Iterator[Numbered]], Iterable[Step]]
"""Like `map`: does the work on each part, in any order."""


def measure(
    tests: Sequence[HeadTest[Any]], corpus: Corpus, model: str, share: Share | None = None
) -> Iterator[Progress[Found]]:
    """Read all examples of a text once, and score them by all these tests.

    Args:
        tests: one or more, all of the same source.
        corpus: the examples.
        model: as `loading.load` takes it.
        share: who does the work, such as `on_ray.share(workers)`; None: this process, step by step.

    Yields:
        What was found so far; `done` and `total` count examples.

    Raises:
        AttnvizError: the text or the model cannot be used.
        ModelNotSupported: the model reads no text.
    """
    entry = resolve.entry(model)
    shape = entry.layers_of(self_attention(entry)), entry.heads
    total, examples = tests[0].source.examples(corpus)
    found: Found = {test.name: Scores.nothing(test, *shape) for test in tests}
    done = 0
    yield Progress(done, total, found)
    steps = partial(_steps, tests=tests, model=model, nothing=found)
    parts = _parts(examples)
    each = chain.from_iterable(map(steps, parts)) if share is None else share(partial(_whole, steps), parts)
    for more in each:
        done += more.examples
        found = _both(found, more.found)
        yield Progress(done, total, found)


def _parts(examples: Iterable[Any]) -> Iterator[Numbered]:
    numbered = enumerate(examples)
    while part := tuple(islice(numbered, PART)):
        yield part


def _steps(part: Numbered, tests: Sequence[HeadTest[Any]], model: str, nothing: Found) -> Iterator[Step]:
    """Read one part, and score what was read as it comes."""
    left = len(part)
    for read in tests[0].source.read(part, model):
        if isinstance(read, SkippedSentence):
            skipped = {name: replace(each, skipped=1, reasons=(read,)) for name, each in nothing.items()}
            step = Step(1, skipped)
        else:
            numbers, these = read
            step = Step(len(numbers), {test.name: Scores.of(test, numbers, these) for test in tests})
        left -= step.examples
        yield step
    yield Step(left, nothing)  # empty lines are passed over


def _whole(steps: Callable[[Numbered], Iterator[Step]], part: Numbered) -> Step:
    return reduce(lambda one, more: Step(one[0] + more[0], _both(one[1], more[1])), steps(part))


def _both(one: Found, other: Found) -> Found:
    return {name: one[name] + other[name] for name in one}


COLUMNS = (
    *("test", "layer", "head", "score", "low", "high", "unit", "examples", "baseline", "baseline score"),
    "attention weight",
)
"""The columns of `rows`."""


def rows(name: str, scores: Scores) -> Iterator[Cells]:
    """Yield the table of all heads, the largest score first; cells without a number are empty.

    Layers and heads count from 1; scores are 0 to 1, or tokens.
    """
    mean, (low, high), weight = scores.mean, scores.interval, scores.weight
    strategy, baseline = scores.baseline
    count = scores.count.sum(axis=0)
    for layer, head in scores.ranking:
        of_head = [each[layer, head] for each in (mean, low, high, baseline, weight)]
        score, *ends, by_baseline, given = ("" if np.isnan(each) else float(each) for each in of_head)
        place = (name, layer + 1, head + 1)
        yield (*place, score, *ends, scores.unit, int(count[layer]), strategy, by_baseline, given)
