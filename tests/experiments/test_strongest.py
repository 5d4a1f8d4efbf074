"""Where a head does most: against the trace of each line."""

import numpy as np
import pytest

import attnviz
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.strongest import strongest
from attnviz.experiments.text_index import index

LINES = ("The dog slept.", "A cat, as it seems, sat on the mat.", "It rained.")
LAYER, HEAD = 3, 1


@pytest.mark.parametrize("by", ["weight", "contribution"])
def test_the_strongest_token_of_each_line_the_strongest_first(by: str) -> None:
    *_, step = index(Corpus.from_text("\n".join(LINES)), "minilm", layers=[LAYER])
    blocks = [attnviz.trace(line).block("encoder", LAYER) for line in LINES]
    projection = blocks[0].projection
    assert projection is not None
    if by == "weight":
        values = [block.weights[HEAD, 1:-1, 1:-1].max(axis=-1) for block in blocks]
        found = strongest(step.found, LAYER, HEAD)
    else:
        values = [np.linalg.norm(block.output[HEAD, 1:-1] @ projection[HEAD], axis=-1) for block in blocks]
        found = strongest(step.found, LAYER, HEAD, projection[HEAD])
    order = sorted(range(len(LINES)), key=lambda line: -values[line].max())
    places = [(line, 1 + int(values[line].argmax())) for line in order]
    assert [step.found.line_of(token) for token in found.tokens] == places
    assert found.values == pytest.approx([values[line].max() for line in order], rel=1e-2)
    assert found.median == pytest.approx(np.median(np.concatenate(values)), rel=1e-2)
    assert strongest(step.found, LAYER, HEAD, most=1).tokens == strongest(step.found, LAYER, HEAD).tokens[:1]
