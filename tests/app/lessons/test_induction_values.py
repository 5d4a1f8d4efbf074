"""Words said twice: the numbers of the picture are the model's own."""

from typing import cast

import numpy as np
import pytest
import torch

from attnviz.app.lessons.induction.values import (
    Part,
    control_heads,
    measured,
    measured_after_start,
    patched,
    repeated,
    without_path,
)
from attnviz.capture import loading
from attnviz.errors import InvalidEdit
from attnviz.models.catalogue import STORYTELLER
from attnviz.text import head_name
from attnviz.trained.storyteller.grammar import CHANT, VOCABULARY
from attnviz.transformer.decoder_only import PreNormLayer
from attnviz.transformer.masks import causal_mask
from attnviz.transformer.multi_head import join_heads, split_heads
from attnviz.transformer.rotary import rotate

WORDS = ("lamp", "key", "map", "pen")


def test_the_arrows_are_weights_of_the_model() -> None:
    found = repeated(WORDS)
    for place in range(len(WORDS) - 1):
        # [CHANT] is token 0.
        np.testing.assert_array_equal(found.back[..., place], found.weights[..., place + 2, place + 1])
        again = 1 + len(WORDS) + place
        np.testing.assert_array_equal(found.match[..., place], found.weights[..., again, place + 2])
    assert len(found.likeliest) == len(found.right) == len(WORDS) - 1
    copied = np.array([word == right for word, right in zip(found.likeliest, WORDS[1:], strict=True)])
    assert copied[found.right > 0.5].all()


def test_an_ablated_head_has_no_weights() -> None:
    assert not repeated(WORDS, ("2-2",)).weights[1, 1].any()
    assert not measured(("2-2",)).prefix_matching[1, 1]


def test_a_head_may_put_out_its_mean_instead() -> None:
    whole = measured()
    layer, head = whole.previous_word_heads[0]
    ablated = (head_name(layer, head),)
    nothing, mean = measured(ablated), measured(ablated, mean=True)
    np.testing.assert_array_equal(
        mean.previous_word[layer], whole.previous_word[layer]
    )  # in its own layer it looks on
    assert not nothing.previous_word[layer, head]
    assert mean.right < whole.right
    assert mean.right != nothing.right
    np.testing.assert_array_equal(measured((), mean=True).prefix_matching, whole.prefix_matching)


@torch.inference_mode()
@pytest.mark.parametrize("part", ["query", "key", "value"])
def test_one_part_of_one_head_lacks_what_another_head_added(part: Part) -> None:
    """By hand: an output is subtracted from what another head makes this part of, and from no more."""
    (_, back), (_, match) = (
        heads[0] for heads in (measured().previous_word_heads, measured().induction_heads)
    )
    model, ids = loading.load_storyteller(STORYTELLER), torch.tensor([VOCABULARY.ids([CHANT, *WORDS * 2])])
    own, positions = model.model, torch.arange(ids.shape[1])
    first, second = (cast("PreNormLayer", layer) for layer in own.layers)
    before = first(own.table(ids), causal_mask(len(positions)))
    added = before.attention.attention.output[:, back] @ first.attention.output_projections()[back]

    def made_of(each: Part) -> torch.Tensor:
        read = second.attention_norm(before.output - added if each == part else before.output)
        return split_heads(getattr(second.attention, f"to_{each}")(read), 4)[:, match]

    query, key = (rotate(made_of(each), positions) for each in ("query", "key"))
    scores = query @ key.mT / key.shape[-1] ** 0.5
    weights = scores.masked_fill(positions[:, None] < positions, -torch.inf).softmax(dim=-1)
    heads = second(before.output, causal_mask(len(positions))).attention.attention.output.clone()
    heads[:, match] = weights @ made_of("value")
    expected = own.norm(before.output + second.attention.to_output(join_heads(heads))) @ own.table.weight.T
    found = patched(model, ids, (head_name(0, back),), part, ((1, match),)).logits
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(found, model.steps(ids).logits, atol=1e-2)


@pytest.mark.parametrize("model", ["storyteller", "storyteller-4-layers"])
def test_the_previous_word_heads_work_through_the_keys(model: str) -> None:
    whole = measured(model=model)
    back = tuple(head_name(*head) for head in whole.previous_word_heads)
    assert without_path(back, "key", whole.induction_heads, model=model) < 0.05
    assert without_path(back, "query", whole.induction_heads, model=model) > 0.9
    assert without_path(back, "value", whole.induction_heads, model=model) > 0.9


def test_a_head_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidEdit, match="9"):
        repeated(WORDS, ("9-1",))


@pytest.mark.parametrize("model", ["storyteller", "storyteller-4-layers"])
def test_without_the_hidden_token_less_is_copied(model: str) -> None:
    chant, start = measured(model=model), measured_after_start(model=model)
    assert start.right < 0.9 < chant.right
    assert start.second_loss > chant.second_loss
    # The same heads have the role, with a lower score.
    assert set(start.induction_heads) <= set(chant.induction_heads)
    assert start.prefix_matching.max() < chant.prefix_matching.max()


def test_control_heads_have_no_role_and_are_in_the_layers_of_previous_word_heads() -> None:
    whole = measured()
    control = control_heads(whole)
    assert {layer for layer, _ in control} == {layer for layer, _ in whole.previous_word_heads}
    assert not {*control} & {*whole.previous_word_heads, *whole.induction_heads}
    assert len(control) + len(whole.previous_word_heads) == 4
