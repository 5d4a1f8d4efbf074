"""Many sentences at once: the weights of each alone, from models of every kind, and nothing padded."""

from dataclasses import replace

import numpy as np
import pytest

from attnviz.capture import batches as batching
from attnviz.capture import loading
from attnviz.capture.batches import Batch, Refused, batches
from attnviz.capture.huggingface import HuggingFaceModel
from attnviz.capture.model import Model, ModelInput
from attnviz.models import resolve
from attnviz.trace import Kind, Token
from tests.capture.tiny import TEXTS, FolderOf, families

SENTENCES = (
    "The dog did not cross the road .",
    "a cat likes the small bird",
    "she is happy",
    "The road was too wide and he had a big fish , he did not cross .",
    "they see the red house",
    "he is sad",
    "we saw Paris",
)


def read(model: Model, name: str, lines: tuple[str, ...] = SENTENCES) -> list[Batch | Refused]:
    return list(batches(model, resolve.entry(name), enumerate(lines)))


def apart(model: Model, name: str, found: Batch) -> float:
    """The largest difference between a weight in the batch and the same in a trace of the sentence alone."""
    kinds: tuple[Kind, ...] = resolve.entry(name).kinds
    target = "a" if len(kinds) > 1 else None  # so that an encoder–decoder need not write
    most = 0.0
    for number, text in enumerate(found.texts):
        alone = model.trace(ModelInput(text, target=target)).of_kind(kinds[0])
        assert len(found.weights) == len(alone)
        for block, weights, mask in zip(alone, found.weights, found.masks, strict=True):
            assert np.array_equal(mask, block.mask)
            assert block.query_tokens == found.tokens[number]
            most = max(most, float(np.abs(block.weights - weights[number]).max()))
    return most


@pytest.mark.parametrize("family", families("batches", TEXTS))
def test_every_family_gives_the_weights_of_each_sentence_alone(family: str, folder_of: FolderOf) -> None:
    name = str(folder_of(family))
    model = loading.load(name)
    found = [each for each in read(model, name) if isinstance(each, Batch)]
    assert sorted(line for each in found for line in each.lines) == list(range(len(SENTENCES)))
    sizes = [len(each.texts) for each in found]
    assert sizes == [3, 1, 1, 1, 1]  # shortest first, three of one length together
    assert max(apart(model, name, each) for each in found) < 2e-6


def test_what_cannot_be_read_is_named_and_stops_nothing(minilm: HuggingFaceModel) -> None:
    lines = ("A dog.", "word " * 600, "\ud800", "\u200b", "A cat.")
    found = read(minilm, "minilm", lines)
    refused = {each.line: each.why for each in found if isinstance(each, Refused)}
    assert [*refused] == [1, 2, 3]
    assert "602 tokens" in refused[1]
    assert "half of a character" in refused[2]
    assert "nothing here" in refused[3]
    assert [each.lines for each in found if isinstance(each, Batch)] == [(0, 4)]


def test_a_sentence_that_the_model_refuses_leaves_the_others(
    minilm: HuggingFaceModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token for which the model has no vector, as some tokenizers have, in one of three sentences."""
    tokens = minilm.tokenizer.tokens
    unknown = replace(tokens("cat")[1], id=len(minilm.network.get_input_embeddings().get_parameter("weight")))

    def with_unknown(text: str, second: str | None = None) -> tuple[Token, ...]:
        return tuple(unknown if token.text == "cat" else token for token in tokens(text, second))

    monkeypatch.setattr(minilm.tokenizer, "tokens", with_unknown)
    one, refused, other = read(minilm, "minilm", ("A dog.", "A cat.", "A cow."))
    assert isinstance(one, Batch)
    assert isinstance(other, Batch)
    assert (one.lines, other.lines) == ((0,), (2,))
    assert isinstance(refused, Refused)
    assert refused.line == 1
    assert "cannot read this" in refused.why


def test_batches_keep_to_their_bounds(minilm: HuggingFaceModel, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ("A dog.",) * 7  # five tokens each
    monkeypatch.setattr(batching, "MAX_TOKENS", 17)
    assert [len(each.lines) for each in read(minilm, "minilm", lines) if isinstance(each, Batch)] == [3, 3, 1]
    monkeypatch.setattr(batching, "MAX_BYTES", 2 * 6 * 12 * 5**2 * 4)
    found = [each for each in read(minilm, "minilm", lines) if isinstance(each, Batch)]
    assert [len(each.lines) for each in found] == [2, 2, 2, 1]
    assert sum(layer.nbytes for layer in found[0].weights) == batching.MAX_BYTES
    monkeypatch.setattr(batching, "MAX_BYTES", 1)
    assert [len(each.lines) for each in read(minilm, "minilm", lines) if isinstance(each, Batch)] == [1] * 7
