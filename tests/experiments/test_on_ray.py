"""The same work on Ray: the same figures, whoever counts which part."""

import numpy as np
import pytest

from attnviz import importing
from attnviz.errors import AttnvizError
from attnviz.experiments import head_tests, on_ray, scoring
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.scoring import measure

LINES = ("The dog was tired.", "", "Hello, hello!", "word " * 600, "A cat sat on a mat.", "It rains.", "Oh!")


@pytest.mark.everything
def test_two_actors_find_what_this_process_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Real processes, each with a model that needs no transformers; five parts, so that each gets several."""
    monkeypatch.setattr(scoring, "PART", 3)
    corpus, tests = Corpus.from_text("\n".join(LINES * 2)), head_tests.find("rules")
    *_, alone = measure(tests, corpus, "minilm-scratch")
    steps = list(measure(tests, corpus, "minilm-scratch", on_ray.share(2)))
    assert steps[-1].finished
    assert len(steps) == 1 + 5
    for name, scores in alone.found.items():
        other = steps[-1].found[name]
        assert np.array_equal(other.count, scores.count)
        assert other.skipped == scores.skipped == 2
        for what in ("mean", "weight"):
            np.testing.assert_allclose(getattr(other, what), getattr(scores, what), atol=1e-6, err_msg=name)
        np.testing.assert_allclose(other.baseline[1], scores.baseline[1], atol=1e-6)


def test_without_ray_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(importing.EXTRAS, "ray", ("nobodys-ray>=1",))
    with pytest.raises(
        AttnvizError, match=r'nobodys-ray>=1, which is not installed.*pip install "nobodys-ray>=1"'
    ):
        on_ray.share(2)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "auto", "127.0.0.1:99999"])
def test_a_cluster_that_is_not_there_is_told(address: str) -> None:
    with pytest.raises(AttnvizError, match=f"Cannot connect to Ray at {address}"):
        next(on_ray.share(1, address)(str, iter(())))
