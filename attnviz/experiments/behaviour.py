"""What every head does over a text of many sentences: one pass, with every sum that is asked for."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from attnviz.analysis import shapes
from attnviz.analysis.divergence import Divergences, divergences
from attnviz.analysis.shapes import ShapeSums
from attnviz.analysis.tally import Tally, tally
from attnviz.capture import loading
from attnviz.capture.batches import Batch, Refused, batches
from attnviz.errors import ModelNotSupported, quoted
from attnviz.experiments.corpus import Corpus, broken
from attnviz.experiments.progress import Progress
from attnviz.models import resolve

PART = 1_000
"""How many lines are grouped by length together. More of them fill a batch better, and take more memory."""

MOST_NAMED = 100
"""How many of the lines that could not be read are named; the others are counted."""

_NOT_UTF_8 = "This line holds bytes that are not UTF-8. Save the file as UTF-8 to keep it."


class Summable(Protocol):
    """Sums over sentences: `a + b` is that of both, in whatever order or grouping."""

    def __add__(self, other: Self, /) -> Self:
        """Those of both together."""


Measure = Callable[[Batch], Summable]
"""What is summed beside the `Tally`, from one batch. For Ray it must be a function of a module, no lambda."""


@dataclass(frozen=True, order=True)
class Skipped:
    """A line that could not be read.

    Attributes:
        line: its number, from 1, as an editor counts.
        why: the reason, as a sentence.
    """

    line: int
    why: str


@dataclass(frozen=True, eq=False)
class BehaviourFindings:
    """What was found so far; `a + b` is that of both parts of the text.

    Attributes:
        tally: every rule for every head.
        sums: what the further measures gave, by their names; a measure is missing until a sentence was read.
        empty: how many lines held nothing but white space.
        skipped: how many lines could not be read.
        named: the first of those, by line; at most `MOST_NAMED`.
        parts: which parts of the text are counted to their ends, from 0, each of `PART` lines.
        single: which lines of other parts are counted, from 0.
    """

    tally: Tally
    sums: Mapping[str, Any] = field(default_factory=dict)
    empty: int = 0
    skipped: int = 0
    named: tuple[Skipped, ...] = ()
    parts: frozenset[int] = frozenset()
    single: frozenset[int] = frozenset()

    def __add__(self, other: BehaviourFindings) -> BehaviourFindings:
        """What was found in both."""
        sums = {**self.sums, **other.sums}
        for name in self.sums.keys() & other.sums.keys():
            sums[name] = self.sums[name] + other.sums[name]
        return BehaviourFindings(
            tally=self.tally + other.tally,
            sums=sums,
            empty=self.empty + other.empty,
            skipped=self.skipped + other.skipped,
            named=tuple(sorted(self.named + other.named)[:MOST_NAMED]),
            parts=self.parts | other.parts,
            single=self.single | other.single,
        )

    @property
    def lines(self) -> int:
        """How many lines were looked at."""
        return int(self.tally.sentences) + self.empty + self.skipped


MOST_COMPARED, LEAST_COMPARED = 400, 25
"""In how many lines every head is compared with every other: pairs of heads are many."""

_MOST_PAIRS = 8_000_000  # of heads, over all lines: 400 lines with 200 heads

_SENTENCES = Path(__file__).with_name("sentences.txt")


class Part(NamedTuple):
    """Lines of a text, which are counted together: those of a part that were not counted before.

    Attributes:
        number: which part it is, from 0.
        lines: each with its number, from 0.
    """

    number: int
    lines: tuple[tuple[int, str], ...]


class Counted(NamedTuple):
    """A piece of what was found in a part.

    Attributes:
        found: what comes to what was found before.
        finished: the part that is counted to its end with this; None: more of it comes.
    """

    found: BehaviourFindings
    finished: int | None


Engine = Callable[[Iterator[Part], str, Mapping[str, Measure]], Iterator[Counted]]
"""What does the work: given the parts, the model's name and the measures, it says what was found."""


def locally(parts: Iterator[Part], model: str, measures: Mapping[str, Measure]) -> Iterator[Counted]:
    """The engine of this process: one part after the other, told batch by batch."""
    for part in parts:
        for found in measure_part(part, model, measures):
            yield Counted(found, None)
        yield Counted(BehaviourFindings(_nothing(model)), part.number)


def measure_corpus(
    corpus: Corpus,
    model: str,
    measures: Mapping[str, Measure] | None = None,
    *,
    engine: Engine = locally,
    begun: BehaviourFindings | None = None,
) -> Iterator[Progress[BehaviourFindings]]:
    """Read the whole text with one model; `done` and `total` count lines.

    To stop it, ask for no more; to go on, ask the same iterator again. Further measures go through the same
    batches: `measure_corpus(corpus, "minilm", {"shapes": shapes_of})` finds `found.sums["shapes"]`.

    Args:
        model: as `loading.load` takes it.
        measures: what else is summed in the same pass, by a name for each.
        engine: who does the work; the figures are the same to 1e-6.
        begun: what was found before, at whatever step, by the same model, measures and text.

    Raises:
        AttnvizError: the model cannot be loaded, or does not read text.
    """
    entry = resolve.entry(model)
    if not entry.reads:
        raise ModelNotSupported(f"{quoted(model)} reads no text. Choose a model that does.")
    found = BehaviourFindings(_nothing(model)) if begun is None else begun
    yield Progress(found.lines, corpus.lines, found)
    for more, finished in engine(_parts(corpus, found), model, measures or {}):
        found += more
        if finished is not None:
            single = frozenset(line for line in found.single if line // PART != finished)
            found = replace(found, parts=found.parts | {finished}, single=single)
        yield Progress(found.lines, corpus.lines, found)


def measure_part(part: Part, model: str, measures: Mapping[str, Measure]) -> Iterator[BehaviourFindings]:
    """What is in one part of a text, batch by batch.

    Raises:
        AttnvizError: the model cannot be loaded.
    """
    reader, entry = loading.load(model), resolve.entry(model)
    nothing = _nothing(model)
    empty = frozenset(line for line, text in part.lines if not text.strip())
    yield BehaviourFindings(nothing, empty=len(empty), single=empty)
    for line, text in part.lines:
        if broken(text):
            yield _skipped(nothing, line, _NOT_UTF_8)
    readable = ((line, text) for line, text in part.lines if text.strip() and not broken(text))
    for read in batches(reader, entry, readable):
        if isinstance(read, Refused):
            yield _skipped(nothing, read.line, read.why)
        else:
            counted = tally(read.texts, read.tokens, read.weights, read.masks)
            sums = {name: measure(read) for name, measure in measures.items()}
            yield BehaviourFindings(counted, sums, single=frozenset(read.lines))
            return_freed_memory()


def _nothing(model: str) -> Tally:
    """What is found before anything is read."""
    entry = resolve.entry(model)
    return Tally.nothing(entry.layers_of(entry.kinds[0]), entry.heads)


def _skipped(nothing: Tally, line: int, why: str) -> BehaviourFindings:
    return BehaviourFindings(nothing, skipped=1, named=(Skipped(line + 1, why),), single=frozenset({line}))


def _parts(corpus: Corpus, begun: BehaviourFindings) -> Iterator[Part]:
    """The lines that are not counted, part by part; only one part is held."""
    lines = enumerate(corpus)
    number = 0
    while taken := tuple(islice(lines, PART)):
        if number not in begun.parts:
            yield Part(number, tuple(line for line in taken if line[0] not in begun.single))
        number += 1


def return_freed_memory() -> None:
    """Hand back what has been freed; only where the C library is glibc, elsewhere nothing.

    Tensors of many sizes leave gaps between them. glibc keeps these for later, and a process that reads
    sentences of ever other lengths would seem to grow without end.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def bundled() -> str:
    """The sentences that ship with attnviz, of our own writing, one a line."""
    return _SENTENCES.read_text("utf-8")


def measures(lines: int, heads: int) -> dict[str, Measure]:
    """What is summed beside the rules of a `Tally`, by name: “shapes” and “divergences”.

    Args:
        lines: of the text; of a long one, every second, third … line is used for divergences.
    """
    return {"shapes": shapes_of, "divergences": partial(divergences_of, every=compared_every(lines, heads))}


def compared_every(lines: int, heads: int) -> int:
    """Every how many lines so many heads are compared, in a text of so many lines."""
    pairs = max(1, heads * (heads - 1) // 2)
    most = max(LEAST_COMPARED, min(MOST_COMPARED, _MOST_PAIRS // pairs))
    return max(1, -(-lines // most))


def shapes_of(batch: Batch) -> ShapeSums:
    """What the shapes of all heads follow from."""
    return shapes.shapes(batch.weights, batch.masks, [token.sentence for token in batch.tokens[0]])


def divergences_of(batch: Batch, every: int) -> Divergences:
    """How much any two heads differ in the lines whose number is a multiple of `every`."""
    chosen = np.array([line % every == 0 for line in batch.lines], dtype=np.bool_)
    return divergences([layer[chosen] for layer in batch.weights])
