"""Search for similar tokens, in memory and streamed, compared with a naive search."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import attnviz
from attnviz import experiments
from attnviz.errors import AttnvizError
from attnviz.experiments import scoring
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.neighbours import TextVectors, Vector, nearest, read_corpus, search
from attnviz.experiments.sentences import SkippedSentence

TIRED = "The dog did not cross the road as it was too tired."
LINES = ("The dog slept.", "A cat, as it seems, sat on the unbelievably old mat.", "It rained.")
TEXT = "\n".join([LINES[0], *[""] * 6, "word " * 600, LINES[1], "\udcff", LINES[2]])


@given(st.integers(0, 10_000), st.integers(1, 30), st.booleans())
def test_nearest_tokens_equal_a_naive_search(seed: int, count: int, restricted: bool) -> None:
    random = np.random.default_rng(seed)
    vectors = random.standard_normal((23, 3)).astype(np.float16)
    vectors[4] = 0
    vector = random.standard_normal(3).astype(np.float32)
    allowed = random.random(23) < (0.5 if restricted else 2)
    places, cosines = nearest(vectors, vector, count, allowed)
    naive = {}
    for place, each in enumerate(vectors.astype(float).tolist()):
        length = (
            sum(number**2 for number in each) ** 0.5 * sum(float(number) ** 2 for number in vector) ** 0.5
        )
        product = sum(one * float(other) for one, other in zip(each, vector, strict=True))
        if allowed[place]:
            naive[place] = product / length if length else 0.0
    expected = sorted(naive, key=lambda place: -naive[place])[:count]
    assert places.tolist() == expected
    np.testing.assert_allclose(cosines, [naive[place] for place in expected], atol=1e-6)


def all_vectors(text: str = TEXT, layer: int = 3) -> TextVectors:
    *_, step = read_corpus(Corpus.from_text(text), "minilm", layer, 2**24)
    assert step.finished
    assert step.found is not None
    return step.found


def test_vectors_equal_the_trace_of_each_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "PART", 2)
    found = all_vectors()
    assert [(one.text, one.line) for one in found.sentences] == list(zip(LINES, (0, 8, 10), strict=True))
    assert len(found.skipped) == 2
    for one, text in zip(found.sentences, LINES, strict=True):
        block = attnviz.trace(text).block("encoder", 3)
        for name, vectors in (("output", block.output), ("query", block.query), ("key", block.key)):
            np.testing.assert_allclose(getattr(one, name), vectors, rtol=2e-3, atol=2e-3)
        words = block.weights[..., 1:-1]
        assert np.array_equal(one.attends_to, words.argmax(axis=-1) + 1)
        np.testing.assert_allclose(one.weight, words.max(axis=-1), atol=1e-3)
    assert found.sentences[-1].labels[-4:] == ("it", "rained", ".", "[SEP]")


def test_streamed_and_in_memory_search_give_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts are returned in reverse order, as may happen with Ray; repeated sentences cause ties."""

    def reverse_order(work: Callable[[Any], Any], parts: Iterator[Any]) -> Iterator[Any]:
        return map(work, reversed(list(parts)))

    corpus = Corpus.from_text("\n".join(LINES * 5))
    target = attnviz.trace(TIRED).block("encoder", 3).key[5, 3]
    vector: Vector = "key"
    arguments = corpus, "minilm", (3, 5), vector, target, 13
    monkeypatch.setattr(scoring, "PART", 3)
    [*_, streamed], [*_, shared] = search(*arguments), search(*arguments, share=reverse_order)
    assert streamed.found == shared.found
    text = all_vectors("\n".join(LINES * 5))
    expected = [near for _, near in text.nearest(5, "key", target, 13)]
    assert list(streamed.found.nearest) == expected
    assert streamed.finished


def test_unreadable_lines_are_counted_and_the_query_sentence_is_excluded() -> None:
    found = experiments.find(LINES[1], place=4, layer=3, head=1, within=TEXT, count=1_000)
    assert {near.sentence for near in found.nearest} == {LINES[0], LINES[2]}
    assert (found.lines, found.skipped, len(found.reasons)) == (11, 2, 2)
    assert {type(each) for each in found.reasons} == {SkippedSentence}


def test_text_that_needs_too_much_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "PART", 2)
    corpus = Corpus.from_text("\n".join(LINES * 3))
    with pytest.raises(AttnvizError, match=r"need more than 0 MB\. Use at most 6 of its lines here"):
        list(read_corpus(corpus, "minilm", 0, 3 * 384 * 2 * 62))


@pytest.mark.everything
def test_memory_does_not_grow_with_the_text() -> None:
    """In separate processes without transformers, eight times as many lines need at most 10 % more memory."""
    code = (
        "import sys, resource, numpy\n"
        "from attnviz.experiments.corpus import Corpus\n"
        "from attnviz.experiments.neighbours import search\n"
        "lines = (f'It rained on {day} days.' for day in range(int(sys.argv[1])))\n"
        "text = Corpus.from_text('\\n'.join(lines))\n"
        "*_, last = search(text, 'minilm-scratch', (3, 1), 'query', numpy.ones(32, numpy.float32))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    few, many = (
        int(subprocess.run([sys.executable, "-c", code, str(lines)], capture_output=True, check=True).stdout)
        for lines in (256, 2_048)
    )
    assert many < 1.1 * few


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"place": 15}, "There is no token 15"),
        ({"head": 12}, "The layer has 12 heads; there is no head 13"),
        ({"layer": 6}, "“minilm” has 6 layers; there is no layer 7"),
        ({"vector": "value"}, "“value” is not a vector"),
        ({"within": "word " * 600}, "cannot read any of the lines"),
    ],
)
def test_invalid_arguments_are_refused(arguments: dict[str, object], reason: str) -> None:
    with pytest.raises(AttnvizError, match=reason):
        experiments.find(TIRED, **{"within": "Hello.", **arguments})  # type: ignore[arg-type]
