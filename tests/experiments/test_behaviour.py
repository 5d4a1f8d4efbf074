"""What every head does over a text of many sentences: right figures, work that goes on, memory given back."""

import ctypes
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import pytest
from attnviz.analysis.shapes import ShapeSums, shapes
from attnviz.analysis.tally import NAMES, Tally, tally
from attnviz.experiments.behaviour import BehaviourFindings, Skipped, measure_corpus, return_freed_memory

import attnviz
from attnviz import readable
from attnviz.analysis.divergence import Divergences, divergences
from attnviz.capture.batches import MOST_TOKENS, Batch
from attnviz.errors import ModelNotSupported
from attnviz.experiments import behaviour
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.progress import Progress
from attnviz.models import resolve
from attnviz.trace import Token

LINES = (
    "The dog did not cross the road as it was too tired.",
    "",
    "Hello!",
    "“Come in,” said the man, “and shut the door.”",
    "word " * 600,
    "   ",
    "Embeddings of embeddings, and so on.",
    "Hello.",
    "A cat sat.",
    "\u200b",
    "The cat did not cross the road as it was too tired.",
)
TEXT = "\n".join(LINES)

LAYERS, HEADS, SIZE = 2, 3, 5
BATCH_LINES = (4, 7, 8, 14)

GAP, MANY = 60_000, 1_000  # bytes that malloc takes from its heap, not each from the system


@dataclass(frozen=True)
class Lines:
    """The numbers of the lines that were read: a measure of the simplest kind."""

    numbers: frozenset[int]

    def __add__(self, other: "Lines") -> "Lines":
        return Lines(self.numbers | other.numbers)


def lines_of(batch: Batch) -> Lines:
    return Lines(frozenset(batch.lines))


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(behaviour, "PART", 3)


def last(steps: Sequence[Progress[BehaviourFindings]]) -> BehaviourFindings:
    assert steps[-1].finished
    return steps[-1].found


def one_by_one(texts: Sequence[str]) -> Tally:
    """The same sums from a trace of each sentence."""
    found = Tally.nothing(6, 12)
    for text in texts:
        blocks = attnviz.trace(text, model="minilm").of_kind("encoder")
        weights = [block.weights[None] for block in blocks]
        found += tally([text], [blocks[0].query_tokens], weights, [block.mask for block in blocks])
    return found


def assert_same_figures(one: Tally, other: Tally) -> None:
    assert (int(one.sentences), int(one.tokens)) == (int(other.sentences), int(other.tokens))
    assert np.array_equal(one.count, other.count)
    for name in NAMES:
        ours, theirs = one.of(name), other.of(name)
        np.testing.assert_allclose(ours.mean, theirs.mean, atol=1e-6, err_msg=name)
        np.testing.assert_allclose(ours.baseline, theirs.baseline, atol=1e-6, err_msg=name)
        np.testing.assert_allclose(ours.distribution, theirs.distribution, atol=2e-5, err_msg=name)


def test_the_figures_are_those_of_every_sentence_alone() -> None:
    steps = list(measure_corpus(Corpus.from_text(TEXT), "minilm", {"lines": lines_of}))
    found = last(steps)
    read = [0, 2, 3, 6, 7, 8, 10]
    assert_same_figures(found.tally, one_by_one([LINES[line] for line in read]))
    assert found.sums == {"lines": Lines(frozenset(read))}
    assert (found.empty, found.skipped, found.lines) == (2, 2, len(LINES))
    assert [skipped.line for skipped in found.named] == [5, 10]  # as an editor counts
    assert "602 tokens; the model reads at most 512" in found.named[0].why
    assert found.parts == {0, 1, 2, 3}
    assert not found.single
    done = [step.done for step in steps]
    assert done == sorted(done)
    assert (done[0], done[-1], steps[0].total) == (0, len(LINES), len(LINES))
    assert all(step.found.lines == step.done for step in steps)


def test_a_new_process_begins_at_any_step(folder_of: Callable[[str], Path]) -> None:
    corpus, model = Corpus.from_text(TEXT), str(folder_of("bert"))
    measures = {"lines": lines_of}
    steps = list(measure_corpus(corpus, model, measures))
    assert any(step.found.single for step in steps)
    for step in steps:
        assert_it_goes_on_from(
            step, list(measure_corpus(corpus, model, measures, begun=step.found)), last(steps)
        )


def assert_it_goes_on_from(
    step: Progress[BehaviourFindings],
    again: Sequence[Progress[BehaviourFindings]],
    expected: BehaviourFindings,
) -> None:
    """No line is counted twice, and none is left out."""
    assert again[0].done == step.done
    found = last(again)
    assert (found.sums, found.single) == (expected.sums, frozenset())
    assert (found.parts, found.empty, found.skipped, found.named) == (
        expected.parts,
        expected.empty,
        expected.skipped,
        expected.named,
    )
    assert_same_figures(found.tally, expected.tally)


def test_of_many_bad_lines_the_first_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(behaviour, "MOST_NAMED", 3)
    monkeypatch.setattr(readable, "MOST_CHARACTERS", 9)
    found = last(list(measure_corpus(Corpus.from_text("A dog.\n" + "0123456789\n" * 5), "minilm")))
    assert (found.skipped, [skipped.line for skipped in found.named]) == (5, [2, 3, 4])
    assert found.named[0].why.startswith("This text has 10 characters; attnviz reads at most 9.")
    later = BehaviourFindings(Tally.nothing(6, 12), skipped=1, named=(Skipped(1, "no"),))
    assert [skipped.line for skipped in (found + later).named] == [1, 2, 3]
    assert (later + found).named == (found + later).named


def test_a_few_broken_lines_are_skipped_and_named() -> None:
    content = b"A dog.\n" * 10 + b"caf\xe9\n"
    found = last(list(measure_corpus(Corpus.from_bytes(content, "x"), "minilm")))
    assert (int(found.tally.sentences), found.skipped) == (10, 1)
    assert found.named[0].line == 11
    assert "not UTF-8" in found.named[0].why


def test_a_model_that_reads_no_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    seeing = replace(resolve.entry("minilm"), grid=(3, 5))
    monkeypatch.setattr(resolve, "entry", lambda _name: seeing)
    with pytest.raises(ModelNotSupported, match="reads no text"):
        next(measure_corpus(Corpus.from_text("A dog."), "vit"))


@pytest.fixture
def batch() -> Batch:
    """Four lines of five tokens, with random weights; every second layer may only look back."""
    random = np.random.default_rng(7)
    masks = (np.ones((SIZE, SIZE), dtype=np.bool_), np.tri(SIZE, dtype=np.bool_))
    drawn = [random.random((len(BATCH_LINES), HEADS, SIZE, SIZE), dtype=np.float32) * mask for mask in masks]
    tokens = tuple(Token("a", 1, 2 * at, 2 * at + 1, at, False) for at in range(SIZE))
    weights = tuple(layer / layer.sum(axis=-1, keepdims=True) for layer in drawn)
    return Batch(BATCH_LINES, ("a a a a a",) * len(BATCH_LINES), (tokens,) * len(BATCH_LINES), weights, masks)


def test_both_measures_of_a_batch_are_those_of_its_lines(batch: Batch) -> None:
    measures = behaviour.measures(1001, LAYERS * HEADS)  # 400 at most: every third line
    lines = [[layer[at : at + 1] for layer in batch.weights] for at in range(len(BATCH_LINES))]
    found, compared = measures["shapes"](batch), measures["divergences"](batch)
    assert isinstance(found, ShapeSums)
    assert isinstance(compared, Divergences)
    one_by_one = reduce(add, [shapes(line, batch.masks, [0] * SIZE) for line in lines])
    np.testing.assert_allclose(found.beyond_even, one_by_one.beyond_even, atol=1e-6)
    assert compared.sentences == 0  # none of these lines' numbers is a multiple of 3
    every_second = behaviour.divergences_of(batch, 2)
    expected = reduce(add, [divergences(lines[at]) for at in (0, 2, 3)])
    assert every_second.sentences == 3
    np.testing.assert_allclose(every_second.total, expected.total, atol=1e-6)
    np.testing.assert_allclose((compared + every_second).mean, expected.mean, atol=1e-6)


@pytest.mark.parametrize("lines", [1, 7, 400, 401, 799, 801, 10_000])
def test_never_more_lines_are_compared_than_said(lines: int) -> None:
    compared = len(range(0, lines, behaviour.compared_every(lines, 72)))
    assert min(lines, behaviour.MOST_COMPARED // 2) <= compared <= behaviour.MOST_COMPARED


@pytest.mark.parametrize(("heads", "most"), [(1, 400), (72, 400), (384, 108), (1_200, 25)])
def test_many_heads_are_compared_in_fewer_lines(heads: int, most: int) -> None:
    """400 lines × 200 heads squared ÷ 2 is the budget; 384 × 383 ÷ 2 pairs leave 108 lines."""
    compared = len(range(0, 100_000, behaviour.compared_every(100_000, heads)))
    assert 0.95 * most <= compared <= most


def test_the_sentences_that_ship_are_many_and_unlike_each_other() -> None:
    lines = behaviour.bundled().splitlines()
    assert len(lines) == len(set(lines)) == 400
    lengths = Counter(len(line.split()) for line in lines)
    assert (min(lengths), max(lengths)) == (4, 30)
    assert max(lengths.values()) < 60
    assert all(line == line.strip() and re.search(r'[.?!]"?$', line) for line in lines)
    beginnings = Counter(" ".join(line.split()[:4]) for line in lines)
    assert max(beginnings.values()) <= 2
    for kind, sign in (("questions", "?"), ("quotations", '"'), ("lists", ", and "), ("numbers", r"\d")):
        assert (
            sum(bool(re.search(sign if sign == r"\d" else re.escape(sign), line)) for line in lines) >= 15
        ), kind


def resident() -> int:
    """How many bytes of this process lie in memory."""
    fields = dict(line.split(":") for line in Path("/proc/self/status").read_text("ascii").splitlines())
    return 1024 * int(fields["VmRSS"].split()[0])


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="only glibc keeps gaps"
)
def test_a_gap_goes_back_to_the_system() -> None:
    library = ctypes.CDLL(None)
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    library.free.argtypes = [ctypes.c_void_p]
    blocks = [library.malloc(GAP) for _ in range(MANY)]
    for block in blocks:
        ctypes.memset(block, 1, GAP)
    *gap, kept = blocks  # behind the gap, so that it cannot go back by itself
    for block in gap:
        library.free(block)
    before = resident()
    return_freed_memory()
    given = before - resident()
    library.free(kept)
    assert given > GAP * MANY / 2


def test_it_goes_back_after_each_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[None] = []
    monkeypatch.setattr(behaviour, "PART", 1_000)
    monkeypatch.setattr(behaviour, "return_freed_memory", lambda: given.append(None))
    lengths = [1, 1, 2, 3, 3, 3]
    text = "\n".join("a" + " b" * (length - 1) for length in lengths)
    assert sum(lengths) + 2 * len(lengths) < MOST_TOKENS  # each length is one batch
    seen = [
        (int(step.found.tally.sentences), len(given))
        for step in measure_corpus(Corpus.from_text(text), "minilm")
    ]
    assert dict(seen) == {0: 0, 2: 0, 3: 1, 6: 3}
