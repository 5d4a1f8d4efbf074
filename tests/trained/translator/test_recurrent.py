"""The network without attention: its steps by hand, and that nothing but the memory gets through."""

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from attnviz.errors import ModelFilesDamaged
from attnviz.trained.translator import recurrent
from attnviz.trained.translator.recurrent import RecurrentEncoderDecoder, RecurrentTranslator
from attnviz.trained.translator.translator import target_of
from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH

TEXT = "the dog did not cross the road as it was too tired"
SOURCE = tuple(TEXT.split())
SHORTER = SOURCE[:7]


Vectors = NDArray[np.float32]


@pytest.fixture
def small() -> RecurrentEncoderDecoder:
    torch.manual_seed(0)
    return RecurrentEncoderDecoder(23, 29, d_embedding=5, d_hidden=7).eval()


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
    _, hidden, cell = by_hand(
        small.encoder, small.source_table.weight.detach().numpy()[source[0]], zeros, zeros
    )
    np.testing.assert_allclose(steps.memory.hidden[0], hidden, atol=1e-6)
    np.testing.assert_allclose(steps.memory.cell[0], cell, atol=1e-6)
    table = small.target_table.weight.detach().numpy()
    outputs, _, _ = by_hand(small.decoder, table[target[0]], hidden, cell)
    np.testing.assert_allclose(steps.hidden_states[0], outputs, atol=1e-6)
    matrix, bias = (parameter.detach().numpy() for parameter in small.to_word.parameters())
    np.testing.assert_allclose(steps.logits[0], (outputs @ matrix.T + bias) @ table.T, atol=1e-5)


def test_nothing_but_the_memory_reaches_the_translation(small: RecurrentEncoderDecoder) -> None:
    source, target = torch.tensor([[3, 17, 11]]), torch.tensor([[1, 19, 2]])
    steps = small(source, target)
    logits, _, _ = small.write(target, steps.memory)
    assert torch.equal(logits, steps.logits)
    assert steps.memory.hidden.shape == steps.memory.cell.shape == (1, 7)


def test_padding_changes_nothing(small: RecurrentEncoderDecoder) -> None:
    source, target = torch.tensor([[3, 17, 11, 0, 0], [5, 4, 8, 9, 2]]), torch.tensor([[1, 19], [1, 6]])
    together = small(source, target, source != 0)
    torch.testing.assert_close(together.logits[:1], small(source[:1, :3], target[:1]).logits)
    torch.testing.assert_close(together.logits[1:], small(source[1:], target[1:]).logits)


def test_one_word_after_the_other_is_the_same_as_all_at_once(small: RecurrentEncoderDecoder) -> None:
    target = torch.tensor([[1, 19, 2, 7]])
    memory = small.read(small.source_table(torch.tensor([[3, 17, 11]])))
    all_at_once, _, _ = small.write(target, memory)
    for place in range(4):
        logits, _, memory = small.write(target[:, place : place + 1], memory)
        torch.testing.assert_close(logits[:, 0], all_at_once[:, place])


def test_a_translator_translates_alone_as_in_company() -> None:
    translator = RecurrentTranslator(recurrent.build(seed=3))
    together = translator.translate_all([SOURCE, SHORTER])
    assert together == [translator.translate(SOURCE), translator.translate(SHORTER)]
    assert all(
        0 < len(words) <= 2 * (len(source) + 1)
        for words, source in zip(together, [SOURCE, SHORTER], strict=True)
    )


def test_greedy_decoding_takes_the_most_probable_word_each_time() -> None:
    translator = RecurrentTranslator(recurrent.build(seed=3))
    words = translator.translate(SOURCE)
    probabilities = translator.steps(SOURCE, words).probabilities[0, : len(words)]
    probabilities[:, [0, 1]] = 0
    assert probabilities.argmax(dim=-1).tolist() == target_of(words)[1:]


def test_a_seed_makes_the_same_network_and_leaves_torch_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    one, other = recurrent.build(seed=1), recurrent.build(seed=1)
    assert torch.equal(torch.rand(1), expected)
    assert torch.equal(one.to_word.weight, other.to_word.weight)


def test_a_file_gives_the_translator_back(tmp_path: Path) -> None:
    translator = RecurrentTranslator(recurrent.build(seed=3))
    file = tmp_path / "recurrent.safetensors"
    translator.save(file)
    assert file.stat().st_size < 500_000
    steps = RecurrentTranslator.load(file).steps(SOURCE, ("le", "chien"))
    torch.testing.assert_close(
        steps.logits, translator.steps(SOURCE, ("le", "chien")).logits, atol=0.02, rtol=0.01
    )


@pytest.mark.parametrize("damage", ["empty", "cut", "missing", "other words"])
def test_a_damaged_file_is_refused(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "recurrent.safetensors"
    words = 13 if damage == "other words" else len(ENGLISH)
    RecurrentTranslator(RecurrentEncoderDecoder(words, len(FRENCH))).save(file)
    if damage == "missing":
        file.unlink()
    elif damage != "other words":
        file.write_bytes(file.read_bytes()[: {"empty": 0, "cut": 100_000}[damage]])
    with pytest.raises(ModelFilesDamaged, match=r"recurrent\.safetensors is missing or damaged"):
        RecurrentTranslator.load(file)
