"""Where a head does most: against the trace of each line, and against the model without the head."""

import numpy as np
import pytest

import attnviz
from attnviz import experiments
from attnviz.experiments import strongest as module
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.neighbours import TextVectors, read_corpus
from attnviz.experiments.strongest import change, contribution, sharpness, strongest
from attnviz.interventions.edit import Edit
from attnviz.trace import Floats

LINES = ("The dog slept.", "A cat, as it seems, sat on the mat.", "It rained.")
LAYER, HEAD = 3, 1


@pytest.fixture(scope="module")
def read() -> TextVectors:
    *_, step = read_corpus(Corpus.from_text("\n".join(LINES)), "minilm", LAYER, 2**24)
    assert step.found is not None
    return step.found


def by_line(read: TextVectors, values: Floats) -> list[Floats]:
    return np.split(values, read.starts[1:-1])


def test_the_sharpest_and_the_longest_are_those_of_each_lines_trace(read: TextVectors) -> None:
    blocks = [attnviz.trace(line).block("encoder", LAYER) for line in LINES]
    projection = blocks[0].projection
    assert projection is not None
    sharp = by_line(read, sharpness(read, HEAD))
    long = by_line(read, contribution(read, HEAD, projection[HEAD]))
    for line, block in enumerate(blocks):
        np.testing.assert_allclose(sharp[line], block.weights[HEAD, :, 1:-1].max(axis=-1), rtol=1e-2)
        lengths = np.linalg.norm(block.output[HEAD] @ projection[HEAD], axis=-1)
        np.testing.assert_allclose(long[line], lengths, rtol=1e-2)


def test_the_change_is_that_of_the_model_with_and_without_the_head(
    read: TextVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_AT_ONCE", 1)
    edit = Edit("encoder", LAYER, HEAD)
    first, second, last = change(read, edit)
    assert [(step.done, step.total, step.finished) for step in (first, last)] == [(1, 3, False), (3, 3, True)]
    np.testing.assert_array_equal(second.found, last.found[: read.starts[2]])
    for line, found in zip(LINES, by_line(read, last.found), strict=True):
        silenced = experiments.ablate(line).moved.turned[LAYER * 12 + HEAD]
        np.testing.assert_allclose(found, silenced, rtol=1e-3, atol=1e-6)


def test_the_strongest_token_of_each_line_the_strongest_first_and_no_special_one(read: TextVectors) -> None:
    values = np.arange(len(read.special), dtype=np.float32) % 7
    words = [values[start + 1 : end - 1] for start, end in zip(read.starts, read.starts[1:], strict=False)]
    order = sorted(range(len(LINES)), key=lambda line: -words[line].max())
    found = strongest(read, values)
    assert [read.place_of(token) for token in found.tokens] == [
        (line, 1 + int(words[line].argmax())) for line in order
    ]
    assert found.values == tuple(words[line].max() for line in order)
    assert found.median == np.median(np.concatenate(words))
    assert strongest(read, values, most=1).tokens == found.tokens[:1]
    assert {read.place_of(token)[0] for token in strongest(read, values[: read.starts[1]]).tokens} == {0}
