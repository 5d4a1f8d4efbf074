"""Scores computed with Ray equal the scores of a single process."""

import numpy as np
import pytest

from attnviz import importing
from attnviz.errors import AttnvizError
from attnviz.experiments import head_tests, on_ray, scoring
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.scoring import measure

LINES = ("The dog was tired.", "", "Hello, hello!", "word " * 600, "A cat sat on a mat.", "It rains.", "Oh!")


def test_two_actors_give_the_same_scores_as_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The actors are real processes; each scores several parts. The model does not need transformers."""
    monkeypatch.setattr(scoring, "PART", 3)
    corpus, tests = Corpus.from_text("\n".join(LINES * 2)), head_tests.find("rules")
    *_, single = measure(tests, corpus, "minilm-scratch")
    steps = list(measure(tests, corpus, "minilm-scratch", on_ray.share(2)))
    assert steps[-1].finished
    assert len(steps) == 1 + 5
    for name, scores in single.found.items():
        other = steps[-1].found[name]
        assert np.array_equal(other.count, scores.count)
        assert other.skipped == scores.skipped == 2
        for field in ("mean", "weight"):
            np.testing.assert_allclose(getattr(other, field), getattr(scores, field), atol=1e-6, err_msg=name)
        np.testing.assert_allclose(other.baseline[1], scores.baseline[1], atol=1e-6)


def test_error_without_ray_contains_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(importing.EXTRAS, "ray", ("nobodys-ray>=1",))
    with pytest.raises(
        AttnvizError, match=r'nobodys-ray>=1, which is not installed.*pip install "nobodys-ray>=1"'
    ):
        on_ray.share(2)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "auto", "127.0.0.1:99999"])
def test_unreachable_cluster_is_reported(address: str) -> None:
    with pytest.raises(AttnvizError, match=f"Cannot connect to Ray at {address}"):
        next(on_ray.share(1, address)(str, iter(())))
