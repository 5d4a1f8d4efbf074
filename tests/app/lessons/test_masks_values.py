"""Masked weights are exactly 0 in the model, and with a causal mask an edit changes no earlier output."""

from typing import Any

import numpy as np
import pytest
import torch

from attnviz.app.lessons import compute
from attnviz.app.lessons.masks import values as masks
from attnviz.app.lessons.masks.values import MaskChoice
from attnviz.errors import AttnvizError
from attnviz.trace import Mask
from tests.reference_bert import forward, tokenizer

TIRED = "The dog did not cross the road as it was too tired."
NARROW = TIRED.replace("tired", "narrow")
PIECES = "The unbelievable tokenization was unhappier than the tokenization."


def random_mask(count: int, seed: int = 0) -> Mask:
    """Return a mask that allows about half of the cells, and the diagonal: no row is fully masked."""
    return (np.random.default_rng(seed).random((count, count)) < 0.5) | np.eye(count, dtype=bool)


@pytest.mark.parametrize("tokens", [1, 2, 7, 13])
def test_each_kind_of_mask_follows_its_definition(tokens: int) -> None:
    def cells_by_rule(rule: Any) -> list[list[bool]]:
        return [[rule(i, j) for j in range(tokens)] for i in range(tokens)]

    def cells(*choice: Any) -> Any:
        return masks.build_mask(MaskChoice(*choice), tokens).tolist()

    assert cells("none") == cells_by_rule(lambda _i, _j: True)
    assert cells("causal") == cells_by_rule(lambda i, j: j <= i)
    for size in range(tokens):
        padded = masks.build_mask(MaskChoice("padding", size), tokens)
        assert padded.shape == (tokens + size, tokens + size)
        assert padded[:, :tokens].all()
        assert not padded[:, tokens:].any()
        assert cells("prefix", size) == cells_by_rule(lambda i, j, n=size: j < n or j <= i)
        for after in range(3):
            within = cells_by_rule(lambda i, j, n=size, m=after: i - n <= j <= i + m)
            assert cells("window", size, after) == within


def test_masked_padding_does_not_change_the_weights() -> None:
    run = masks.masked_run(TIRED, MaskChoice("padding", 3), 1)
    alone = masks.weights(compute.tokens(TIRED), None, 1)
    assert [token.text for token in run.tokens[-3:]] == ["[PAD]"] * 3
    assert run.after is not None
    assert run.after[:, :15, :15] == pytest.approx(alone, abs=2e-6)
    assert (run.after[:, :, 15:] == 0).all()
    assert (run.before[:, :15, 15:] > 0).all()  # without the mask, [PAD] gets attention
    assert tokenizer().pad_token_id == masks.PAD_ID


@pytest.mark.parametrize("query", [0, 9, 14])
def test_in_layer_1_the_causal_mask_renormalizes_the_row(query: int) -> None:
    row = masks.renormalized(TIRED, 1, query)
    assert row.after == pytest.approx(row.before / row.allowed, abs=1e-6)
    assert row.key <= query


@pytest.mark.parametrize("text", [TIRED, PIECES])
@pytest.mark.parametrize("seed", [0, 1])
def test_weights_with_a_random_mask_equal_transformers(text: str, seed: int) -> None:
    mask = random_mask(len(compute.tokens(text)), seed)
    expected = forward(text, mask).weights
    for head in range(12):
        weights = masks.weights(compute.tokens(text), mask, head)
        assert weights == pytest.approx(expected[:, head], abs=1e-5)
        assert (weights[:, ~mask] == 0).all()


@pytest.mark.parametrize("text", [TIRED, PIECES, "Why not?"])
def test_with_a_causal_mask_an_edit_leaves_earlier_outputs_bit_identical(text: str) -> None:
    for place, token in enumerate(compute.tokens(text)):
        if token.special:
            continue
        edited = text[: token.start] + "?" + text[token.end :]
        if len(compute.tokens(edited)) != len(compute.tokens(text)) or token.text == "?":
            continue
        found = masks.reach(text, edited)
        first = int(found.edited.argmax())
        assert first == place
        assert found.decoder.unchanged[:first].all()
        assert not found.decoder.unchanged[first:].any()
        assert not found.encoder.unchanged.any()


def test_output_distance_is_one_minus_the_cosine() -> None:
    before = torch.tensor([[3.0, 4.0], [1.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    after = torch.tensor([[3.0, 4.0], [0.0, 2.0], [-1.0, 0.0], [3.0, 0.0], [-0.0, 1.0]])
    moved = masks.compare_outputs(before, after)
    assert moved.distance == pytest.approx([0, 1, 2, 0, 0], abs=1e-15)
    assert moved.unchanged.tolist() == [True, False, False, False, False]  # −0 and 0 differ in one bit


def test_replacing_one_token() -> None:
    names = [token.text for token in compute.tokens(TIRED)]
    edited = masks.replaced(TIRED, names.index("tired"), "narrow")
    assert compute.tokens(edited)[12].text == "narrow"
    assert masks.reach(TIRED, edited).edited.tolist() == [name == "tired" for name in names]


def test_word_that_replaces_a_comma_gets_spaces() -> None:
    edited = masks.replaced("The dog,tired", 3, "narrow")
    assert " ".join(token.text for token in compute.tokens(edited)) == "[CLS] the dog narrow tired [SEP]"


def test_word_piece_cannot_be_replaced() -> None:
    names = [token.text for token in compute.tokens(PIECES)]
    with pytest.raises(AttnvizError, match="Replace a whole word"):
        masks.replaced(PIECES, names.index("##pp"), "narrow")


@pytest.mark.parametrize("replacement", ["", "  ", "very very narrow", "unbelievably"])
def test_replacement_must_keep_the_number_of_tokens(replacement: str) -> None:
    with pytest.raises(AttnvizError, match="tokens instead of 15"):
        masks.replaced(TIRED, 12, replacement)


@pytest.mark.parametrize("place", [0, -1])
def test_special_token_cannot_be_replaced(place: int) -> None:
    with pytest.raises(AttnvizError, match="added by the tokenizer"):
        masks.replaced(TIRED, place, "narrow")


def test_sentences_of_different_lengths_cannot_be_compared() -> None:
    with pytest.raises(AttnvizError, match="have 15 and 5"):
        masks.reach(TIRED, "Why not now")
