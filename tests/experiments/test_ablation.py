"""Ablation: cosine changes and angles, compared with running the model with one ablated head at a time."""

import numpy as np
import pytest
import torch
from hypothesis import given as hypothesis_given
from hypothesis import strategies as st

from attnviz.capture import loading
from attnviz.capture.model import ModelInput, Outcomes
from attnviz.experiments.ablation import Ablation, ablate, angles, cosine_change, heads_of, outcome_distances
from attnviz.experiments.progress import Progress
from attnviz.interventions.edit import Edit

TIRED = "The dog did not cross the road as it was too tired."


def test_cosine_changes_and_angles() -> None:
    before = np.array([[3, 4], [2, 0], [1, 1]], dtype=np.float32)
    after = np.array([[[6, 8], [0, 5], [-1, -1]], [[4, 3], [-1, 0], [0, 2]]], dtype=np.float32)
    found = cosine_change(before, after)
    expected = np.array([[0, 1, 2], [1 - 24 / 25, 2, 1 - np.sqrt(0.5)]], dtype=np.float64)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(angles(found).ravel(), [0, 90, 180, 16.2602, 180, 45], atol=1e-4)


@hypothesis_given(st.floats(1e-6, 3), st.floats(0.01, 100))
def test_small_angles_are_exact(radians: float, length: float) -> None:
    before = np.array([[1.0, 0.0]])
    after = length * np.array([[[np.cos(radians), np.sin(radians)]]])
    found = cosine_change(before, after)  # type: ignore[arg-type]  # float64, since float32 rounds the angle
    assert angles(found)[0, 0] == pytest.approx(np.degrees(radians), rel=1e-6)


def test_changes_of_probabilities() -> None:
    states = np.ones((1, 1, 2), dtype=np.float32)
    p = np.array([[0.5, 0.25, 0.25, 0.0]], dtype=np.float32)
    q = np.array([[0.25, 0.25, 0.5, 0.0], [0.5, 0.25, 0.25, 0.0], [0.5, 0.5, 0, 0]], dtype=np.float32)
    found = outcome_distances(Outcomes(states, None, p), Outcomes(states.repeat(3, 0), None, q))
    assert found.expected is not None
    assert found.variation is not None
    assert found.expected.tolist() == [-0.25, 0, 0]
    assert found.variation.tolist() == [0.25, 0, 0.25]


def last(steps: list[Progress[Ablation]]) -> Ablation:
    assert [step.finished for step in steps] == [False] * (len(steps) - 1) + [True]
    for step in steps:
        assert step.done == len(step.found.ablated) == len(step.found.distances.cosine_change)
    return steps[-1].found


def test_every_head_of_minilm() -> None:
    steps = list(ablate("minilm", ModelInput(TIRED)))
    found = last(steps)
    assert [step.done for step in steps] == [12, 24, 36, 48, 60, 72]
    assert found.ablated == heads_of("minilm")
    before = torch.tensor(loading.load("minilm").outcomes(ModelInput(TIRED), [()]).states[0])
    for number in (37, 71):
        states = torch.tensor(
            loading.load("minilm").outcomes(ModelInput(TIRED), [[found.ablated[number]]]).states[0]
        )
        expected = 1 - torch.cosine_similarity(states.double(), before.double(), dim=-1)
        np.testing.assert_allclose(found.distances.cosine_change[number], expected, atol=1e-6)
    assert found.ablated[37] == Edit("encoder", 3, 1)
    assert found.distances.expected is None
    assert found.distances.source is None


@pytest.fixture(scope="module")
def translator_ablation() -> Ablation:
    """The ablation of every head of the translator, measured at the prediction of "il"."""
    return last(list(ablate("translator", ModelInput(TIRED), 9)))


def test_every_head_of_the_translator(translator_ablation: Ablation) -> None:
    found = translator_ablation
    assert [str(edit) for edit in found.ablated[:9:4]] == ["encoder 1-1", "encoder 2-1", "decoder 1-1"]
    assert found.distances.source is not None
    assert not found.distances.source[8:].any()  # the decoder's heads do not change the encoder's outputs
    assert found.distances.expected is not None
    assert found.distances.expected.argmin() == 4  # “il” depends on encoder head 2-1
