"""The encoder–decoder of the paper: its parts, its masks, and its gradients."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from attnviz.transformer.encoder_decoder import Embedding, EncoderDecoder, EncoderDecoderSteps
from attnviz.transformer.positions import sinusoidal

SOURCE = torch.tensor([2, 3, 5, 7, 11, 13, 17])
TARGET = torch.tensor([1, 4, 9, 16, 25])


def small_model(dropout: float = 0.0) -> EncoderDecoder:
    torch.manual_seed(1)
    return EncoderDecoder(19, 29, 35, 5, 13, encoder_layers=3, decoder_layers=2, dropout=dropout).eval()


@pytest.fixture
def steps() -> EncoderDecoderSteps:
    with torch.no_grad():
        result: EncoderDecoderSteps = small_model()(SOURCE, TARGET)
    return result


@torch.no_grad()
def test_a_known_embedding() -> None:
    embedding = Embedding(vocabulary=3, d_model=4)
    embedding.table.weight.copy_(torch.tensor([[0.0, 0, 0, 0], [1, 2, 3, 4], [5, 6, 7, 8]]))
    steps = embedding(torch.tensor([2, 1]))
    # √4 = 2 times the rows of tokens 2 and 1; position 0 is (0, 1, 0, 1).
    assert steps.words.tolist() == [[10, 12, 14, 16], [2, 4, 6, 8]]
    assert steps.output[0].tolist() == [10, 13, 14, 17]
    assert torch.equal(steps.positions, sinusoidal(2, 4))
    assert torch.equal(steps.output, steps.words + steps.positions)


def test_embedding_dropout_is_used_only_in_training() -> None:
    embedding = Embedding(3, 5, dropout=1.0)
    ids = torch.tensor([2, 1])
    assert torch.equal(embedding.train()(ids).output, torch.zeros(2, 5))
    assert torch.equal(embedding.eval()(ids).output, embedding(ids).words + sinusoidal(2, 5))


@torch.no_grad()
def test_the_parts_are_connected_as_in_figure_1() -> None:
    model = small_model()
    steps = model(SOURCE, TARGET)
    encoded = model.encoder(model.source_embedding(SOURCE).output)
    decoded = model.decoder(model.target_embedding(TARGET).output, encoded.output)
    assert torch.equal(steps.encoder.output, encoded.output)
    assert torch.equal(steps.decoder.output, decoded.output)
    for position, word in ((0, 3), (4, 28)):
        score = (decoded.output[position] * model.target_embedding.table.weight[word]).sum()
        torch.testing.assert_close(steps.logits[position, word], score)


def test_probabilities_are_the_softmax_of_the_logits(steps: EncoderDecoderSteps) -> None:
    torch.testing.assert_close(steps.probabilities.sum(dim=-1), torch.ones(5))
    exponentials = steps.logits.double().exp()
    expected = (exponentials / exponentials.sum(dim=-1, keepdim=True)).float()
    torch.testing.assert_close(steps.probabilities, expected)


def test_the_defaults_equal_the_base_model_of_the_paper() -> None:
    with torch.device("meta"):
        ours = EncoderDecoder(101, 103)
        theirs = nn.Transformer(512, 8, 6, 6, 2048, batch_first=True)
    # PyTorch adds a norm (512 gains, 512 biases) after each of the two stacks; the paper does not.
    layers = sum(p.numel() for p in theirs.parameters()) - 2 * (512 + 512)
    embeddings = (101 + 103) * 512
    assert sum(p.numel() for p in ours.parameters()) == layers + embeddings
    dropouts = {module.p for module in ours.modules() if isinstance(module, nn.Dropout)}
    assert dropouts == {0.1}


@given(changed=st.integers(0, 4))
@torch.no_grad()
def test_a_changed_target_word_does_not_change_earlier_outputs(changed: int) -> None:
    model = small_model()
    target = TARGET.clone()
    target[changed] = 0
    before, after = model(SOURCE, TARGET).logits, model(SOURCE, target).logits
    assert torch.equal(before[:changed], after[:changed])
    assert not torch.equal(before[changed], after[changed])


def test_every_parameter_has_a_gradient() -> None:
    model = small_model()
    nn.functional.cross_entropy(model(SOURCE, TARGET).logits, TARGET).backward()  # type: ignore[no-untyped-call]
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in model.parameters())
