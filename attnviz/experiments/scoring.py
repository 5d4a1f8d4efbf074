"""Tests of heads: examples in, one score for every head out.

A test is a `HeadTest`: a source of examples and a function that scores them. `attnviz.experiments.head_tests`
lists all tests. This module computes sums, halves, intervals and baselines in the same way for every test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from itertools import chain, islice
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from attnviz.analysis.distance import ranked
from attnviz.analysis.intervals import SIGNIFICANT, bootstrapped, of_mean, sign_test, wilson
from attnviz.analysis.table import Cells
from attnviz.capture import loading
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.progress import Progress
from attnviz.experiments.sentences import CANNOT_READ, SkippedSentence, reader, self_attention
from attnviz.models import resolve
from attnviz.trace import Counts, Doubles, Kind, Mask, Trace

PART = 1_000
"""Number of examples per part of the work, for one worker of Ray."""

MAX_REASONS = 100
"""Maximum number of skipped examples whose reason is kept; the others are counted."""

Read = TypeVar("Read")
Example = TypeVar("Example")
Numbered = Sequence[tuple[int, Any]]
"""Examples with their numbers, from 0."""

Unit = Literal["right", "share", "tokens"]
"""Unit of a score: 1 if the head is right, else 0; a fraction from 0 to 1; a number of tokens."""

CHOOSING, REPORTING = 0, 1
"""The halves, even and odd examples: the best head is chosen on the first and scored on the second."""


class Scored(NamedTuple):
    """The scores of some examples.

    Attributes:
        scores: float64 [item, layer, head]; NaN if the item does not count.
        weights: float64 [item, layer, head], attention weight, 0 to 1, on which the score is based; NaN
            if there is none.
        baselines: By name, scores at chance or of strategies without a model, [item, layer, head]; an
            axis of length 1 if the value is the same for all layers or heads.
        unfiltered: Scores without exclusion of tokens; None if the test excludes none.
    """

    scores: Doubles
    weights: Doubles
    baselines: Mapping[str, Doubles]
    unfiltered: Doubles | None = None


Reads = Callable[[Numbered, str], Iterator[tuple[Sequence[int], Read] | SkippedSentence]]
"""Yields what the model read, with the numbers of its examples, and skipped examples."""


@dataclass(frozen=True)
class Source(Generic[Read]):
    """Source of the examples of some tests.

    Attributes:
        name: Name of the group of tests that use it.
        unit: Name of one example, in the singular.
        example: One or two lines that show the format.
        file: The bundled examples.
        examples: Returns the number of examples in a text, and the examples; raises AttnvizError if there
            are none, or a line is invalid.
        read: Runs a model on some of them.
    """

    name: str
    unit: str
    example: str
    file: Path
    examples: Callable[[Corpus], tuple[int, Iterable[Any]]]
    read: Reads[Read]

    def bundled(self) -> str:
        """Return the text of the bundled examples."""
        return self.file.read_text("utf-8")


def annotated(
    parse: Callable[[str], Sequence[Example]],
    one: Callable[[Example, Callable[[str], Trace], Kind], Read],
    **named: Any,
) -> Source[Read]:
    """Return a source of examples that are read one by one, with one forward pass per sentence.

    Args:
        parse: Returns the examples of a text.
        one: Reads one example; raises UnusableSentence if it has no score.
        named: The other attributes of the source.
    """

    def examples(corpus: Corpus) -> tuple[int, Sequence[Example]]:
        found = parse(corpus.text)
        return len(found), found

    def read(numbered: Numbered, model: str) -> Iterator[tuple[Sequence[int], Read] | SkippedSentence]:
        entry = resolve.entry(model)
        trace, kind = reader(entry, loading.load(model)), self_attention(entry)
        for number, example in numbered:
            try:
                yield [number], one(example, trace, kind)
            except CANNOT_READ as error:
                yield SkippedSentence(example.text, str(error))

    return Source(examples=examples, read=read, **named)


@dataclass(frozen=True)
class HeadTest(Generic[Read]):
    """A test of heads.

    Attributes:
        name: Name in menus, links and on the command line.
        question: What a score measures, as a sentence without its full stop.
        source: Source of the examples; tests with the same source share one pass over them.
        score: Scores what the source has read.
        unit: Unit of a score.
        min_weight: Minimum mean weight of the best head.
        excluded: Excluded tokens; "" if none.
    """

    name: str
    question: str
    source: Source[Read]
    score: Callable[[Read], Scored]
    unit: Unit = "share"
    min_weight: float = 0.0
    excluded: str = ""


class Best(NamedTuple):
    """The head chosen on the first half of the examples, with its score on the second half.

    Attributes:
        layer, head: from 0.
        score, low, high: Score on the second half, with its confidence interval.
        baseline: Score there of the baseline that is best on the first half.
        examples: Number of examples in the second half.
        similar: Number of heads, itself included, that do not differ significantly from it there (exact
            sign test at 5 %, for pairs McNemar's test); None if scores are not right or wrong.
    """

    layer: int
    head: int
    score: float
    low: float
    high: float
    baseline: float
    examples: int
    similar: int | None


@dataclass(frozen=True, eq=False)
class Scores:
    """Sums over examples, from which scores, intervals and baselines are computed; `a + b` merges two.

    Attributes:
        unit, min_weight: as in the test.
        count: int64 [half, layer], number of counted items.
        sums: By name, float64 [half, layer, head], sums over these items: "score", "square", "weight",
            "unfiltered" and the baselines.
        each: If scores are right or wrong, for each example its half, number of items [layer] and of right
            ones [layer, head].
        skipped: Number of examples that the model cannot read or that have no score.
        reasons: The first `MAX_REASONS` of those, with the reason.
    """

    unit: Unit
    min_weight: float
    count: Counts
    sums: Mapping[str, Doubles]
    each: tuple[tuple[int, Counts, Doubles], ...] = ()
    skipped: int = 0
    reasons: tuple[SkippedSentence, ...] = ()
    baselines: frozenset[str] = field(default_factory=frozenset)

    def __add__(self, other: Scores) -> Scores:
        """Return the sums over the examples of both."""
        zeros = np.zeros(self.sums["score"].shape)
        return Scores(
            self.unit,
            self.min_weight,
            self.count + other.count,
            {
                name: self.sums.get(name, zeros) + other.sums.get(name, zeros)
                for name in {**self.sums, **other.sums}
            },
            self.each + other.each,
            self.skipped + other.skipped,
            (*self.reasons, *other.reasons)[:MAX_REASONS],
            self.baselines | other.baselines,
        )

    @classmethod
    def of(cls, test: HeadTest[Read], numbers: Sequence[int], read: Read) -> Scores:
        """Score what was read."""
        scores, weights, baselines, unfiltered = test.score(read)
        counts = ~np.isnan(scores).any(axis=-1)
        odd = np.broadcast_to(np.asarray(numbers) % 2, len(scores))
        halves = [counts & (odd == half)[:, None] for half in (CHOOSING, REPORTING)]
        values = {"score": scores, "square": scores**2, "weight": weights, **baselines}
        if unfiltered is not None:
            values["unfiltered"] = unfiltered

        def total(values: Doubles, half: Mask) -> Doubles:
            counted = np.where(half[..., None], np.broadcast_to(values, scores.shape), 0)
            return np.asarray(counted.sum(axis=0))

        sums = {name: np.stack([total(each, half) for half in halves]) for name, each in values.items()}
        count = np.stack([half.sum(axis=0) for half in halves])
        each = ((int(odd[0]), count.sum(axis=0), sums["score"].sum(axis=0)),) if len(odd) else ()
        return cls(
            test.unit,
            test.min_weight,
            count,
            sums,
            each if test.unit == "right" else (),
            baselines=frozenset(baselines),
        )

    def among(self, layers: Sequence[int], count: int) -> Scores:
        """Insert the layers without attention weights, in which no item counts.

        Args:
            layers: Numbers, from 0, of the layers with weights.
            count: Total number of layers.
        """
        if len(layers) == count:
            return self

        def spread(array: NDArray[Any], axis: int) -> NDArray[Any]:
            found = np.zeros((*array.shape[:axis], count, *array.shape[axis + 1 :]), array.dtype)
            found[(slice(None),) * axis + ([*layers],)] = array
            return found

        return replace(
            self,
            count=spread(self.count, 1),
            sums={name: spread(each, 1) for name, each in self.sums.items()},
            each=tuple((half, spread(items, 0), spread(right, 0)) for half, items, right in self.each),
        )

    @classmethod
    def nothing(cls, test: HeadTest[Any], layers: int, heads: int) -> Scores:
        """Return empty sums."""
        zeros = np.zeros((2, layers, heads))
        sums = {"score": zeros, "square": zeros, "weight": zeros}
        return cls(test.unit, test.min_weight, np.zeros((2, layers), np.int64), sums)

    @property
    def examples(self) -> int:
        """Number of counted items, in the layer with the most."""
        return int(self.count.sum(axis=0).max())

    @property
    def mean(self) -> Doubles:
        """float64 [layer, head], mean scores; NaN where no item counts."""
        return self._mean("score")

    @property
    def weight(self) -> Doubles:
        """float64 [layer, head], mean attention weights."""
        return self._mean("weight")

    @property
    def unfiltered(self) -> Doubles | None:
        """float64 [layer, head], scores without exclusions; None if the test excludes nothing."""
        return self._mean("unfiltered") if "unfiltered" in self.sums else None

    @property
    def baseline(self) -> tuple[str, Doubles]:
        """Name and score, float64 [layer, head], of the best baseline on these examples."""
        name = self._baseline((CHOOSING, REPORTING))
        return name, self._mean(name) if name else np.full(self.sums["score"].shape[1:], np.nan)

    @cached_property
    def interval(self) -> tuple[Doubles, Doubles]:
        """Ends of each head's confidence interval, two float64 [layer, head].

        Means use the variance (NaN with too few examples). Right-or-wrong scores use the Wilson interval,
        or a bootstrap over examples if examples have several items.
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
        enough = self._mean("weight", (CHOOSING,)) >= self.min_weight
        if self.min_weight and enough.any():
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
            self._similar(at),
        )

    def _similar(self, at: tuple[int, int]) -> int | None:
        """Return the number of heads that do not differ significantly from this one on the second half."""
        if self.unit != "right":
            return None
        right = np.stack([right for half, _, right in self.each if half == REPORTING])
        ahead = right[:, at[0], at[1], None, None] - right
        more, fewer = ((sign * ahead > 0).sum(axis=0).ravel().tolist() for sign in (1, -1))
        return sum(sign_test(*both) >= SIGNIFICANT for both in zip(more, fewer, strict=True))

    def _baseline(self, halves: Sequence[int]) -> str:
        """Return the name of the best baseline on these halves; "" if there is none."""
        totals = {name: self.sums[name][list(halves)].sum() for name in self.baselines}
        return min(totals, key=lambda name: (-totals[name], name), default="")

    def _mean(self, name: str, halves: Sequence[int] = (CHOOSING, REPORTING)) -> Doubles:
        among = self.count[list(halves)].sum(axis=0)
        count = np.where(among > 0, among, np.nan)
        return np.asarray(self.sums[name][list(halves)].sum(axis=0) / count[:, None])

    def _interval(self, halves: Sequence[int]) -> tuple[Doubles, Doubles]:
        mean = self._mean("score", halves)
        if self.unit == "right" and any(count.max() > 1 for _, count, _ in self.each):
            parts = [(count, right) for half, count, right in self.each if half in halves]
            return bootstrapped(*map(np.stack, zip(*parts, strict=True)))
        counts = np.broadcast_to(self.count[list(halves)].sum(axis=0)[:, None], mean.shape)
        if self.unit == "right":
            right = self.sums["score"][list(halves)].sum(axis=0)
            ends = [wilson(int(each), int(n)) for each, n in zip(right.flat, counts.flat, strict=True)]
        else:
            variance = np.maximum(self._mean("square", halves) - mean**2, 0)
            both = zip(mean.flat, variance.flat, counts.flat, strict=True)
            ends = [of_mean(float(each), float(v), int(n)) for each, v, n in both]
        low, high = np.array(ends).T.reshape(2, *mean.shape)
        return low, high


Found = Mapping[str, Scores]
"""Scores by name of test."""


class Step(NamedTuple):
    """Scores of some more examples, and their number, including skipped ones."""

    examples: int
    found: Found


Share = Callable[[Callable[[Numbered], Step], Iterator[Numbered]], Iterable[Step]]
"""Like `map`, in any order."""


def measure(
    tests: Sequence[HeadTest[Any]], corpus: Corpus, model: str, share: Share | None = None
) -> Iterator[Progress[Found]]:
    """Read all examples of a text once, and score them by all these tests.

    Args:
        tests: Tests with the same source.
        corpus: The examples.
        model: Name of a model, as for `loading.load`.
        share: Distributes the work, for example `on_ray.share(workers)`; None uses this process.

    Yields:
        Scores so far; `done` and `total` count examples.

    Raises:
        AttnvizError: the text or the model cannot be used.
        ModelNotSupported: the model does not read text.
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
    """Read one part, and score each batch."""
    left, entry = len(part), resolve.entry(model)
    kind = self_attention(entry)
    layers = entry.numbers_of(kind), entry.layers_of(kind)
    for read in tests[0].source.read(part, model):
        if isinstance(read, SkippedSentence):
            skipped = {name: replace(each, skipped=1, reasons=(read,)) for name, each in nothing.items()}
            step = Step(1, skipped)
        else:
            numbers, these = read
            found = {test.name: Scores.of(test, numbers, these).among(*layers) for test in tests}
            step = Step(len(numbers), found)
        left -= step.examples
        yield step
    yield Step(left, nothing)  # empty lines


def _whole(steps: Callable[[Numbered], Iterator[Step]], part: Numbered) -> Step:
    return reduce(lambda one, more: Step(one[0] + more[0], _both(one[1], more[1])), steps(part))


def _both(one: Found, other: Found) -> Found:
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
"""Columns of `rows`."""


def rows(name: str, scores: Scores) -> Iterator[Cells]:
    """Yield the table of all heads, largest score first; cells without a number are empty.

    Layers and heads count from 1; scores are 0 to 1, or tokens.
    """
    mean, (low, high), weight = scores.mean, scores.interval, scores.weight
    unfiltered = scores.mean if scores.unfiltered is None else scores.unfiltered
    strategy, baseline = scores.baseline
    count = scores.count.sum(axis=0)
    for layer, head in scores.ranking:
        of_head = [each[layer, head] for each in (mean, low, high, baseline, weight, unfiltered)]
        score, *ends, by_baseline, given, of_all = ("" if np.isnan(each) else float(each) for each in of_head)
        place = (name, layer + 1, head + 1)
        yield (*place, score, *ends, scores.unit, int(count[layer]), strategy, by_baseline, given, of_all)
