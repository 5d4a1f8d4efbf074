"""The same work on Ray: the same figures, whoever counts which part."""

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attnviz import importing
from attnviz.analysis.tally import NAMES
from attnviz.capture.batches import Batch
from attnviz.errors import AttnvizError
from attnviz.experiments import behaviour, on_ray
from attnviz.experiments.behaviour import Counted, measure_corpus
from attnviz.experiments.corpus import Corpus

LINES = ("The dog was tired.", "", "Hello, hello!", "word " * 600, "A cat sat on a mat.", "It rains.", "Oh!")


def sentences_of(batch: Batch) -> "np.ndarray[Any, Any]":
    return np.array([len(batch.texts)])


@pytest.mark.everything
def test_two_actors_find_what_this_process_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Real processes, each with a model that needs no transformers; five parts, so that each gets several."""
    monkeypatch.setattr(behaviour, "PART", 3)
    corpus = Corpus.from_text("\n".join(LINES * 2))
    asked = (corpus, "minilm-scratch", {"sentences": sentences_of})
    *_, alone = measure_corpus(*asked)
    steps = list(measure_corpus(*asked, engine=on_ray.on_ray(2)))
    one, other = alone.found, steps[-1].found
    assert steps[-1].finished
    assert not any(step.found.single for step in steps)
    assert len(steps) == 1 + 5
    assert (other.parts, other.empty, other.skipped, other.named) == (
        one.parts,
        one.empty,
        one.skipped,
        one.named,
    )
    assert other.sums["sentences"].tolist() == one.sums["sentences"].tolist() == [10]
    assert np.array_equal(one.tally.count, other.tally.count)
    for name in NAMES:
        ours, theirs = one.tally.of(name), other.tally.of(name)
        for what in ("mean", "deviation", "baseline", "distribution"):
            np.testing.assert_allclose(getattr(ours, what), getattr(theirs, what), atol=1e-6, err_msg=name)


def test_without_ray_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(importing.EXTRAS, "ray", ("nobodys-ray>=1",))
    with pytest.raises(
        AttnvizError, match=r'nobodys-ray>=1, which is not installed.*pip install "nobodys-ray>=1"'
    ):
        on_ray.on_ray(2)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "auto", "127.0.0.1:99999"])
def test_a_cluster_that_is_not_there_is_told(address: str) -> None:
    engine = on_ray.on_ray(1, address)
    with pytest.raises(AttnvizError, match=f"There is no Ray at {address}"):
        next(engine(iter(()), "minilm", {}))


def test_actors_for_which_there_is_no_room_are_not_awaited_for_good() -> None:
    """Ray itself would wait for as long as no processor comes free."""

    class Full:
        """A cluster with room for two."""

        def wait(self, begun: list[str], num_returns: int, timeout: float) -> tuple[list[str], list[str]]:
            assert (num_returns, timeout) == (3, on_ray._START_SECONDS)
            return begun[:2], begun[2:]

        def cluster_resources(self) -> dict[str, float]:
            return {"CPU": 2.0}

    actor = SimpleNamespace(ready=SimpleNamespace(remote=lambda: "begun"))
    full: Any = Full()
    with pytest.raises(AttnvizError, match=r"Of 3 workers 1 did not start .* knows of 2 processors"):
        on_ray._wait_for(full, [actor] * 3)


def test_what_an_actor_counts_is_what_this_process_counts() -> None:
    part = behaviour.Part(5, ((15, "A dog."), (16, ""), (17, "A cat.")))
    counted: Counted = on_ray.Worker().do(partial(on_ray.counted, "minilm", {}), part)
    assert counted.finished == 5
    assert (int(counted.found.tally.sentences), counted.found.empty) == (2, 1)
    nothing = on_ray.counted("minilm", {}, behaviour.Part(5, ()))  # it was broken off just before its end
    assert (nothing.finished, nothing.found.lines) == (5, 0)
