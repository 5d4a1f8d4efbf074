"""The planes of all heads: each is that of the head's own vectors."""

import numpy as np
import pytest

import attnviz
from attnviz.analysis.plane import jointly_scaled, plane
from attnviz.experiments import all_planes as module
from attnviz.experiments.all_planes import SIDE, _picture, all_planes
from attnviz.experiments.corpus import Corpus

LINES = ("The dog slept.", "A cat, as it seems, sat on the mat.", "It rained all day, and nobody went out.")


@pytest.mark.parametrize("scaled", [False, True])
def test_each_head_has_its_own_plane(monkeypatch: pytest.MonkeyPatch, scaled: bool) -> None:
    monkeypatch.setattr(module, "MOST_LINES", 3)
    *_, step = all_planes(Corpus.from_text("\n".join([*LINES, "One more."])), "minilm", scaled, 2**26)
    found = step.found
    assert step.finished
    assert found is not None
    assert found.pictures.shape == (72, SIDE, SIDE)
    blocks = [attnviz.trace(line).block("encoder", 3) for line in LINES]
    query, key = (np.concatenate([getattr(each, by)[1] for each in blocks]) for by in ("query", "key"))
    assert (found.lines, found.tokens) == (3, len(query))
    if scaled:
        query, key = jointly_scaled(query, key)
    laid = plane(query, key, "distances")
    assert laid.kept == pytest.approx(float(found.kept[3, 1]), abs=1e-3)
    assert (found.near > 0).all()
    assert (found.near <= 1).all()


def test_queries_are_below_and_keys_above_the_level_of_nothing() -> None:
    picture = _picture(np.array([[0.0, 0], [0, 0]]), np.array([[1.0, 1]]))
    assert picture[SIDE - 1, 0] == 0  # two queries at the lower left
    assert picture[0, SIDE - 1] == round(127 + 127 * 0.5**0.5)  # one key at the upper right
    assert (picture == 127).sum() == SIDE**2 - 2
