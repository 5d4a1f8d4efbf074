"""Gradients, compared with finite differences; occlusion, compared with a plain loop."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, PreTrainedModel

from attnviz.capture import loading
from attnviz.capture.attribution import Gradients, Occluded, gradients, occlusion
from attnviz.capture.huggingface import HuggingFaceModel
from attnviz.capture.model import ExpectedToken, Model, OcclusionMethod
from attnviz.capture.stack import Stack, expected, stack_of
from attnviz.capture.translator import TranslatorModel
from attnviz.transformer import multi_head
from attnviz.transformer.attention import AttentionSteps, scaled_dot_product_attention
from tests.capture.tiny import SENTENCE, FolderOf

TIRED = "The dog did not cross the road as it was too tired."
MASKED = "The dog did not [MASK] the road ."
MASK = 103  # [MASK] in BERT's vocabulary


def final_gradients(stack: Stack, place: int) -> Gradients:
    *_, (done, total, found) = gradients(stack, place, expected(stack, place))
    assert done == total
    return found


@pytest.fixture
def exact() -> Stack:
    """The translator's encoder in float64, with a short sentence."""
    model = loading.load("translator")
    assert isinstance(model, TranslatorModel)
    model = copy.copy(model)
    model.translator = copy.copy(model.translator)
    model.translator.model = copy.deepcopy(model.translator.model).double()
    return stack_of(model, "The dog was tired.")


def test_input_gradients_equal_finite_differences(exact: Stack) -> None:
    place, step = 2, 1e-5
    tokens, d_model = exact.words.shape
    nudges = step * torch.eye(tokens * d_model, dtype=torch.float64).reshape(-1, tokens, d_model)
    with torch.inference_mode():
        up, down = (exact.run(exact.words + sign * nudges).output[:, place] for sign in (1, -1))
    jacobian = ((up - down) / (2 * step)).reshape(tokens, d_model, -1)  # [token, input, output]
    found = final_gradients(exact, place)
    np.testing.assert_allclose(found.input_gradient, jacobian.square().sum(dim=(1, 2)).sqrt(), rtol=1e-6)
    times = (jacobian * exact.words[:, :, None]).sum(dim=1)
    np.testing.assert_allclose(found.input_x_gradient, times.square().sum(dim=1).sqrt(), rtol=1e-6)


def test_attention_gradients_equal_finite_differences(exact: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    place, step, compute = 2, 1e-5, scaled_dot_product_attention
    weights = torch.stack([layer[0] for layer in exact.run(exact.words[None]).weights])
    layers, heads, tokens, _ = weights.shape
    nudge = torch.zeros_like(weights)
    calls: list[int] = []

    def nudged(query: Tensor, key: Tensor, value: Tensor, *arguments: Any) -> AttentionSteps:
        steps = compute(query, key, value, *arguments)
        calls.append(1)
        weights = steps.weights + nudge[len(calls) - 1]
        return steps._replace(weights=weights, output=weights @ value)

    monkeypatch.setattr(multi_head, "scaled_dot_product_attention", nudged)
    sums = torch.zeros(tokens, dtype=torch.float64)
    for cell in np.ndindex(layers, heads, tokens, tokens):
        outputs = []
        for sign in (1, -1):
            calls.clear()
            nudge[cell] = sign * step
            with torch.inference_mode():
                outputs.append(exact.run(exact.words[None]).output[0, place])
        nudge[cell] = 0
        slope = (outputs[0] - outputs[1]) / (2 * step)
        sums[cell[3]] += (weights[cell] * slope).square().sum().sqrt()
    monkeypatch.undo()
    np.testing.assert_allclose(final_gradients(exact, place).attention_x_gradient, sums, rtol=1e-5)


@pytest.mark.parametrize(("family", "text", "place"), [("gpt2", SENTENCE, 5), ("bert", MASKED, 5)])
def test_gradients_equal_finite_differences(family: str, text: str, place: int, folder_of: FolderOf) -> None:
    stack = stack_of(loading.load(str(folder_of(family))), text)
    target_token = expected(stack, place)
    assert target_token is not None
    tokens, d_word = stack.words.shape
    step = 1e-2  # smaller steps vanish in float32
    nudges = step * torch.eye(tokens * d_word).reshape(-1, tokens, d_word)

    def log_probability(words: Tensor) -> Tensor:
        logits = stack.run(words).logits
        assert logits is not None
        return logits[:, place].double().log_softmax(-1)[:, target_token.id]

    with torch.inference_mode():
        up, down = (log_probability(stack.words + sign * nudges) for sign in (1, -1))
    slopes = ((up - down) / (2 * step)).reshape(tokens, d_word)
    found = final_gradients(stack, place)
    np.testing.assert_allclose(found.input_gradient, slopes.norm(dim=1), rtol=0.02, atol=2e-3)
    times = (slopes * stack.words).sum(dim=1).abs()
    np.testing.assert_allclose(found.input_x_gradient, times, rtol=0.02, atol=5e-3)


def test_model_is_unchanged(folder_of: FolderOf) -> None:
    model = loading.load(str(folder_of("bert")))
    assert isinstance(model, HuggingFaceModel)
    before = [parameter.requires_grad for parameter in model.network.parameters()]
    final_gradients(stack_of(model, SENTENCE), 3)
    assert [parameter.requires_grad for parameter in model.network.parameters()] == before
    assert all(parameter.grad is None for parameter in model.network.parameters())


# Occlusion


def final_occlusion(
    stack: Stack, place: int, target_token: ExpectedToken | None, method: OcclusionMethod
) -> Occluded:
    *_, found = occlusion(stack, place, target_token, method)
    return found


def one_minus_cosine(one: torch.Tensor, other: torch.Tensor) -> float:
    return float(1 - (one @ other) / (one.norm() * other.norm()))


def test_mask_occlusion_of_bert_equals_transformers(minilm: Model, eager: PreTrainedModel) -> None:
    place, stack = 9, stack_of(minilm, TIRED)
    ids = torch.tensor([[token.id for token in stack.tokens]])
    found = final_occlusion(stack, place, None, "mask vector")
    assert found.log_probability is None
    with torch.inference_mode():
        before = eager(ids).last_hidden_state[0, place].double()
        for token in range(len(stack.tokens)):
            without = ids.clone()
            without[0, token] = MASK
            after = eager(without).last_hidden_state[0, place].double()
            assert found.cosine_change[token] == pytest.approx(one_minus_cosine(before, after), abs=1e-5)
    assert found.cosine_change.argmax() == place


def test_mean_vector_occlusion_of_a_decoder_equals_transformers(folder_of: FolderOf) -> None:
    place, stack = 6, stack_of(loading.load(str(folder_of("gpt2"))), SENTENCE)
    network: Any = AutoModelForCausalLM.from_pretrained(folder_of("gpt2"))
    target_token = expected(stack, place)
    found = final_occlusion(stack, place, target_token, "mean vector")
    assert target_token is not None
    assert found.log_probability is not None
    table = network.get_input_embeddings().weight.detach()
    words = table[[token.id for token in stack.tokens]]
    for token in range(len(stack.tokens)):
        without = words.clone()
        without[token] = table.mean(dim=0)
        with torch.inference_mode():
            occluded = network(inputs_embeds=without[None], output_hidden_states=True)
            before = network(inputs_embeds=words[None], output_hidden_states=True)
        outputs = (one.hidden_states[-1][0, place].double() for one in (before, occluded))
        assert found.cosine_change[token] == pytest.approx(one_minus_cosine(*outputs), abs=1e-5)
        expected_log = float(occluded.logits[0, place].log_softmax(-1)[target_token.id])
        assert found.log_probability[token] == pytest.approx(expected_log, abs=1e-4)
    np.testing.assert_allclose(found.cosine_change[place + 1 :], 0, atol=1e-6)  # later tokens are masked


@pytest.mark.parametrize(("family", "text", "place"), [("bert", MASKED, 5), ("gpt2", SENTENCE, 6)])
def test_deletion_equals_removing_the_token(family: str, text: str, place: int, folder_of: FolderOf) -> None:
    stack = stack_of(loading.load(str(folder_of(family))), text)
    auto = AutoModelForMaskedLM if family == "bert" else AutoModelForCausalLM
    network: Any = auto.from_pretrained(folder_of(family))
    target_token = expected(stack, place)
    assert target_token is not None
    found = final_occlusion(stack, place, target_token, "deleted")
    assert found.log_probability is not None
    ids = torch.tensor([[token.id for token in stack.tokens]])
    tokens = torch.arange(len(stack.tokens))
    with torch.inference_mode():
        before = network(ids, output_hidden_states=True).hidden_states[-1][0, place].double()
        for token in tokens[tokens != place]:
            at = place - int(token < place)
            deleted = network(ids[:, tokens != token], output_hidden_states=True)
            after = deleted.hidden_states[-1][0, at].double()
            assert found.cosine_change[token] == pytest.approx(one_minus_cosine(before, after), abs=1e-5)
            expected_log = float(deleted.logits[0, at].log_softmax(-1)[target_token.id])
            assert found.log_probability[token] == pytest.approx(expected_log, abs=1e-4)
    assert np.flatnonzero(np.isnan(found.cosine_change)).tolist() == [place]
    assert np.flatnonzero(np.isnan(found.log_probability)).tolist() == [place]


def test_occlusion_of_attnviz_bert_equals_transformers(minilm: Model) -> None:
    published, reimplemented = stack_of(minilm, TIRED), stack_of(loading.load("minilm-scratch"), TIRED)
    for method in published.occlusion_methods:
        one, other = (
            final_occlusion(stack, 9, None, method).cosine_change for stack in (published, reimplemented)
        )
        np.testing.assert_allclose(one, other, atol=1e-5, err_msg=method)


def test_long_texts_are_occluded_in_batches(minilm: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = stack_of(minilm, TIRED)
    together = final_occlusion(stack, 9, None, "mask vector")
    monkeypatch.setattr("attnviz.capture.attribution._MAX_OCCLUSION_TOKENS", 4 * len(stack.tokens))
    found = list(occlusion(stack, 9, None, "mask vector"))
    assert [len(partial.cosine_change) for partial in found] == [4, 8, 12, 15]
    np.testing.assert_allclose(found[-1].cosine_change, together.cosine_change, atol=1e-6)
