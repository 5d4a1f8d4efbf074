"""The recorder on tiny random models of other families: exact, or refused by name."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers import (
    AttentionInterface,
    AttentionMaskInterface,
    AutoConfig,
    AutoModel,
    PreTrainedConfig,
    PreTrainedModel,
)

from attnviz.capture.huggingface import attend_like_eager, blocks, projections
from attnviz.capture.recorder import IMPLEMENTATION, attend, recording
from attnviz.errors import ModelNotSupported
from attnviz.trace import Token
from attnviz.trace import attend as stated_attend

IDS = (5, 3, 11, 2, 7, 13, 3)
TOKENS = tuple(
    Token(text=f"t{number}", id=number, start=0, end=0, word=None, special=False) for number in IDS
)
SMALL = {"vocab_size": 17, "hidden_size": 24, "intermediate_size": 20, "num_attention_heads": 4}


def config(family: str, **more: Any) -> PreTrainedConfig:
    return AutoConfig.for_model(family, **{**SMALL, "num_hidden_layers": 3, **more})


def network(of: PreTrainedConfig, implementation: str) -> PreTrainedModel:
    torch.manual_seed(11)
    build: Any = AutoModel.from_config  # transformers gives it no types
    model: PreTrainedModel = build(of, attn_implementation=implementation, dtype=torch.float32).eval()
    return model


def eager_weights(of: PreTrainedConfig) -> list[Any]:
    with torch.inference_mode():
        output = network(of, "eager")(torch.tensor([IDS]), output_attentions=True, use_cache=False)
    return [layer[0].numpy() for layer in output.attentions]


FAMILIES: dict[str, Callable[[], PreTrainedConfig]] = {
    "bert": lambda: config("bert"),
    "roberta": lambda: config("roberta"),
    "distilbert": lambda: AutoConfig.for_model(
        "distilbert", vocab_size=17, dim=24, hidden_dim=20, n_heads=4, n_layers=3
    ),
    "albert, one module for all layers": lambda: config("albert", embedding_size=6),
    "gpt2": lambda: AutoConfig.for_model("gpt2", vocab_size=17, n_embd=24, n_head=4, n_layer=3),
    "llama, grouped keys": lambda: config("llama", num_key_value_heads=2),
    "mistral, window of 3": lambda: config("mistral", num_key_value_heads=2, sliding_window=3),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_are_those_of_eager_to_the_bit(family: str) -> None:
    found = blocks(network(FAMILIES[family](), IMPLEMENTATION), TOKENS, (None,) * 3)
    expected = eager_weights(FAMILIES[family]())
    assert [block.layer for block in found] == [0, 1, 2]
    for block, weights in zip(found, expected, strict=True):
        assert weights.shape == (4, 7, 7)
        assert np.array_equal(block.weights, weights)
        stated = stated_attend(block.query, block.key, block.mask, block.scale)[1]
        np.testing.assert_allclose(stated, weights, atol=1e-6)


def test_decoders_look_only_backwards_and_encoders_everywhere() -> None:
    (decoder, *_) = blocks(network(FAMILIES["gpt2"](), IMPLEMENTATION), TOKENS, (None,) * 3)
    (encoder, *_) = blocks(network(FAMILIES["bert"](), IMPLEMENTATION), TOKENS, (None,) * 3)
    (window, *_) = blocks(network(FAMILIES["mistral, window of 3"](), IMPLEMENTATION), TOKENS, (None,) * 3)
    assert decoder.kind == window.kind == "decoder"
    assert encoder.kind == "encoder"
    backwards = np.tril(np.ones((7, 7), dtype=np.bool_))
    assert np.array_equal(decoder.mask, backwards)
    assert np.array_equal(window.mask, backwards & ~np.tril(backwards, k=-3))
    assert encoder.mask.all()
    assert not decoder.weights[:, ~backwards].any()
    assert decoder.scores[:, ~backwards].any()  # the scores are those before the mask


def test_without_the_mask_registration_masks_would_silently_vanish(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Tensor | None] = []

    def naive(
        module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **more: Any
    ) -> Any:
        assert not module.training
        given.append(mask)
        _, weights = attend(query, key, mask, more["scaling"])
        return (weights @ value).transpose(1, 2).contiguous(), weights

    monkeypatch.setattr(AttentionInterface, "_global_mapping", dict(AttentionInterface._global_mapping))
    AttentionInterface.register("naive", naive)
    with torch.inference_mode():
        output = network(FAMILIES["gpt2"](), "naive")(torch.tensor([IDS]), output_attentions=True)
    assert given == [None] * 3
    forward = output.attentions[0][0].numpy()[:, ~np.tril(np.ones((7, 7), dtype=np.bool_))]
    assert (forward > 0).all()  # every token sees every later one, and nothing has failed


def test_a_decoder_without_a_mask_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    mapping = {key: f for key, f in AttentionMaskInterface._global_mapping.items() if key != IMPLEMENTATION}
    monkeypatch.setattr(AttentionMaskInterface, "_global_mapping", mapping)
    with pytest.raises(ModelNotSupported, match="only backwards"):
        blocks(network(FAMILIES["gpt2"](), IMPLEMENTATION), TOKENS, (None,) * 3)


@pytest.mark.parametrize(
    "of",
    [
        lambda: AutoConfig.for_model("bloom", vocab_size=17, hidden_size=24, n_head=4, n_layer=3),
        lambda: config("deberta-v2"),
    ],
    ids=["bloom", "deberta-v2"],
)
def test_a_model_that_passes_the_recorder_by_is_refused(of: Callable[[], PreTrainedConfig]) -> None:
    with pytest.raises(ModelNotSupported, match="3 layers, but 0 could be recorded"):
        blocks(network(of(), IMPLEMENTATION), TOKENS, (None,) * 3)


@pytest.mark.parametrize(
    ("of", "named"),
    [
        (lambda: config("gemma2", head_dim=6, num_key_value_heads=2), "softcap"),
        (lambda: config("gpt_oss", head_dim=6, num_key_value_heads=2, num_local_experts=2), "s_aux"),
    ],
    ids=["gemma2", "gpt-oss"],
)
def test_what_changes_the_scores_is_refused_by_its_name(
    of: Callable[[], PreTrainedConfig], named: str
) -> None:
    with pytest.raises(ModelNotSupported, match=named):
        blocks(network(of(), IMPLEMENTATION), TOKENS, (None,) * 3)


def test_a_position_bias_is_refused_by_its_name() -> None:
    t5 = network(
        AutoConfig.for_model("t5", vocab_size=17, d_model=24, d_kv=6, d_ff=20, num_heads=4, num_layers=3),
        IMPLEMENTATION,
    )
    with pytest.raises(ModelNotSupported, match="position_bias"):
        t5(input_ids=torch.tensor([IDS]), decoder_input_ids=torch.tensor([IDS]))


def test_training_mode_is_refused() -> None:
    with pytest.raises(ModelNotSupported, match="training mode"):
        blocks(network(FAMILIES["bert"](), IMPLEMENTATION).train(), TOKENS, (None,) * 3)


def test_half_precision_is_refused() -> None:
    with pytest.raises(ModelNotSupported, match="bfloat16"):
        blocks(network(FAMILIES["bert"](), IMPLEMENTATION).bfloat16(), TOKENS, (None,) * 3)


def test_a_mask_that_is_more_than_a_mask_is_refused() -> None:
    model = network(FAMILIES["bert"](), IMPLEMENTATION)

    class Leaning(nn.Module):
        config = model.config

        def forward(self, input_ids: Tensor) -> None:
            model(input_ids, attention_mask=torch.full((1, 1, 7, 7), -0.5))

    with pytest.raises(ModelNotSupported, match="more than a mask"):
        blocks(Leaning(), TOKENS, (None,) * 3)  # type: ignore[arg-type]  # a stand-in model


def test_outside_of_a_recording_nothing_is_kept() -> None:
    model = network(FAMILIES["bert"](), IMPLEMENTATION)
    with recording() as records, torch.inference_mode():
        model(torch.tensor([IDS]))
    with torch.inference_mode():
        model(torch.tensor([IDS]))
    assert len(records) == 3


def test_recordings_within_each_other_do_not_mix() -> None:
    model = network(FAMILIES["bert"](), IMPLEMENTATION)
    with recording() as outer, torch.inference_mode():
        with recording() as inner:
            model(torch.tensor([IDS]))
        model(torch.tensor([IDS[:2]]))
    assert [record.query.shape[2] for record in inner] == [7] * 3
    assert [record.query.shape[2] for record in outer] == [2] * 3


def test_a_mask_and_a_bias_work_as_in_the_stated_formula() -> None:
    random = np.random.default_rng(5)
    query, key = (random.normal(size=(3, 5, 7)).astype(np.float32) for _ in range(2))
    bias = random.normal(size=(3, 5, 5)).astype(np.float32)
    mask = random.random((5, 5)) < 0.5
    mask[:, 2] = True
    found, stated = attend_like_eager(query, key, mask, 0.3, bias), stated_attend(query, key, mask, 0.3, bias)
    for one, other in zip(found, stated, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    assert not found[1][:, ~mask].any()


def test_where_the_output_projection_is_not_known_there_is_none() -> None:
    assert projections(network(FAMILIES["gpt2"](), "eager")) == (None, None, None)
    known = projections(network(FAMILIES["bert"](), "eager"))
    assert [projection.shape for projection in known if projection is not None] == [(4, 6, 24)] * 3
