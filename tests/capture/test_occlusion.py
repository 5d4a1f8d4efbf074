"""Words left out, against a plain loop over transformers' own model."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, PreTrainedModel

from attnviz.capture import loading
from attnviz.capture.attribution import Occluded, occlusion
from attnviz.capture.stack import Expected, Stack, expected, stack_of
from tests.capture.tiny import SENTENCE

Folder = Callable[[str], Path]

TIRED = "The dog did not cross the road as it was too tired."
MASK = 103  # [MASK] in BERT's vocabulary


def all_of(stack: Stack, place: int, followed: Expected | None) -> Occluded:
    *_, found = occlusion(stack, place, followed)
    return found


def one_minus_cosine(one: torch.Tensor, other: torch.Tensor) -> float:
    return float(1 - (one @ other) / (one.norm() * other.norm()))


def test_bert_reads_mask_in_place_of_each_word(minilm: loading.Model, eager: PreTrainedModel) -> None:
    place, stack = 9, stack_of(minilm, TIRED)
    ids = torch.tensor([[token.id for token in stack.tokens]])
    found = all_of(stack, place, None)
    assert found.log_probability is None
    with torch.inference_mode():
        before = eager(ids).last_hidden_state[0, place].double()
        for token in range(len(stack.tokens)):
            without = ids.clone()
            without[0, token] = MASK
            after = eager(without).last_hidden_state[0, place].double()
            assert found.turned[token] == pytest.approx(one_minus_cosine(before, after), abs=1e-5)
    assert found.turned.argmax() == place


def test_a_masked_token_follows_its_probability(folder_of: Folder) -> None:
    place, stack = 5, stack_of(loading.load(str(folder_of("bert"))), "The dog did not [MASK] the road .")
    network: Any = AutoModelForMaskedLM.from_pretrained(folder_of("bert"))
    followed = expected(stack, place)
    assert followed is not None
    found = all_of(stack, place, followed)
    assert found.log_probability is not None
    ids = torch.tensor([[token.id for token in stack.tokens]])
    for token in range(len(stack.tokens)):
        without = ids.clone()
        without[0, token] = ids[0, place]  # [MASK]
        with torch.inference_mode():
            probability = network(without).logits[0, place].softmax(-1)[followed.id]
        assert float(np.exp(found.log_probability[token])) == pytest.approx(float(probability), rel=1e-4)
    assert np.exp(found.log_probability[place]) == pytest.approx(followed.probability, rel=1e-5)


def test_a_decoder_reads_an_average_word_in_place_of_each(folder_of: Folder) -> None:
    place, stack = 6, stack_of(loading.load(str(folder_of("gpt2"))), SENTENCE)
    network: Any = AutoModelForCausalLM.from_pretrained(folder_of("gpt2"))
    followed = expected(stack, place)
    found = all_of(stack, place, followed)
    assert followed is not None
    assert found.log_probability is not None
    table = network.get_input_embeddings().weight.detach()
    words = table[[token.id for token in stack.tokens]]
    for token in range(len(stack.tokens)):
        without = words.clone()
        without[token] = table.mean(dim=0)
        with torch.inference_mode():
            ran = network(inputs_embeds=without[None], output_hidden_states=True)
            before = network(inputs_embeds=words[None], output_hidden_states=True)
        outputs = (one.hidden_states[-1][0, place].double() for one in (before, ran))
        assert found.turned[token] == pytest.approx(one_minus_cosine(*outputs), abs=1e-5)
        told = float(ran.logits[0, place].log_softmax(-1)[followed.id])
        assert found.log_probability[token] == pytest.approx(told, abs=1e-4)
    np.testing.assert_allclose(found.turned[place + 1 :], 0, atol=1e-6)  # it does not see them


def test_long_texts_are_read_in_several_batches(
    minilm: loading.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = stack_of(minilm, TIRED)
    together = all_of(stack, 9, None)
    monkeypatch.setattr("attnviz.capture.attribution._TOKENS_OF_OCCLUSION", 4 * len(stack.tokens))
    found = list(occlusion(stack, 9, None))
    assert [len(so_far.turned) for so_far in found] == [4, 8, 12, 15]
    np.testing.assert_allclose(found[-1].turned, together.turned, atol=1e-6)
