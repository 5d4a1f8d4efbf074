"""Forward passes on a cluster: the same figures, the same errors."""

from collections.abc import Iterator

import numpy as np
import pytest

from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.errors import AttnvizError, EmptyText, WrongSetting
from attnviz.experiments import engine
from attnviz.interventions.edit import Edit

MODEL, GIVEN = "minilm-scratch", ModelInput("The dog did not cross the road as it was too tired.")
EDITS = (Edit.parse("encoder 4-2"),)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    serve = pytest.importorskip("ray.serve", reason="needs ray[serve]")
    import ray

    monkeypatch.setenv(engine.SETTING, "ray://local")
    monkeypatch.setattr(engine, "_deployed", {})
    yield
    serve.shutdown()
    ray.shutdown()


@pytest.mark.everything
@pytest.mark.usefixtures("cluster")
@pytest.mark.filterwarnings("ignore::Warning:ray")
def test_a_deployment_finds_what_this_process_finds() -> None:
    for edits in ((), EDITS):
        here, there = loading.trace(MODEL, GIVEN, edits), engine.trace(MODEL, GIVEN, edits)
        assert there.tokens == here.tokens
        for one, other in zip(here.blocks, there.blocks, strict=True):
            for what in ("query", "key", "value", "scores", "weights", "output"):
                np.testing.assert_allclose(getattr(one, what), getattr(other, what), atol=1e-6, err_msg=what)
    with pytest.raises(EmptyText):
        engine.trace(MODEL, ModelInput("  "))
    assert len(engine._deployed) == 1


def test_without_the_setting_this_process_runs_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(engine.SETTING, raising=False)
    monkeypatch.setattr(engine, "_deploy", None)
    here, there = loading.trace(MODEL, GIVEN), engine.trace(MODEL, GIVEN)
    assert np.array_equal(here.blocks[0].weights, there.blocks[0].weights)


@pytest.mark.parametrize("setting", ["10.0.0.5:6379", "http://10.0.0.5:6379"])
def test_what_names_no_cluster_is_refused(monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    monkeypatch.setenv(engine.SETTING, setting)
    with pytest.raises(WrongSetting, match="should be ray://HOST:PORT or ray://local"):
        engine.trace(MODEL, GIVEN)


def test_a_cluster_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray.serve", reason="needs ray[serve]")
    monkeypatch.setenv(engine.SETTING, "ray://127.0.0.1:1")
    with pytest.raises(AttnvizError, match=r"There is no Ray at 127\.0\.0\.1:1"):
        engine.trace(MODEL, GIVEN)
