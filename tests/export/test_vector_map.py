"""The map of vectors: its points are compared with NumPy's SVD, and its texts are escaped."""

import re
from itertools import pairwise

import numpy as np
import pytest

from attnviz.export import vector_map as module
from attnviz.export.vector_map import MapToken, vector_map

HOSTILE = "<b>it</b> & $x$ <a href='http://example.org'>"
RANDOM = np.random.default_rng(7)
VECTORS = RANDOM.normal(size=(37, 11)).astype(np.float16)
WANTED = RANDOM.normal(size=11).astype(np.float32)
TOKENS = [MapToken(f"token {place}", f"Sentence {place}.") for place in range(37)]
FOUND = [5, 31, 2]


def test_points_are_projections_onto_principal_components_and_all_results_are_drawn() -> None:
    figure = vector_map(VECTORS, TOKENS, FOUND, [0.9, 0.8, 0.7], WANTED, "it", "key")
    assert {trace.type for trace in figure.data} == {"scattergl"}
    others, found, chosen = (np.stack([trace.x, trace.y], axis=-1) for trace in figure.data)
    vectors = VECTORS.astype(np.float64)
    mean = vectors.mean(axis=0)
    _, strengths, axes = np.linalg.svd(vectors - mean)
    remaining = [place for place in range(37) if place not in FOUND]
    for points, expected in ((others, vectors[remaining]), (found, vectors[FOUND]), (chosen, WANTED[None])):
        np.testing.assert_allclose(np.abs(points), np.abs((expected - mean) @ axes[:2].T), atol=1e-5)
    first, second = strengths[:2] ** 2 / (strengths**2).sum()
    assert figure.layout.xaxis.title.text == f"PC 1 ({100 * first:.0f} % of the variance)"
    assert figure.layout.yaxis.title.text == f"PC 2 ({100 * second:.0f} % of the variance)"
    assert [text.rsplit("similarity ")[-1] for text in figure.data[1].hovertext] == ["0.90", "0.80", "0.70"]
    assert "Sentence 31." in figure.data[1].hovertext[1]


def test_only_evenly_spaced_tokens_of_a_large_map_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_POINTS", 10)
    figure = vector_map(VECTORS, TOKENS, FOUND, [0.9, 0.8, 0.7], WANTED, "it", "query")
    points = [
        int(text.split("Sentence ")[1].rstrip(".\N{POP DIRECTIONAL ISOLATE}"))
        for text in figure.data[0].hovertext
    ]
    assert len(points) == 9
    assert figure.data[0].name == "9 of 34 other tokens"
    assert {later - earlier for earlier, later in pairwise(points)} <= {4, 5, 6}
    assert len(figure.data[1].x) == 3


def test_words_are_escaped() -> None:
    tokens = [MapToken(HOSTILE, HOSTILE)] * 37
    figure = vector_map(VECTORS, tokens, FOUND, [0.9, 0.8, 0.7], WANTED, HOSTILE, "output")
    texts = [text for trace in figure.data for text in trace.hovertext]
    texts.append(figure.data[2].name)
    for text in texts:
        typed = re.sub("<br>|</?b>", "", text)
        assert not set("<>$") & set(typed)
        assert "&lt;b&gt;it&lt;/b&gt; &amp; &#36;x&#36;" in typed


def test_a_text_of_one_token_can_be_drawn() -> None:
    figure = vector_map(VECTORS[:1], TOKENS[:1], [0], [0.5], WANTED, "it", "query")
    assert [len(trace.x) for trace in figure.data] == [0, 1, 1]
