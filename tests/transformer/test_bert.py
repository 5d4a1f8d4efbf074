"""Our BERT compared with the transformers library: every attention weight and every hidden state."""

from typing import Any

import pytest
import torch
from torch import Tensor

from attnviz.errors import EmptyText, TextTooLong
from attnviz.transformer.bert import Bert, BertSteps
from attnviz.transformer.masks import padding_mask
from tests import reference_bert

TIRED = "The dog did not cross the road as it was too tired."
NARROW = "The dog did not cross the road as it was too narrow."
PARAGRAPH = (
    "Each query is compared with every key, and the values are summed with the resulting weights. Nobody "
    "defined a task for each head: some attend to the previous word, others to a full stop, and a few to "
    "the noun to which a pronoun refers. "
)


@pytest.fixture(scope="module")
def ours() -> Bert:
    return Bert.from_folder(reference_bert.folder())


@torch.no_grad()
def transformers_output(**inputs: Tensor) -> Any:
    return reference_bert.model()(**inputs, output_attentions=True, output_hidden_states=True)


def assert_same(steps: BertSteps, output: Any, text: int, tokens: int) -> None:
    """Compare our steps with text number `text` of transformers' output, for its first `tokens` tokens."""
    assert len(steps.layers) == len(output.attentions)
    assert len(steps.hidden_states) == len(output.hidden_states)
    for layer, attention in zip(steps.layers, output.attentions, strict=True):
        expected = attention[text, :, :tokens, :tokens]
        torch.testing.assert_close(layer.attention.attention.weights, expected, atol=1e-5, rtol=0)
    for state, hidden in zip(steps.hidden_states, output.hidden_states, strict=True):
        torch.testing.assert_close(state, hidden[text, :tokens], atol=1e-5, rtol=0)


@pytest.mark.parametrize("tokens", [3, 14, 128, 512])
@torch.no_grad()
def test_every_weight_and_hidden_state_equals_transformers(tokens: int, ours: Bert) -> None:
    tokenizer = reference_bert.tokenizer()
    ids = tokenizer(PARAGRAPH * 11, truncation=True, max_length=tokens, return_tensors="pt")["input_ids"]
    assert ids.shape == (1, tokens)
    assert_same(ours(ids[0]), transformers_output(input_ids=ids), text=0, tokens=tokens)


@torch.no_grad()
def test_texts_in_a_padded_batch_equal_single_texts(ours: Bert) -> None:
    texts = ["Hello", TIRED, PARAGRAPH, PARAGRAPH * 5]
    batch = reference_bert.tokenizer()(texts, padding=True, return_tensors="pt")
    output = transformers_output(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
    longest = batch["input_ids"].shape[1]
    for text, (ids, real) in enumerate(zip(batch["input_ids"], batch["attention_mask"].bool(), strict=True)):
        tokens = int(real.sum())
        assert_same(ours(ids[:tokens]), output, text, tokens)
        assert_same(ours(ids, padding_mask(real, queries=longest)), output, text, longest)


@torch.no_grad()
def test_a_second_sentence_has_its_own_segment(ours: Bert) -> None:
    pair = reference_bert.tokenizer()(TIRED, NARROW, return_tensors="pt")
    assert pair["token_type_ids"].any()
    ids, segments = pair["input_ids"], pair["token_type_ids"]
    output = transformers_output(input_ids=ids, token_type_ids=segments)
    assert_same(ours(ids[0], segment_ids=segments[0]), output, text=0, tokens=ids.shape[1])
    assert not torch.equal(ours(ids[0]).hidden_states[0], output.hidden_states[0][0])


def test_an_empty_text_is_refused(ours: Bert) -> None:
    with pytest.raises(EmptyText):
        ours(torch.tensor([], dtype=torch.long))


def test_a_text_with_too_many_tokens_is_refused(ours: Bert) -> None:
    with pytest.raises(TextTooLong, match="513 tokens; the model reads at most 512"):
        ours(torch.ones(513, dtype=torch.long))
