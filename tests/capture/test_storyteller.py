"""Traces, predictions and texts of the storyteller: its own forward pass, to the bit."""

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

WRITES = ModelInput(GIFT, writing=Writing(12, temperature=0.8, top_k=20, seed=3))


@pytest.fixture(scope="module", params=SIZES)
def model(request: pytest.FixtureRequest) -> StorytellerModel:
    found = loading.load(request.param)
    assert isinstance(found, StorytellerModel)
    return found


def own_pass(model: StorytellerModel, ids: list[int]) -> DecoderOnlySteps:
    with torch.inference_mode():
        steps: DecoderOnlySteps = model.storyteller.model(torch.tensor(ids))
    return steps


def test_a_trace_and_its_predictions_are_the_model_s_own_numbers(model: StorytellerModel) -> None:
    trace, predictions = model.trace(WRITES), model.predictions(WRITES)
    tokens = trace.blocks[0].query_tokens
    assert 0 < trace.written <= 12
    assert model.tokens(trace.text) == tokens
    steps = own_pass(model, [token.id for token in tokens])
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


def test_what_it_writes_is_the_likeliest_word_each_time(model: StorytellerModel) -> None:
    trace = model.trace(ModelInput(GIFT, writing=Writing(8)))
    ids = [token.id for token in model.tokens(GIFT)]
    for _ in range(trace.written):
        ids.append(int(own_pass(model, ids).logits[-1].argmax()))
    assert [token.id for token in trace.blocks[0].query_tokens] == ids


def test_it_writes_no_more_than_it_can_read(model: StorytellerModel) -> None:
    edits = [Edit("decoder", 0, head) for head in range(4)]  # so that it hardly ever ends a story
    trace = model.trace(ModelInput("the key " * 45, writing=Writing(100)), edits=edits)
    assert len(trace.blocks[0].query_tokens) <= TOKEN_LIMIT


def test_an_ablated_head_is_a_zero_slice_of_w_o(model: StorytellerModel) -> None:
    edit = Edit("decoder", 1, 2)
    ids = [token.id for token in model.tokens(GIFT)]
    found = model.outcomes(GIFT, [(), (edit,)], position=len(ids) - 1)
    without = build(model.storyteller.size, seed=0).eval()
    without.load_state_dict(model.storyteller.model.state_dict())
    with torch.inference_mode():
        attention_at(without, "layers.1.attention").to_output.weight[:, 32:48] = 0
        expected = without(torch.tensor(ids)).logits[-1].softmax(-1)
    assert found.probabilities is not None
    np.testing.assert_allclose(found.probabilities[1], expected, atol=1e-6)
    np.testing.assert_allclose(found.probabilities[0], own_pass(model, ids).logits[-1].softmax(-1), atol=1e-6)
    assert model.trace(GIFT, edits=[edit]).blocks[1].weights[2].max() == 0


def test_what_it_cannot_do_is_said(model: StorytellerModel) -> None:
    with pytest.raises(ModelNotSupported, match="reads one text"):
        model.tokens(ModelInput(GIFT, second=GIFT))
    with pytest.raises(InvalidEdit):
        model.trace(GIFT, edits=[Edit("encoder", 0, 0)])
    with pytest.raises(InvalidEdit, match="row 90"):
        model.trace(GIFT, edits=[Edit("decoder", 0, 0, 89)])
    assert model.words([4]) == (VOCABULARY.words[4],)
    assert model.prediction_positions(GIFT) == tuple(range(len(model.tokens(GIFT))))
