"""Every family that attnviz shows, built small, saved, and read back by folder: is it transformers' own?"""

import gc
import shutil
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from tokenizers import Tokenizer
from torch import Tensor
from transformers import CONFIG_MAPPING, AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM

import attnviz
from attnviz.capture import inspection, loading, recorder, weights_alone
from attnviz.capture.huggingface import HuggingFaceModel
from attnviz.capture.model import ModelInput, Writing
from attnviz.capture.pictures import VisionModel
from attnviz.capture.weights_alone import WeightsModel
from attnviz.errors import AttentionNotRead, InvalidTrace, ModelFilesDamaged, ModelNotSupported
from attnviz.interventions.edit import Edit
from attnviz.models import families as catalogue_of_families
from attnviz.models import resolve
from attnviz.trace import Block, Floats, Mask
from tests.capture.by_transformers import (
    PAIRED,
    TARGET,
    captured,
    mixers_of,
    own_inputs,
    own_model,
    own_tokenizer,
    own_weights,
)
from tests.capture.tiny import ALIKE, HYBRID, REFUSED, SENTENCE, FolderOf, families, saved_again, untrained
from tests.formula import attention


@pytest.mark.parametrize("family", families("weights"))
def test_all_weights_are_those_of_eager_to_the_bit(folder_of: FolderOf, family: str) -> None:
    found, expected = captured(folder_of(family)), own_weights(folder_of(family))
    assert list(expected) == list(resolve.entry(str(folder_of(family))).kinds)
    assert len(found.blocks) == sum(len(layers) for layers in expected.values())
    for kind, layers in expected.items():
        assert [block.layer for block in found.of_kind(kind)] == list(range(len(layers)))
        for block, weights in zip(found.of_kind(kind), layers, strict=True):
            assert np.array_equal(block.weights, weights)
            assert weights.shape[1:] == (len(block.query_tokens), len(block.key_tokens))
            assert weights.max() > 1.5 * weights.mean()  # or else a wrong one might pass for right


def visible(family: str, block: Block) -> Mask:
    """[query, key], where a token may look: decoders backwards, and some layers at near tokens only."""
    queries, keys = (np.arange(len(tokens)) for tokens in (block.query_tokens, block.key_tokens))
    back = queries[:, None] - keys
    some = {"mistral": [5, 5], "gemma2": [5, 99], "gpt_oss": [5, 99], "gpt_neo": [99, 5]}
    near = some.get(family, [99] * 3)[block.layer]
    sees: Mask = (back >= 0) & (back < near)
    if block.kind != "decoder":
        sees = np.abs(back) <= (3 if family == "modernbert" and block.layer % 2 else 99)
    return sees


@pytest.mark.parametrize("family", families("weights"))
def test_queries_keys_mask_scale_and_bias_give_these_weights(folder_of: FolderOf, family: str) -> None:
    for block in captured(folder_of(family)).blocks:
        steps = (block.query, block.key, block.mask, block.scale, block.bias, block.cap, block.sinks)
        scores, weights = attention(*steps)
        np.testing.assert_allclose(block.scores, scores, atol=1e-5)
        np.testing.assert_allclose(weights, block.weights, atol=1e-6, rtol=0)
        assert np.array_equal(block.mask, visible(family, block))


@pytest.mark.parametrize("family", families("weights"))
def test_the_heads_shares_add_up_to_what_the_layer_adds(folder_of: FolderOf, family: str) -> None:
    folder = folder_of(family)
    model = own_model(folder)
    returned: list[tuple[Tensor, Floats]] = []
    for module in mixers_of(model, family):
        bias = getattr(module, "bias", None)
        added = torch.zeros(1) if bias is None else bias.detach()
        module.register_forward_hook(
            lambda _, __, output, added=added: returned.append((added, output[0].detach().numpy()))
        )
    with torch.inference_mode():
        model(**own_inputs(folder, model))
    for block, (added, whole) in zip(captured(folder).blocks, returned, strict=True):
        assert block.projection is not None
        shares = np.einsum("hqd,hdm->hqm", block.output, block.projection)
        np.testing.assert_allclose(shares.sum(axis=0) + added.numpy(), whole, atol=1e-5)


@pytest.mark.parametrize("family", families("alike", ALIKE))
def test_families_that_are_built_alike_have_the_weights_of_eager_to_the_bit(
    folder_of: FolderOf, family: str
) -> None:
    folder, target = folder_of(family), TARGET if family in PAIRED else None
    of_object = attnviz.trace(SENTENCE, own_model(folder), target=target, tokenizer=own_tokenizer(folder))
    for trace in (captured(folder), of_object):
        for kind, layers in own_weights(folder).items():
            assert [block.layer for block in trace.of_kind(kind)] == [*range(len(layers))]
            for block, weights in zip(trace.of_kind(kind), layers, strict=True):
                assert np.array_equal(block.weights, weights)
                assert weights.max() > 1.5 * weights.mean()
                assert block.projection is not None
                steps = (block.query, block.key, block.mask, block.scale, block.bias, block.cap, block.sinks)
                np.testing.assert_allclose(attention(*steps)[1], block.weights, atol=1e-6, rtol=0)


@pytest.mark.parametrize("family", families("hybrid", HYBRID))
def test_layers_with_weights_keep_their_numbers_and_others_are_named(
    folder_of: FolderOf, tmp_path: Path, family: str
) -> None:
    folder = folder_of(family)
    traces = [captured(folder), attnviz.trace(SENTENCE, own_model(folder), tokenizer=own_tokenizer(folder))]
    for trace in traces:
        assert [block.layer for block in trace.blocks] == [1, 3]
        assert [*trace.without_weights] == [0, 2, *([4] if family == "zamba2" else [])]
        for block, weights in zip(trace.blocks, own_weights(folder)["decoder"], strict=True):
            assert np.array_equal(block.weights, weights)
            steps = (block.query, block.key, block.mask, block.scale, block.bias, block.cap, block.sinks)
            np.testing.assert_allclose(attention(*steps)[1], block.weights, atol=1e-6, rtol=0)
        with pytest.raises(InvalidTrace, match=r"Layer 2 .* has no attention weights: it is "):
            trace.block("decoder", 2)
    if family != "zamba2":  # one module is in both of its layers
        assert [layer.module.layer_idx for layer in layers_of(folder)] == [1, 3]
    traces[0].save(tmp_path / "trace.npz")
    assert attnviz.Trace.load(tmp_path / "trace.npz").without_weights == traces[0].without_weights
    [third] = attnviz.trace(SENTENCE, folder, layers=3).blocks
    assert np.array_equal(third.weights, traces[0].blocks[1].weights)
    with pytest.raises(InvalidTrace, match=r"layers has 0; .* there are 1 and 3"):
        attnviz.trace(SENTENCE, folder, layers=0)


def layers_of(folder: Path) -> tuple[inspection.AttentionLayer, ...]:
    """The attention layers that were found in a loaded model."""
    model = loading.load(str(folder))
    assert isinstance(model, HuggingFaceModel)
    return model.layers


def test_a_model_without_any_attention_weights_is_refused() -> None:
    sizes = {"vocab_size": 70, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 6}
    model = untrained("lfm2", layer_types=["conv", "conv"], num_key_value_heads=2, **sizes)
    with pytest.raises(ModelNotSupported, match="attention weights: each layer is a convolution"):
        attnviz.trace([3, 4, 5], model)


@pytest.mark.parametrize(
    ("variant", "shared"),
    [
        ({"multi_query": False, "bias": True, "parallel_attn": False}, 1),
        ({"new_decoder_architecture": True, "num_kv_heads": 2}, 3),
        ({"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 100.0}}, 6),
    ],
)
def test_falcons_heads_may_share_keys_in_three_ways(variant: dict[str, Any], shared: int) -> None:
    torch.manual_seed(2)
    sizes = {"vocab_size": 70, "hidden_size": 36, "num_attention_heads": 6, "num_hidden_layers": 2}
    model = untrained("falcon", AutoModelForCausalLM, **sizes, **variant)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter.data, std=0.3)
    ids = torch.arange(3, 17)[None]
    with torch.inference_mode():
        expected = model(ids, output_attentions=True).attentions
    for block, weights in zip(attnviz.trace(ids, model).blocks, expected, strict=True):
        assert np.array_equal(block.weights, weights[0])
        _, formula = attention(block.query, block.key, block.mask, block.scale, block.bias)
        np.testing.assert_allclose(formula, block.weights, atol=1e-6, rtol=0)
        assert [len(np.unique(each, axis=0)) for each in (block.key, block.value)] == [6 // shared] * 2


def test_falcon_with_alibi_is_refused_as_transformers_computes_it_in_two_ways() -> None:
    outputs = []
    for implementation in ("eager", "sdpa"):
        torch.manual_seed(2)
        sizes = {"vocab_size": 70, "hidden_size": 36, "num_attention_heads": 6, "num_hidden_layers": 1}
        more = {"alibi": True, "initializer_range": 0.5}
        model = untrained("falcon", AutoModelForCausalLM, implementation, **sizes, **more)
        with torch.inference_mode():
            outputs.append(model(torch.arange(3, 17)[None]).logits)
    assert float((outputs[0] - outputs[1]).abs().max()) > 0.1  # if they agree, it can be shown
    with pytest.raises(ModelNotSupported, match="twice with `eager` attention, and once with `sdpa`"):
        attnviz.trace([3, 4, 5], model)


def test_the_decoder_reads_the_start_and_not_the_end(folder_of: FolderOf) -> None:
    starts = {"bart": ["</s>", "<s>"], "marian": ["<pad>"], "t5": ["<pad>"]}
    for family, start in starts.items():
        trace = captured(folder_of(family))
        words = [token.text for token in trace.of_kind("cross")[0].query_tokens]
        assert words == [*start, *TARGET.split()]
        assert trace.target == TARGET
        assert trace.written == 0


def test_without_a_target_the_model_writes_what_it_holds_for_likeliest(folder_of: FolderOf) -> None:
    folder = folder_of("marian")
    trace = attnviz.trace(SENTENCE, folder)
    model = own_model(folder)
    tokenizer = own_tokenizer(folder)
    ids = tokenizer(SENTENCE, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        generated = model.generate(  # type: ignore[operator]  # a mixin's, which torch types as a Tensor
            ids, attention_mask=torch.ones_like(ids), do_sample=False, num_beams=1, max_new_tokens=40
        )
    read = [token.id for token in trace.of_kind("decoder")[0].query_tokens]
    assert read[:40] == generated[0].tolist()[:40]  # the 41st is an end that `generate` sets by itself
    assert trace.written == len(read) - 1 == 40
    assert trace.target is not None
    assert len(trace.target.split()) == trace.written


def test_what_a_decoder_writes_is_traced_with_what_it_was_given(folder_of: FolderOf) -> None:
    folder = folder_of("gpt2")
    trace = attnviz.trace("The dog", folder, writing=Writing(3, temperature=1, seed=5))
    assert trace.written == 3
    assert trace.text.startswith("The dog ")
    again = attnviz.trace(trace.text, folder)
    assert again.blocks[0].query_tokens == trace.blocks[0].query_tokens
    assert np.array_equal(again.stack("decoder"), trace.stack("decoder"))


@pytest.mark.parametrize("family", families("pairs", ("bert", "electra", "roberta")))
def test_two_sentences_are_read_as_transformers_reads_them(folder_of: FolderOf, family: str) -> None:
    folder, pair = folder_of(family), ("The dog was tired .", "The road was very wide .")
    trace = attnviz.trace(pair[0], folder, second=pair[1])
    inputs = own_tokenizer(folder)(*pair, return_tensors="pt", return_token_type_ids=family != "roberta")
    with torch.inference_mode():
        expected = own_model(folder)(**inputs, output_attentions=True).attentions
    for block, weights in zip(trace.blocks, expected, strict=True):
        assert np.array_equal(block.weights, weights[0])
    assert {token.sentence for token in trace.blocks[0].query_tokens} == {0, 1}
    assert trace.second == pair[1]


# ---- pictures


def test_a_patch_is_that_part_of_the_picture(folder_of: FolderOf) -> None:
    """In the first layer, only the patch that was changed has another key."""
    base = Image.new("RGB", (25, 15), "gray")
    changed = base.copy()
    changed.paste("white", (20, 5, 25, 10))
    before, after = (attnviz.look(each, folder_of("vit"), "plain").blocks[0] for each in (base, changed))
    moved = np.flatnonzero(np.abs(before.key - after.key).max(axis=(0, 2)) > 1e-6)
    assert [before.key_tokens[token].text for token in moved] == ["2,5"]
    assert loading.tokens(str(folder_of("vit")), "plain") == before.key_tokens


# ---- the check at load, and what is refused


def why_not(folder: Path) -> str:
    """Why a model that is loaded as if for the first time is not taken apart."""
    try:
        return str(loading._open(resolve.entry(str(folder))).weights_alone)
    except ModelNotSupported as error:
        return str(error)


FORGERIES: dict[str, tuple[tuple[str, ...], Callable[[recorder.Record], Any]]] = {
    "scale": (("bert", "deberta", "gpt2", "t5", "vit"), lambda record: record.scale * 1.1),
    "mask": (("gpt2", "bloom", "mistral", "bart", "t5"), lambda _: None),
    "cap": (("gemma2",), lambda _: None),
    "sinks": (("gpt_oss",), lambda _: None),
    "bias": (("t5", "mpnet", "deberta", "deberta-v2", "bloom"), lambda _: None),
    "key": (("llama", "vit", "bert", "bart"), lambda record: record.key.roll(1, dims=1)),
}


@pytest.mark.parametrize(
    ("field", "family"),
    [
        pytest.param(field, *family.values, marks=family.marks)
        for field, (some, _) in FORGERIES.items()
        for family in families(f"forged {field}", some)
    ],
)
def test_a_record_that_is_not_what_happened_is_refused(
    folder_of: FolderOf, field: str, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forge = FORGERIES[field][1]

    @contextmanager
    def forged() -> Iterator[list[recorder.Record]]:
        with recorder.recording() as records:
            yield records
        records[:] = [record._replace(**{field: forge(record)}) for record in records]

    monkeypatch.setattr(inspection, "recording", forged)
    assert "record" in why_not(folder_of(family))


def test_an_attention_that_was_not_recorded_is_missed(
    folder_of: FolderOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "add_record", lambda _: None)
    assert "a custom attention, which attnviz cannot read" in why_not(folder_of("gpt2"))


@pytest.mark.parametrize("family", ["openai-gpt", "megatron-bert"])
def test_of_an_attention_of_its_own_that_nobody_reads_the_weights_are_shown(
    folder_of: FolderOf, tmp_path: Path, family: str
) -> None:
    sizes = {"vocab_size": 70, "hidden_size": 12, "num_attention_heads": 3, "num_hidden_layers": 2}
    auto: Any = AutoModelForCausalLM if family == "openai-gpt" else AutoModelForMaskedLM
    untrained(family, auto, **sizes).save_pretrained(tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(folder_of("bert") / name, tmp_path)
    with pytest.warns(match="has a custom attention, which attnviz cannot read"):
        trace = attnviz.trace(SENTENCE, tmp_path)
    ids = torch.tensor([[token.id for token in trace.tokens]])
    with torch.inference_mode():
        own: Any = auto.from_pretrained(tmp_path, attn_implementation="eager")
        expected = own.eval()(ids, output_attentions=True).attentions
    for block, weights in zip(trace.blocks, expected, strict=True):
        assert np.array_equal(block.weights, weights[0])
        assert block.weights_alone


REASONS = {
    "mamba": "state-space",
    "blt": "patches of bytes, which are not tokens",
    "wavlm": "processes audio",
}


def not_taken_apart(_: str) -> None:
    raise AttentionNotRead("It is not taken apart.")


@pytest.mark.parametrize("family", ["bert", "t5"])
def test_weights_alone_are_those_of_eager_in_one_stack_and_in_two(
    folder_of: FolderOf, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue_of_families, "refuse_local", not_taken_apart)
    model = loading._open(resolve.entry(str(folder_of(family))))
    assert isinstance(model, WeightsModel)
    given = ModelInput(SENTENCE, target=TARGET if family == "t5" else None)
    found = model.trace(given)
    for kind, layers in own_weights(folder_of(family)).items():
        for block, weights in zip(found.of_kind(kind), layers, strict=True):
            assert np.array_equal(block.weights, weights)
            assert block.weights_alone
            assert weights.shape[1:] == (len(block.query_tokens), len(block.key_tokens))
    for asked in (
        lambda: model.trace(given, edits=(Edit.parse("encoder 1-1"),)),
        lambda: model.outcomes(given, [(Edit.parse("encoder 1-1"),)]),
    ):
        with pytest.raises(
            ModelNotSupported, match=r"It is not taken apart\..* Interventions are not supported"
        ):
            asked()


def test_a_model_that_returns_no_weights_either_is_refused(
    folder_of: FolderOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue_of_families, "refuse_local", not_taken_apart)
    monkeypatch.setattr(weights_alone, "returned_weights", lambda *_: ())
    with pytest.raises(ModelNotSupported, match="transformers does not return its attention weights either"):
        loading._open(resolve.entry(str(folder_of("bert"))))


def test_the_refused_families_are_families_of_transformers() -> None:
    named = [family for families in catalogue_of_families.REFUSED.values() for family in families]
    assert [family for family in named if family not in CONFIG_MAPPING] == []


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({}, None),
        ({"layer_types": ["full_attention", "sliding_attention"]}, None),
        ({"layer_types": ["full_attention", "conv", "conv"]}, None),
        ({"vision_config": {"depth": 3}}, "images or audio together with text"),
        ({"model_type": "clip", "vision_config": {"depth": 3}}, None),
        ({"model_type": "siglip2", "vision_config": {"depth": 3}}, "different numbers of"),
        ({"quantization_config": {"quant_method": "gptq"}}, "the package gptqmodel, which is not installed"),
        ({"quantization_config": {"bits": 4}}, "an unsupported package"),
        ({"model_type": "falcon", "alibi": True}, "twice with `eager` attention"),
        ({"model_type": "falcon", "alibi": False}, None),
    ],
)
def test_what_a_config_tells_is_enough_to_refuse(config: dict[str, Any], reason: str | None) -> None:
    found = catalogue_of_families.refusal(config.get("model_type", "llama"), config)
    assert (found is None) == (reason is None)
    assert (reason or "") in (found or "")


def test_roformer_may_turn_its_values_too() -> None:
    sizes = {"vocab_size": 70, "hidden_size": 24, "num_attention_heads": 3, "num_hidden_layers": 2}
    model = untrained("roformer", **sizes, rotary_value=True, embedding_size=24)
    [value, other] = attnviz.trace([3, 4, 5, 6], model).blocks
    assert value.projection is not None  # W_O was given what the values make
    assert other.projection is not None


@pytest.mark.parametrize("family", REFUSED)
def test_a_refusal_names_the_family_and_the_reason_before_weights_are_read(
    folder_of: FolderOf, family: str
) -> None:
    with pytest.raises(ModelNotSupported, match=f"“{family}” cannot be shown: .*{REASONS[family]}"):
        attnviz.trace(SENTENCE, folder_of(family))


# ---- files


def without(*parts: str) -> Callable[[dict[str, Tensor]], dict[str, Tensor]]:
    return lambda weights: {name: each for name, each in weights.items() if not name.startswith(parts)}


def test_a_model_whose_head_was_not_saved_is_shown_without_it(folder_of: FolderOf, tmp_path: Path) -> None:
    whole = folder_of("distilbert")
    bare = saved_again(whole, tmp_path / "bare", without("vocab_"))
    assert attnviz.predictions("The [MASK] was tired", whole) != ()
    assert attnviz.predictions("The [MASK] was tired", bare) == ()
    assert np.array_equal(attnviz.trace(SENTENCE, bare).stack("encoder"), captured(whole).stack("encoder"))


def test_an_encoder_decoder_without_its_head_reads_a_target_and_writes_none(
    folder_of: FolderOf, tmp_path: Path
) -> None:
    def untied(weights: dict[str, Tensor]) -> dict[str, Tensor]:
        words = weights["model.shared.weight"]
        tables = {f"model.{half}.embed_tokens.weight": words.clone() for half in ("encoder", "decoder")}
        return {**weights, **tables}

    bare = saved_again(folder_of("marian"), tmp_path / "bare", untied)
    config = bare / "config.json"
    config.write_text(
        config.read_text().replace('"tie_word_embeddings": true', '"tie_word_embeddings": false')
    )
    found = attnviz.trace(SENTENCE, bare, target=TARGET)
    assert np.array_equal(found.stack("cross"), captured(folder_of("marian")).stack("cross"))
    with pytest.raises(ModelNotSupported, match="has no language-model head to generate with"):
        attnviz.trace(SENTENCE, bare)


@pytest.mark.parametrize("family", families("without a head", ("bert", "gpt2", "t5")))
def test_a_model_that_was_saved_without_any_head_is_shown(
    folder_of: FolderOf, copy_of: FolderOf, family: str
) -> None:
    bare = copy_of(family)
    (bare / "model.safetensors").unlink()
    AutoModel.from_pretrained(folder_of(family), local_files_only=True, use_safetensors=True).save_pretrained(
        bare
    )
    assert '"architectures"' in (bare / "config.json").read_text()
    for one, other in zip(captured(bare).blocks, captured(folder_of(family)).blocks, strict=True):
        assert np.array_equal(one.weights, other.weights)


def as_gpt2_was_published(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Without the prefix of the model with its head, and with masks that nobody learned."""
    bare = {name.removeprefix("transformer."): weight for name, weight in weights.items()}
    return {**bare, "h.0.attn.bias": torch.ones(1, 1, 61, 61), "h.0.attn.masked_bias": torch.tensor(-1e4)}


def as_bert_was_published(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """With TensorFlow's names, and with parts for its second task."""
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    for new, name in old.items():
        weights = {each.replace(new, name): weight for each, weight in weights.items()}
    return {**weights, "cls.seq_relationship.weight": torch.zeros(2, 15)}


@pytest.mark.parametrize(
    ("family", "change"), [("gpt2", as_gpt2_was_published), ("bert", as_bert_was_published)]
)
def test_files_as_they_were_published_long_ago_are_read(
    folder_of: FolderOf,
    tmp_path: Path,
    family: str,
    change: Callable[[dict[str, Tensor]], dict[str, Tensor]],
) -> None:
    folder = saved_again(folder_of(family), tmp_path / family, change)
    for one, other in zip(captured(folder).blocks, captured(folder_of(family)).blocks, strict=True):
        assert np.array_equal(one.weights, other.weights)
    text = "The dog [MASK]" if family == "bert" else "The dog"
    assert attnviz.predictions(text, folder) == attnviz.predictions(text, folder_of(family)) != ()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (without("transformer.h.1.attn.c_attn"), r"missing.*: h\.1\.attn\.c_attn\.bias and 1 more"),
        (lambda weights: {**weights, "transformer.wpe.weight": torch.zeros(7, 15)}, "cannot be read"),
    ],
    ids=["missing", "of another size"],
)
def test_a_model_that_chance_would_complete_is_refused(
    folder_of: FolderOf, tmp_path: Path, change: Callable[[dict[str, Tensor]], dict[str, Tensor]], match: str
) -> None:
    folder = saved_again(folder_of("gpt2"), tmp_path / "damaged", change)
    with pytest.raises(ModelFilesDamaged, match=match):
        attnviz.trace(SENTENCE, folder)


def test_a_tokenizer_with_more_tokens_than_its_model_is_told(copy_of: FolderOf) -> None:
    folder = copy_of("bart")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.add_tokens(["wombat"])
    tokenizer.save(str(folder / "tokenizer.json"))
    assert attnviz.trace("The dog", folder, target="The dog").target == "The dog"
    for given in (ModelInput("The wombat", target="The dog"), ModelInput("The dog", target="The wombat")):
        with pytest.raises(
            ModelNotSupported, match=r"“wombat” has id \d+, but .* has embeddings only for ids"
        ):
            loading.trace(str(folder), given)


@pytest.mark.parametrize("family", ["gpt2", "vit", "deberta", "gptj"])
def test_a_model_that_nobody_uses_leaves_the_memory_at_once(folder_of: FolderOf, family: str) -> None:
    gc.disable()  # as good as for a server, which freezes what it has loaded
    try:
        model = loading._open(resolve.entry(str(folder_of(family))))
        assert isinstance(model, HuggingFaceModel | VisionModel)
        known = weakref.ref(model.network)
        if isinstance(model, HuggingFaceModel):
            model.trace("the dog")
        del model
        assert known() is None
    finally:
        gc.enable()
