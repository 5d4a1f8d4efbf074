"""The recurrent networks: their steps by hand."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from training.recurrent import RecurrentEncoderDecoder

Vectors = NDArray[np.float32]


@pytest.fixture(params=[False, True], ids=["alone", "with attention"])
def small(request: pytest.FixtureRequest) -> RecurrentEncoderDecoder:
    torch.manual_seed(0)
    return RecurrentEncoderDecoder(23, 29, d_embedding=5, d_hidden=7, attention=request.param).eval()


def by_hand(
    lstm: torch.nn.LSTM, words: Vectors, hidden: Vectors, cell: Vectors
) -> tuple[Vectors, Vectors, Vectors]:
    """Every output, and the memory in the end, by the formulas of the class's docstring."""
    inward, inner, bias, more = (parameter.detach().numpy() for parameter in lstm.parameters())
    outputs = []
    for word in words:
        i, f, g, o = np.split(inward @ word + inner @ hidden + bias + more, 4)
        i, f, o = (1 / (1 + np.exp(-gate)) for gate in (i, f, o))
        cell = f * cell + i * np.tanh(g)
        hidden = o * np.tanh(cell)
        outputs.append(hidden)
    return np.array(outputs), hidden, cell


def test_every_step_by_hand(small: RecurrentEncoderDecoder) -> None:
    source, target = torch.tensor([[3, 17, 11]]), torch.tensor([[1, 19]])
    with torch.no_grad():
        steps = small(source, target)
    zeros = np.zeros(7, np.float32)
    read, hidden, cell = by_hand(
        small.encoder, small.source_table.weight.detach().numpy()[source[0]], zeros, zeros
    )
    np.testing.assert_allclose(steps.outputs[0], read, atol=1e-6)
    np.testing.assert_allclose(steps.memory.hidden[0], hidden, atol=1e-6)
    np.testing.assert_allclose(steps.memory.cell[0], cell, atol=1e-6)
    table = small.target_table.weight.detach().numpy()
    spoken, _, _ = by_hand(small.decoder, table[target[0]], hidden, cell)
    np.testing.assert_allclose(steps.hidden_states[0], spoken, atol=1e-6)
    if small.look_back is not None:
        asked = spoken @ small.look_back.to_query.weight.detach().numpy().T
        powers = np.exp(asked @ read.T)
        averages = powers / powers.sum(axis=1, keepdims=True) @ read
        matrix, bias = (
            parameter.detach().numpy() for parameter in small.look_back.with_what_is_read.parameters()
        )
        spoken = np.tanh(np.concatenate([spoken, averages], axis=1) @ matrix.T + bias)
    matrix, bias = (parameter.detach().numpy() for parameter in small.to_word.parameters())
    np.testing.assert_allclose(steps.logits[0], (spoken @ matrix.T + bias) @ table.T, atol=1e-5)
