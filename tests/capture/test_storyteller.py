"""Traces, predictions and generated texts of the storyteller agree with its own forward pass."""

import numpy as np
import pytest
import torch

from attnviz.capture import loading
from attnviz.capture.generation import MAX_CANDIDATES
from attnviz.capture.model import ModelInput, Writing
from attnviz.capture.storyteller import StorytellerModel
from attnviz.errors import InvalidEdit, ModelNotSupported
from attnviz.interventions.edit import Edit
from attnviz.interventions.editing import attention_at
from attnviz.trained.storyteller.grammar import TOKEN_LIMIT, VOCABULARY
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.storyteller.storyteller import build
from attnviz.transformer.decoder_only import DecoderOnlySteps
from tests.capture.sentences import GIFT

GENERATION = ModelInput(GIFT, writing=Writing(12, temperature=0.8, top_k=20, seed=3))


@pytest.fixture(scope="module", params=SIZES)
def model(request: pytest.FixtureRequest) -> StorytellerModel:
    found = loading.load(request.param)
    assert isinstance(found, StorytellerModel)
    return found


def forward(model: StorytellerModel, ids: list[int]) -> DecoderOnlySteps:
    with torch.inference_mode():
        steps: DecoderOnlySteps = model.storyteller.model(torch.tensor(ids))
    return steps


def test_trace_and_predictions_equal_the_models_numbers(model: StorytellerModel) -> None:
    trace, predictions = model.trace(GENERATION), model.predictions(GENERATION)
    tokens = trace.blocks[0].query_tokens
    assert 0 < trace.written <= 12
    assert model.tokens(trace.text) == tokens
    steps = forward(model, [token.id for token in tokens])
    assert [(block.kind, block.layer) for block in trace.blocks] == [
        ("decoder", layer) for layer in range(model.storyteller.size.layers)
    ]
    for block, layer in zip(trace.blocks, steps.layers, strict=True):
        for name in ("query", "key", "value"):
            assert np.array_equal(getattr(block, name), getattr(layer.attention, name).numpy())
        assert np.array_equal(block.weights, layer.attention.attention.weights.numpy())
    for place, (prediction, scores) in enumerate(zip(predictions, steps.logits.softmax(-1), strict=True)):
        best = scores.topk(MAX_CANDIDATES)
        assert [candidate.probability for candidate in prediction.candidates] == best.values.tolist()
        assert [candidate.id for candidate in prediction.candidates] == best.indices.tolist()
        if place + 1 < len(tokens):
            assert prediction.actual is not None
            assert prediction.actual.text == tokens[place + 1].text


def test_greedy_generation_takes_the_most_probable_token(model: StorytellerModel) -> None:
    trace = model.trace(ModelInput(GIFT, writing=Writing(8)))
    ids = [token.id for token in model.tokens(GIFT)]
    for _ in range(trace.written):
        ids.append(int(forward(model, ids).logits[-1].argmax()))
    assert [token.id for token in trace.blocks[0].query_tokens] == ids


def test_generation_stops_at_the_token_limit(model: StorytellerModel) -> None:
    edits = [Edit("decoder", 0, head) for head in range(4)]  # with these edits, stories rarely end
    trace = model.trace(ModelInput("the key " * 45, writing=Writing(100)), edits=edits)
    assert len(trace.blocks[0].query_tokens) <= TOKEN_LIMIT


def test_ablated_head_equals_a_zero_slice_of_w_o(model: StorytellerModel) -> None:
    edit = Edit("decoder", 1, 2)
    ids = [token.id for token in model.tokens(GIFT)]
    found = model.outcomes(GIFT, [(), (edit,)], position=len(ids) - 1)
    ablated = build(model.storyteller.size, seed=0).eval()
    ablated.load_state_dict(model.storyteller.model.state_dict())
    with torch.inference_mode():
        attention_at(ablated, "layers.1.attention").to_output.weight[:, 32:48] = 0
        expected = ablated(torch.tensor(ids)).logits[-1].softmax(-1)
    assert found.probabilities is not None
    np.testing.assert_allclose(found.probabilities[1], expected, atol=1e-6)
    np.testing.assert_allclose(found.probabilities[0], forward(model, ids).logits[-1].softmax(-1), atol=1e-6)
    assert model.trace(GIFT, edits=[edit]).blocks[1].weights[2].max() == 0


def test_unsupported_input_is_refused(model: StorytellerModel) -> None:
    with pytest.raises(ModelNotSupported, match="reads one text"):
        model.tokens(ModelInput(GIFT, second=GIFT))
    with pytest.raises(InvalidEdit):
        model.trace(GIFT, edits=[Edit("encoder", 0, 0)])
    with pytest.raises(InvalidEdit, match="row 90"):
        model.trace(GIFT, edits=[Edit("decoder", 0, 0, 89)])
    assert model.words([4]) == (VOCABULARY.words[4],)
    assert model.prediction_positions(GIFT) == tuple(range(len(model.tokens(GIFT))))
