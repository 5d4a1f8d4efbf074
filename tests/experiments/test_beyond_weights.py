"""All measures for one token: their order, their values, and measures that a model does not support."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import attnviz
from attnviz.analysis.decomposition import around_attention
from attnviz.analysis.norms import head_norms, layer_norms, residual_norms
from attnviz.analysis.rank_correlation import correlation_of_ranks, ranks
from attnviz.analysis.rollout import rollout
from attnviz.capture import loading
from attnviz.capture.attribution import gradients, occlusion
from attnviz.capture.residual_stream import residual_stream
from attnviz.capture.stack import stack_of
from attnviz.errors import ModelNotSupported
from attnviz.experiments import beyond_weights
from attnviz.experiments.beyond_weights import MEASURES, MeasuredToken, measure_token, rows
from attnviz.experiments.progress import Progress
from attnviz.trace import Floats, Kind
from tests.capture.tiny import SENTENCE, tiny

ENGLISH = "The dog did not cross the road as it was too tired."


def steps_of(name: str, text: str, kind: Kind, place: int) -> list[Progress[MeasuredToken]]:
    return list(measure_token(name, text, kind, place))


def values_of(found: MeasuredToken, measure: str, layer: int, head: int) -> Floats:
    values = found.values_for(measure, layer, head)
    assert values is not None
    return values


@pytest.fixture(scope="module")
def steps() -> list[Progress[MeasuredToken]]:
    return steps_of("translator", ENGLISH, "encoder", 8)


def test_measures_are_added_one_by_one(steps: list[Progress[MeasuredToken]]) -> None:
    assert [step.done for step in steps] == sorted(step.done for step in steps)
    assert len({step.total for step in steps}) == 1
    assert [step.finished for step in steps] == [False] * (len(steps) - 1) + [True]
    found = steps[-1].found
    assert {beyond_weights.OCCLUSION, *found.values} == set(MEASURES)
    for before, after in pairwise(steps):
        assert set(before.found.values) <= set(after.found.values)
    assert not steps[1].found.occluded
    assert tuple(found.occluded) == ("mean vector", "deleted")
    assert found.missing == {"mask vector": "This model has no mask token."}


def test_measures_are_computed_for_the_selected_token(steps: list[Progress[MeasuredToken]]) -> None:
    found = steps[-1].found
    trace, model = attnviz.trace(ENGLISH, model="translator"), loading.load("translator")
    stack, block = trace.stack("encoder"), trace.block("encoder", 1)
    layers = stack_of(model, ENGLISH)
    _, (_, residual, norm) = around_attention(residual_stream(model, ENGLISH, 8, "encoder"))
    [*_, (_, _, result)] = gradients(layers, 8, None)
    expected = {
        beyond_weights.HEAD_WEIGHTS: stack[1, 2, 8],
        beyond_weights.LAYER_WEIGHTS: stack[1, :, 8].mean(axis=0),
        beyond_weights.HEAD_NORMS: head_norms(block, 8)[2],
        beyond_weights.LAYER_NORMS: layer_norms(block, 8),
        beyond_weights.ROLLOUT: rollout(stack)[-1, 8],
        beyond_weights.NORMS_AROUND: residual_norms(block, 8, residual, norm),
        beyond_weights.GRADIENT: result.input_gradient,
        beyond_weights.GRADIENT_INPUT: result.input_x_gradient,
        beyond_weights.GRADIENT_ATTENTION: result.attention_x_gradient,
    }
    assert set(expected) == set(MEASURES) - {beyond_weights.OCCLUSION}
    for measure, values in expected.items():
        np.testing.assert_allclose(
            values_of(found, measure, 1, 2), values, atol=1e-6, rtol=1e-4, err_msg=measure
        )
    for method, changes in found.occluded.items():
        *_, occluded = occlusion(layers, 8, None, method)
        np.testing.assert_allclose(changes, occluded.cosine_change, atol=1e-6, err_msg=method)
    assert found.values_for("Weather", 1, 2) is None
    assert found.visible.all()
    assert found.target is None


def test_rows_start_with_occlusion_and_are_sorted(steps: list[Progress[MeasuredToken]]) -> None:
    found = steps[-1].found
    counted = np.ones(len(found.visible), dtype=np.bool_)
    counted[[8, 12]] = False
    occlusion_rows, others = np.split(np.array(rows(found, 1, 2, counted)), [2])
    assert [row.method for row in occlusion_rows] == list(found.occluded)
    assert {row.measure for row in occlusion_rows} == {beyond_weights.OCCLUSION}
    assert [row.lowest for row in others] == sorted((row.lowest for row in others), reverse=True)
    for row in (*occlusion_rows, *others):
        each = [
            correlation_of_ranks(ranks(row.values[counted]), ranks(one.values[counted]))
            for one in occlusion_rows
        ]
        if row.method is None:
            np.testing.assert_allclose(row.agreements, each, atol=1e-6)
            assert (row.lowest, row.highest) == (pytest.approx(min(each)), pytest.approx(max(each)))
        assert sorted(row.ranks[counted]) == pytest.approx(range(1, 12), abs=0.5)
        assert (row.ranks[~counted] == 0).all()


def test_occlusion_of_a_decoder_measures_the_change_of_probability(tmp_path: Path) -> None:
    folder = str(tiny("gpt2", tmp_path))
    [*_, last] = steps_of(folder, SENTENCE, "decoder", 4)
    found = last.found
    prediction = attnviz.predictions(SENTENCE, folder)[4]
    assert prediction.actual is not None
    assert found.target is not None
    assert found.target.text == prediction.actual.text
    assert found.target.probability == pytest.approx(prediction.actual.probability, abs=1e-6)
    for method in found.occluded:
        np.testing.assert_allclose(found.occluded[method][5:], 0, atol=1e-5, err_msg=method)
    assert found.visible.tolist() == [True] * 5 + [False] * 8
    for measure in found.values:
        np.testing.assert_allclose(values_of(found, measure, 1, 2)[5:], 0, atol=1e-5, err_msg=measure)


def test_unsupported_measures_have_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ModelNotSupported("Unsupported layer.")

    name = str(tiny("gptj", tmp_path))  # attention and feed-forward network in parallel
    [*_, last] = steps_of(name, SENTENCE, "decoder", 4)
    assert set(last.found.missing) == {"mask vector"}
    assert {beyond_weights.OCCLUSION, *last.found.values} == set(MEASURES)
    monkeypatch.setattr("attnviz.capture.residual_stream.residual_stream", refuse)
    [*_, last] = steps_of(name, SENTENCE, "decoder", 4)
    assert last.found.missing[beyond_weights.NORMS_AROUND] == "Unsupported layer."
    missing = {beyond_weights.NORMS_AROUND, beyond_weights.OCCLUSION}
    assert set(last.found.values) == set(MEASURES) - missing
