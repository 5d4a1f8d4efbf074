"""A mask closes cells to exactly 0, the model is really run again, and an edit reaches what it must."""

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from torch.nn.functional import gelu
from transformers import BertModel

from attnviz.capture import catalogue
from attnviz.errors import AttnvizError, InvalidTrace
from attnviz.lessons import bert, masks
from attnviz.trace import Mask
from attnviz.transformer.encoder import Encoder, EncoderLayer
from attnviz.transformer.masks import causal_mask

TIRED = "The dog did not cross the road as it was too tired."
NARROW = TIRED.replace("tired", "narrow")
PIECES = "The unbelievable tokenization was unhappier than the tokenization."

square_masks = st.integers(1, 23).flatmap(lambda count: arrays.arrays(np.bool_, (count, count)))


def drawn_by_hand(count: int, seed: int = 0) -> Mask:
    """About half of the cells, and each token itself, so that no row is blind."""
    return (np.random.default_rng(seed).random((count, count)) < 0.5) | np.eye(count, dtype=bool)


@cache
def reference() -> Any:
    """transformers' own BERT, with the same weights."""
    folder = catalogue.entry(bert.MODEL).folder
    model = BertModel.from_pretrained(folder, attn_implementation="eager", local_files_only=True)
    model.train(False)
    return model


def reference_weights(text: str, mask: Mask) -> np.ndarray[Any, Any]:
    """[layer, head, query, key], computed by transformers with the mask as `attention_mask` [1, 1, N, N]."""
    forbidden = torch.zeros(mask.shape).masked_fill(~torch.tensor(mask), torch.finfo(torch.float32).min)
    with torch.inference_mode():
        outputs = reference()(
            input_ids=bert.token_ids(bert.tokens(text))[None],
            attention_mask=forbidden[None, None],
            output_attentions=True,
        )
    return np.stack([weights[0].numpy() for weights in outputs.attentions])


@pytest.mark.parametrize("tokens", [1, 2, 7, 13])
def test_each_kind_is_what_its_definition_says(tokens: int) -> None:
    def by(rule: Any) -> list[list[bool]]:
        return [[rule(i, j) for j in range(tokens)] for i in range(tokens)]

    assert masks.cells("none", tokens).tolist() == by(lambda _i, _j: True)
    assert masks.cells("causal", tokens).tolist() == by(lambda i, j: j <= i)
    for size in range(tokens):
        assert masks.cells("padding", tokens, size).tolist() == by(lambda _, j, n=size: j < tokens - n)
        assert masks.cells("prefix", tokens, size).tolist() == by(lambda i, j, n=size: j < n or j <= i)
        for after in range(3):
            within = by(lambda i, j, n=size, m=after: i - n <= j <= i + m)
            assert masks.cells("window", tokens, size, after).tolist() == within


def test_a_mask_drawn_by_hand_is_read_as_it_was_drawn() -> None:
    mask = drawn_by_hand(7)
    assert np.array_equal(masks.cells(masks.BY_HAND, 7, drawn=masks.written(mask)), mask)
    assert masks.cells(masks.BY_HAND, 7).all()


def test_a_mask_as_text_can_be_worked_out_by_hand() -> None:
    assert masks.written(masks.cells("causal", 3)) == "8-c-e"
    assert masks.written(masks.cells("none", 5))[:3] == "f8-"


@given(square_masks)
def test_a_mask_as_text_is_read_back_as_it_was(mask: Mask) -> None:
    text = masks.written(mask)
    assert set(text) <= set("0123456789abcdef-")
    assert np.array_equal(masks.read(text, len(mask)), mask)


@given(mask=square_masks, tokens=st.integers(1, 40))
def test_a_mask_for_another_sentence_is_refused(mask: Mask, tokens: int) -> None:
    if tokens != len(mask):
        with pytest.raises(InvalidTrace, match=rf"drawn for {len(mask)} tokens.*has {tokens}"):
            masks.read(masks.written(mask), tokens)


@pytest.mark.parametrize(
    "text", ["", "rubbish", "8-c", "8-c-e-f", "8-c-g", "8-c-e0", "8-c-1", "8-c-²", "<b>-c-e", "8--c"]
)
def test_rubbish_is_no_mask(text: str) -> None:
    with pytest.raises(InvalidTrace, match="drawn"):
        masks.read(text, 3)


@given(st.text(), st.integers(1, 9))
def test_any_text_is_a_mask_or_refused_with_a_sentence(text: str, tokens: int) -> None:
    try:
        mask = masks.read(text, tokens)
    except InvalidTrace:
        return
    assert mask.shape == (tokens, tokens)
    assert set(masks.written(mask)) <= set("0123456789abcdef-")


@pytest.mark.parametrize("text", [TIRED, PIECES])
@pytest.mark.parametrize("kind", [*masks.KINDS[1:-1], "drawn"])
def test_masked_weights_are_exactly_0_and_rows_sum_to_1(text: str, kind: str) -> None:
    count = len(bert.tokens(text))
    mask = drawn_by_hand(count) if kind == "drawn" else masks.cells(kind, count, 2, 1)
    weights = masks.weights(text, mask, layer=3, head=1)
    assert np.array_equal(weights[~mask], np.zeros((~mask).sum(), np.float32))
    assert (weights[mask] > 0).all()
    assert weights.sum(axis=-1) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("text", [TIRED, PIECES])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_mask_drawn_by_hand_gives_the_weights_that_transformers_gives(text: str, seed: int) -> None:
    mask = drawn_by_hand(len(bert.tokens(text)), seed)
    expected = reference_weights(text, mask)
    for layer in range(6):
        for head in range(12):
            assert masks.weights(text, mask, layer, head) == pytest.approx(expected[layer, head], abs=1e-5)


def test_without_a_mask_the_dog_is_looked_at_and_behind_a_causal_one_something_else() -> None:
    names = [token.text for token in bert.tokens(TIRED)]
    it = names.index("it")
    looked_at = [
        names[int(masks.weights(TIRED, masks.cells(kind, len(names)), 3, 1)[it].argmax())]
        for kind in ("none", "causal")
    ]
    assert looked_at == ["dog", "cross"]


def test_a_row_that_looks_nowhere_is_refused_before_the_softmax() -> None:
    mask = drawn_by_hand(len(bert.tokens(TIRED)))
    mask[4] = False
    with pytest.raises(InvalidTrace, match=r"token 5 look nowhere: a softmax over nothing has no value"):
        masks.weights(TIRED, mask, 0, 0)


def test_what_comes_back_cannot_be_written_to() -> None:
    mask = masks.cells("causal", 5)
    for array in (mask, masks.read("8-c-e", 3), masks.weights("a b c", mask, 0, 0)):
        assert not array.flags.writeable


@pytest.mark.parametrize("text", [TIRED, PIECES, "Why not?"])
def test_behind_a_causal_mask_an_edit_leaves_earlier_outputs_unchanged_to_the_bit(text: str) -> None:
    for place, token in enumerate(bert.tokens(text)):
        if token.special:
            continue
        edited = text[: token.start] + "?" + text[token.end :]
        if len(bert.tokens(edited)) != len(bert.tokens(text)) or token.text == "?":
            continue
        reach = masks.reach(text, edited)
        first = int(reach.edited.argmax())
        assert first == place
        assert reach.decoder.unchanged[:first].all()
        assert not reach.decoder.unchanged[first:].any()
        assert not reach.encoder.unchanged.any()


@pytest.mark.parametrize(
    ("tokens", "d_model", "heads", "layers"), [(2, 7, 1, 2), (13, 33, 3, 2), (31, 65, 5, 3), (127, 34, 2, 1)]
)
def test_in_any_encoder_a_causal_mask_holds_to_the_bit(
    tokens: int, d_model: int, heads: int, layers: int
) -> None:
    torch.manual_seed(tokens)
    encoder = Encoder(EncoderLayer(d_model, heads, 4 * d_model + 1, gelu) for _ in range(layers))
    encoder.train(False)
    before = torch.randn(tokens, d_model)
    for place in {0, 1, tokens // 2, tokens - 1}:
        after = before.clone()
        after[place] = torch.randn(d_model)
        with torch.inference_mode():
            free = masks.moved(encoder(before).output, encoder(after).output)
            causal = causal_mask(tokens)
            masked = masks.moved(encoder(before, causal).output, encoder(after, causal).output)
        assert masked.unchanged[:place].all()
        assert not masked.unchanged[place:].any()
        assert not free.unchanged.any()


def test_how_far_an_output_moved_is_one_minus_the_cosine() -> None:
    before = torch.tensor([[3.0, 4.0], [1.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    after = torch.tensor([[3.0, 4.0], [0.0, 2.0], [-1.0, 0.0], [3.0, 0.0], [-0.0, 1.0]])
    moved = masks.moved(before, after)
    assert moved.distance == pytest.approx([0, 1, 2, 0, 0], abs=1e-15)
    assert moved.unchanged.tolist() == [True, False, False, False, False]  # −0 is not 0 to the bit


def test_one_token_is_replaced() -> None:
    names = [token.text for token in bert.tokens(TIRED)]
    assert masks.replaced(TIRED, names.index("tired"), "narrow") == NARROW
    assert masks.reach(TIRED, NARROW).edited.tolist() == [name == "tired" for name in names]


@pytest.mark.parametrize("replacement", ["", "  ", "very very narrow", "unbelievably"])
def test_a_replacement_that_changes_the_number_of_tokens_is_refused(replacement: str) -> None:
    with pytest.raises(AttnvizError, match="tokens instead of 15"):
        masks.replaced(TIRED, 12, replacement)


@pytest.mark.parametrize("place", [0, -1])
def test_a_special_token_cannot_be_replaced(place: int) -> None:
    with pytest.raises(AttnvizError, match="added by the tokenizer"):
        masks.replaced(TIRED, place, "narrow")


def test_sentences_of_different_lengths_cannot_be_compared() -> None:
    with pytest.raises(AttnvizError, match="One text has 15 tokens, the other 5"):
        masks.reach(TIRED, "Why not now")
