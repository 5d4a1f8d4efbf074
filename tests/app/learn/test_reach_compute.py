"""An edit reaches every output of an encoder, and behind a causal mask none before it, to the bit."""

import pytest
import torch
from torch.nn.functional import gelu

from attnviz.app.learn import compute
from attnviz.app.learn.masks import compute_reach
from attnviz.errors import AttnvizError
from attnviz.transformer.layers import Encoder, EncoderLayer
from attnviz.transformer.masks import causal_mask

TIRED = "The dog did not cross the road as it was too tired."
NARROW = TIRED.replace("tired", "narrow")
PIECES = "The unbelievable tokenization was unhappier than the tokenization."


@pytest.mark.parametrize("text", [TIRED, PIECES, "Why not?"])
def test_behind_a_causal_mask_an_edit_leaves_earlier_outputs_unchanged_to_the_bit(text: str) -> None:
    for place, token in enumerate(compute.tokens(text)):
        if token.special:
            continue
        edited = text[: token.start] + "?" + text[token.end :]
        if len(compute.tokens(edited)) != len(compute.tokens(text)) or token.text == "?":
            continue
        found = compute_reach.reach(text, edited)
        first = int(found.edited.argmax())
        assert first == place
        assert found.decoder.unchanged[:first].all()
        assert not found.decoder.unchanged[first:].any()
        assert not found.encoder.unchanged.any()


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
            free = compute_reach.moved(encoder(before).output, encoder(after).output)
            causal = causal_mask(tokens)
            behind = compute_reach.moved(encoder(before, causal).output, encoder(after, causal).output)
        assert behind.unchanged[:place].all()
        assert not behind.unchanged[place:].any()
        assert not free.unchanged.any()


def test_how_far_an_output_moved_is_one_minus_the_cosine() -> None:
    before = torch.tensor([[3.0, 4.0], [1.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    after = torch.tensor([[3.0, 4.0], [0.0, 2.0], [-1.0, 0.0], [3.0, 0.0], [-0.0, 1.0]])
    moved = compute_reach.moved(before, after)
    assert moved.distance == pytest.approx([0, 1, 2, 0, 0], abs=1e-15)
    assert moved.unchanged.tolist() == [True, False, False, False, False]  # −0 is not 0 to the bit


def test_one_token_is_replaced() -> None:
    names = [token.text for token in compute.tokens(TIRED)]
    assert compute_reach.replaced(TIRED, names.index("tired"), "narrow") == NARROW
    assert compute_reach.reach(TIRED, NARROW).edited.tolist() == [name == "tired" for name in names]


@pytest.mark.parametrize("replacement", ["", "  ", "very very narrow", "unbelievably"])
def test_a_replacement_that_changes_the_number_of_tokens_is_refused(replacement: str) -> None:
    with pytest.raises(AttnvizError, match="tokens instead of 15"):
        compute_reach.replaced(TIRED, 12, replacement)


@pytest.mark.parametrize("place", [0, -1])
def test_a_special_token_cannot_be_replaced(place: int) -> None:
    with pytest.raises(AttnvizError, match="added by the tokenizer"):
        compute_reach.replaced(TIRED, place, "narrow")


def test_sentences_of_different_lengths_cannot_be_compared() -> None:
    with pytest.raises(AttnvizError, match="One text has 15 tokens, the other 5"):
        compute_reach.reach(TIRED, "Why not now")
