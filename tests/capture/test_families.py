"""Every supported family as a tiny saved model, compared with transformers."""

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
from tests.capture.reference import (
    ENCODER_DECODERS,
    TARGET,
    cached_trace,
    output_projections,
    reference_inputs,
    reference_model,
    reference_tokenizer,
    reference_weights,
)
from tests.capture.tiny import ALIKE, HYBRID, REFUSED, SENTENCE, FolderOf, families, save_changed, untrained
from tests.formula import attention


@pytest.mark.parametrize("family", families("weights"))
def test_weights_equal_eager_bit_for_bit(folder_of: FolderOf, family: str) -> None:
    found, expected = cached_trace(folder_of(family)), reference_weights(folder_of(family))
    assert list(expected) == list(resolve.entry(str(folder_of(family))).kinds)
    assert len(found.blocks) == sum(len(layers) for layers in expected.values())
    for kind, layers in expected.items():
        assert [block.layer for block in found.of_kind(kind)] == list(range(len(layers)))
        for block, weights in zip(found.of_kind(kind), layers, strict=True):
            assert np.array_equal(block.weights, weights)
            assert weights.shape[1:] == (len(block.query_tokens), len(block.key_tokens))
            assert weights.max() > 1.5 * weights.mean()  # nearly uniform weights would hide errors


def expected_mask(family: str, block: Block) -> Mask:
    """Return the expected mask [query, key]: causal in decoders, with a sliding window in some layers."""
    queries, keys = (np.arange(len(tokens)) for tokens in (block.query_tokens, block.key_tokens))
    distance = queries[:, None] - keys
    windows = {"mistral": [5, 5], "gemma2": [5, 99], "gpt_oss": [5, 99], "gpt_neo": [99, 5]}
    window = windows.get(family, [99] * 3)[block.layer]
    mask: Mask = (distance >= 0) & (distance < window)
    if block.kind != "decoder":
        mask = np.abs(distance) <= (3 if family == "modernbert" and block.layer % 2 else 99)
    return mask


@pytest.mark.parametrize("family", families("weights"))
def test_weights_follow_from_the_recorded_parts(folder_of: FolderOf, family: str) -> None:
    for block in cached_trace(folder_of(family)).blocks:
        steps = (block.query, block.key, block.mask, block.scale, block.bias, block.cap, block.sinks)
        scores, weights = attention(*steps)
        np.testing.assert_allclose(block.scores, scores, atol=1e-5)
        np.testing.assert_allclose(weights, block.weights, atol=1e-6, rtol=0)
        assert np.array_equal(block.mask, expected_mask(family, block))


@pytest.mark.parametrize("family", families("weights"))
def test_head_outputs_sum_to_the_output_of_the_layer(folder_of: FolderOf, family: str) -> None:
    folder = folder_of(family)
    model = reference_model(folder)
    returned: list[tuple[Tensor, Floats]] = []
    for module in output_projections(model, family):
        bias = getattr(module, "bias", None)
        offset = torch.zeros(1) if bias is None else bias.detach()
        module.register_forward_hook(
            lambda _, __, output, offset=offset: returned.append((offset, output[0].detach().numpy()))
        )
    with torch.inference_mode():
        model(**reference_inputs(folder, model))
    for block, (offset, total) in zip(cached_trace(folder).blocks, returned, strict=True):
        assert block.projection is not None
        shares = np.einsum("hqd,hdm->hqm", block.output, block.projection)
        np.testing.assert_allclose(shares.sum(axis=0) + offset.numpy(), total, atol=1e-5)


@pytest.mark.parametrize("family", families("alike", ALIKE))
def test_weights_of_similar_families_equal_eager_bit_for_bit(folder_of: FolderOf, family: str) -> None:
    folder, target = folder_of(family), TARGET if family in ENCODER_DECODERS else None
    object_trace = attnviz.trace(
        SENTENCE, reference_model(folder), target=target, tokenizer=reference_tokenizer(folder)
    )
    for trace in (cached_trace(folder), object_trace):
        for kind, layers in reference_weights(folder).items():
            assert [block.layer for block in trace.of_kind(kind)] == [*range(len(layers))]
            for block, weights in zip(trace.of_kind(kind), layers, strict=True):
                assert np.array_equal(block.weights, weights)
                assert weights.max() > 1.5 * weights.mean()
                assert block.projection is not None
                steps = (block.query, block.key, block.mask, block.scale, block.bias, block.cap, block.sinks)
                np.testing.assert_allclose(attention(*steps)[1], block.weights, atol=1e-6, rtol=0)


@pytest.mark.parametrize("family", families("hybrid", HYBRID))
def test_hybrid_models_name_layers_without_weights(folder_of: FolderOf, tmp_path: Path, family: str) -> None:
    folder = folder_of(family)
    traces = [
        cached_trace(folder),
        attnviz.trace(SENTENCE, reference_model(folder), tokenizer=reference_tokenizer(folder)),
    ]
    for trace in traces:
        assert [block.layer for block in trace.blocks] == [1, 3]
        assert [*trace.without_weights] == [0, 2, *([4] if family == "zamba2" else [])]
        for block, weights in zip(trace.blocks, reference_weights(folder)["decoder"], strict=True):
            assert np.array_equal(block.weights, weights)
            steps = (block.query, block.key, block.mask, block.scale, block.bias, block.cap, block.sinks)
            np.testing.assert_allclose(attention(*steps)[1], block.weights, atol=1e-6, rtol=0)
        with pytest.raises(InvalidTrace, match=r"Layer 2 .* has no attention weights: it is "):
            trace.block("decoder", 2)
    if family != "zamba2":  # both layers of zamba2 share one module
        assert [layer.module.layer_idx for layer in layers_of(folder)] == [1, 3]
    traces[0].save(tmp_path / "trace.npz")
    assert attnviz.Trace.load(tmp_path / "trace.npz").without_weights == traces[0].without_weights
    [third] = attnviz.trace(SENTENCE, folder, layers=3).blocks
    assert np.array_equal(third.weights, traces[0].blocks[1].weights)
    with pytest.raises(InvalidTrace, match=r"layers contains 0; .* are 1 and 3"):
        attnviz.trace(SENTENCE, folder, layers=0)


def layers_of(folder: Path) -> tuple[inspection.AttentionLayer, ...]:
    """Return the attention layers found in a loaded model."""
    model = loading.load(str(folder))
    assert isinstance(model, HuggingFaceModel)
    return model.layers


def test_model_without_attention_weights_is_refused() -> None:
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
def test_falcon_with_shared_keys(variant: dict[str, Any], shared: int) -> None:
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


def test_falcon_with_alibi_is_refused_since_implementations_differ() -> None:
    outputs = []
    for implementation in ("eager", "sdpa"):
        torch.manual_seed(2)
        sizes = {"vocab_size": 70, "hidden_size": 36, "num_attention_heads": 6, "num_hidden_layers": 1}
        settings = {"alibi": True, "initializer_range": 0.5}
        model = untrained("falcon", AutoModelForCausalLM, implementation, **sizes, **settings)
        with torch.inference_mode():
            outputs.append(model(torch.arange(3, 17)[None]).logits)
    assert float((outputs[0] - outputs[1]).abs().max()) > 0.1  # otherwise, ALiBi could be supported
    with pytest.raises(ModelNotSupported, match="twice with `eager` attention, and once with `sdpa`"):
        attnviz.trace([3, 4, 5], model)


def test_decoder_reads_the_start_token_but_not_the_end(folder_of: FolderOf) -> None:
    starts = {"bart": ["</s>", "<s>"], "marian": ["<pad>"], "t5": ["<pad>"]}
    for family, start in starts.items():
        trace = cached_trace(folder_of(family))
        words = [token.text for token in trace.of_kind("cross")[0].query_tokens]
        assert words == [*start, *TARGET.split()]
        assert trace.target == TARGET
        assert trace.written == 0


def test_without_a_target_the_model_generates_greedily(folder_of: FolderOf) -> None:
    folder = folder_of("marian")
    trace = attnviz.trace(SENTENCE, folder)
    model = reference_model(folder)
    tokenizer = reference_tokenizer(folder)
    ids = tokenizer(SENTENCE, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        generated = model.generate(  # type: ignore[operator]  # a mixin's method, which torch types as a Tensor
            ids, attention_mask=torch.ones_like(ids), do_sample=False, num_beams=1, max_new_tokens=40
        )
    read = [token.id for token in trace.of_kind("decoder")[0].query_tokens]
    assert read[:40] == generated[0].tolist()[:40]  # `generate` forces an end token at the limit
    assert trace.written == len(read) - 1 == 40
    assert trace.target is not None
    assert len(trace.target.split()) == trace.written


def test_trace_has_prompt_and_generated_tokens(folder_of: FolderOf) -> None:
    folder = folder_of("gpt2")
    trace = attnviz.trace("The dog", folder, writing=Writing(3, temperature=1, seed=5))
    assert trace.written == 3
    assert trace.text.startswith("The dog ")
    retraced = attnviz.trace(trace.text, folder)
    assert retraced.blocks[0].query_tokens == trace.blocks[0].query_tokens
    assert np.array_equal(retraced.stack("decoder"), trace.stack("decoder"))


@pytest.mark.parametrize("family", families("pairs", ("bert", "electra", "roberta")))
def test_sentence_pairs_equal_transformers(folder_of: FolderOf, family: str) -> None:
    folder, pair = folder_of(family), ("The dog was tired .", "The road was very wide .")
    trace = attnviz.trace(pair[0], folder, second=pair[1])
    inputs = reference_tokenizer(folder)(
        *pair, return_tensors="pt", return_token_type_ids=family != "roberta"
    )
    with torch.inference_mode():
        expected = reference_model(folder)(**inputs, output_attentions=True).attentions
    for block, weights in zip(trace.blocks, expected, strict=True):
        assert np.array_equal(block.weights, weights[0])
    assert {token.sentence for token in trace.blocks[0].query_tokens} == {0, 1}
    assert trace.second == pair[1]


# Images


def test_patch_token_matches_its_part_of_the_image(folder_of: FolderOf) -> None:
    """In the first layer, only the key of the changed patch differs."""
    base = Image.new("RGB", (25, 15), "gray")
    changed = base.copy()
    changed.paste("white", (20, 5, 25, 10))
    before, after = (attnviz.look(each, folder_of("vit"), "plain").blocks[0] for each in (base, changed))
    changed_keys = np.flatnonzero(np.abs(before.key - after.key).max(axis=(0, 2)) > 1e-6)
    assert [before.key_tokens[token].text for token in changed_keys] == ["2,5"]
    assert loading.tokens(str(folder_of("vit")), "plain") == before.key_tokens


# Checks of loaded models, and refusals


def refusal_of(folder: Path) -> str:
    """Load a model without the cache; return why it is refused, or why only its weights are recorded."""
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
        for field, (forged_families, _) in FORGERIES.items()
        for family in families(f"forged {field}", forged_families)
    ],
)
def test_forged_record_is_refused(
    folder_of: FolderOf, field: str, family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forge = FORGERIES[field][1]

    @contextmanager
    def forged() -> Iterator[list[recorder.Record]]:
        with recorder.recording() as records:
            yield records
        records[:] = [record._replace(**{field: forge(record)}) for record in records]

    monkeypatch.setattr(inspection, "recording", forged)
    assert "record" in refusal_of(folder_of(family))


def test_missing_record_is_reported(folder_of: FolderOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "add_record", lambda _: None)
    assert "custom attention code that attnviz does not support" in refusal_of(folder_of("gpt2"))


@pytest.mark.parametrize("family", ["openai-gpt", "megatron-bert"])
def test_unsupported_attention_gives_only_weights(folder_of: FolderOf, tmp_path: Path, family: str) -> None:
    sizes = {"vocab_size": 70, "hidden_size": 12, "num_attention_heads": 3, "num_hidden_layers": 2}
    auto: Any = AutoModelForCausalLM if family == "openai-gpt" else AutoModelForMaskedLM
    untrained(family, auto, **sizes).save_pretrained(tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(folder_of("bert") / name, tmp_path)
    with pytest.warns(match="has custom attention code that attnviz does not support"):
        trace = attnviz.trace(SENTENCE, tmp_path)
    ids = torch.tensor([[token.id for token in trace.tokens]])
    with torch.inference_mode():
        network: Any = auto.from_pretrained(tmp_path, attn_implementation="eager")
        expected = network.eval()(ids, output_attentions=True).attentions
    for block, weights in zip(trace.blocks, expected, strict=True):
        assert np.array_equal(block.weights, weights[0])
        assert block.weights_alone


REASONS = {
    "mamba": "state-space",
    "blt": "patches of bytes, which are not tokens",
    "wavlm": "processes audio",
}


def refuse(_: str) -> None:
    raise AttentionNotRead("Its attention is not recorded.")


@pytest.mark.parametrize("family", ["bert", "t5"])
def test_weights_alone_equal_eager(folder_of: FolderOf, family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue_of_families, "refuse_local", refuse)
    model = loading._open(resolve.entry(str(folder_of(family))))
    assert isinstance(model, WeightsModel)
    model_input = ModelInput(SENTENCE, target=TARGET if family == "t5" else None)
    found = model.trace(model_input)
    for kind, layers in reference_weights(folder_of(family)).items():
        for block, weights in zip(found.of_kind(kind), layers, strict=True):
            assert np.array_equal(block.weights, weights)
            assert block.weights_alone
            assert weights.shape[1:] == (len(block.query_tokens), len(block.key_tokens))
    for call in (
        lambda: model.trace(model_input, edits=(Edit.parse("encoder 1-1"),)),
        lambda: model.outcomes(model_input, [(Edit.parse("encoder 1-1"),)]),
    ):
        with pytest.raises(
            ModelNotSupported, match=r"Its attention is not recorded\..* Interventions are not supported"
        ):
            call()


def test_model_that_returns_no_weights_is_refused(
    folder_of: FolderOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue_of_families, "refuse_local", refuse)
    monkeypatch.setattr(weights_alone, "returned_weights", lambda *_: ())
    with pytest.raises(ModelNotSupported, match="does not return the model’s attention weights either"):
        loading._open(resolve.entry(str(folder_of("bert"))))


def test_refused_families_exist_in_transformers() -> None:
    names = [family for families in catalogue_of_families.REFUSED.values() for family in families]
    assert [family for family in names if family not in CONFIG_MAPPING] == []


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
def test_unsupported_configs_are_refused(config: dict[str, Any], reason: str | None) -> None:
    found = catalogue_of_families.refusal(config.get("model_type", "llama"), config)
    assert (found is None) == (reason is None)
    assert (reason or "") in (found or "")


def test_roformer_with_rotary_values() -> None:
    sizes = {"vocab_size": 70, "hidden_size": 24, "num_attention_heads": 3, "num_hidden_layers": 2}
    model = untrained("roformer", **sizes, rotary_value=True, embedding_size=24)
    [value, other] = attnviz.trace([3, 4, 5, 6], model).blocks
    assert value.projection is not None  # W_O's input is the weighted sum of the rotated values
    assert other.projection is not None


@pytest.mark.parametrize("family", REFUSED)
def test_refusal_names_family_and_reason_before_reading_weights(folder_of: FolderOf, family: str) -> None:
    with pytest.raises(ModelNotSupported, match=f"“{family}” cannot be shown: .*{REASONS[family]}"):
        attnviz.trace(SENTENCE, folder_of(family))


# Files


def without_parts(*parts: str) -> Callable[[dict[str, Tensor]], dict[str, Tensor]]:
    return lambda weights: {name: each for name, each in weights.items() if not name.startswith(parts)}


def test_model_saved_without_its_head_has_no_predictions(folder_of: FolderOf, tmp_path: Path) -> None:
    complete = folder_of("distilbert")
    bare = save_changed(complete, tmp_path / "bare", without_parts("vocab_"))
    assert attnviz.predictions("The [MASK] was tired", complete) != ()
    assert attnviz.predictions("The [MASK] was tired", bare) == ()
    assert np.array_equal(
        attnviz.trace(SENTENCE, bare).stack("encoder"), cached_trace(complete).stack("encoder")
    )


def test_encoder_decoder_without_its_head_needs_a_target(folder_of: FolderOf, tmp_path: Path) -> None:
    def untied(weights: dict[str, Tensor]) -> dict[str, Tensor]:
        words = weights["model.shared.weight"]
        tables = {f"model.{half}.embed_tokens.weight": words.clone() for half in ("encoder", "decoder")}
        return {**weights, **tables}

    bare = save_changed(folder_of("marian"), tmp_path / "bare", untied)
    config = bare / "config.json"
    config.write_text(
        config.read_text().replace('"tie_word_embeddings": true', '"tie_word_embeddings": false')
    )
    found = attnviz.trace(SENTENCE, bare, target=TARGET)
    assert np.array_equal(found.stack("cross"), cached_trace(folder_of("marian")).stack("cross"))
    with pytest.raises(ModelNotSupported, match="has no language-model head to generate with"):
        attnviz.trace(SENTENCE, bare)


@pytest.mark.parametrize("family", families("without a head", ("bert", "gpt2", "t5")))
def test_base_model_is_traced(folder_of: FolderOf, copy_of: FolderOf, family: str) -> None:
    bare = copy_of(family)
    (bare / "model.safetensors").unlink()
    AutoModel.from_pretrained(folder_of(family), local_files_only=True, use_safetensors=True).save_pretrained(
        bare
    )
    assert '"architectures"' in (bare / "config.json").read_text()
    for one, other in zip(cached_trace(bare).blocks, cached_trace(folder_of(family)).blocks, strict=True):
        assert np.array_equal(one.weights, other.weights)


def legacy_gpt2(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Remove the language model's prefix from the names, and add constant masks."""
    bare = {name.removeprefix("transformer."): weight for name, weight in weights.items()}
    return {**bare, "h.0.attn.bias": torch.ones(1, 1, 61, 61), "h.0.attn.masked_bias": torch.tensor(-1e4)}


def legacy_bert(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Use TensorFlow's names, and add weights of next-sentence prediction."""
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    for new, name in old.items():
        weights = {each.replace(new, name): weight for each, weight in weights.items()}
    return {**weights, "cls.seq_relationship.weight": torch.zeros(2, 15)}


@pytest.mark.parametrize(("family", "change"), [("gpt2", legacy_gpt2), ("bert", legacy_bert)])
def test_legacy_files_are_read(
    folder_of: FolderOf, tmp_path: Path, family: str, change: Callable[[dict[str, Tensor]], dict[str, Tensor]]
) -> None:
    folder = save_changed(folder_of(family), tmp_path / family, change)
    for one, other in zip(cached_trace(folder).blocks, cached_trace(folder_of(family)).blocks, strict=True):
        assert np.array_equal(one.weights, other.weights)
    text = "The dog [MASK]" if family == "bert" else "The dog"
    assert attnviz.predictions(text, folder) == attnviz.predictions(text, folder_of(family)) != ()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (without_parts("transformer.h.1.attn.c_attn"), r"missing.*: h\.1\.attn\.c_attn\.bias and 1 more"),
        (lambda weights: {**weights, "transformer.wpe.weight": torch.zeros(7, 15)}, "cannot be read"),
    ],
    ids=["missing", "mismatched"],
)
def test_model_with_missing_or_mismatched_weights_is_refused(
    folder_of: FolderOf, tmp_path: Path, change: Callable[[dict[str, Tensor]], dict[str, Tensor]], match: str
) -> None:
    folder = save_changed(folder_of("gpt2"), tmp_path / "damaged", change)
    with pytest.raises(ModelFilesDamaged, match=match):
        attnviz.trace(SENTENCE, folder)


def test_tokens_without_embeddings_are_refused(copy_of: FolderOf) -> None:
    folder = copy_of("bart")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.add_tokens(["wombat"])
    tokenizer.save(str(folder / "tokenizer.json"))
    assert attnviz.trace("The dog", folder, target="The dog").target == "The dog"
    for model_input in (
        ModelInput("The wombat", target="The dog"),
        ModelInput("The dog", target="The wombat"),
    ):
        with pytest.raises(
            ModelNotSupported, match=r"“wombat” has id \d+, but .* has embeddings only for ids"
        ):
            loading.trace(str(folder), model_input)


@pytest.mark.parametrize("family", ["gpt2", "vit", "deberta", "gptj"])
def test_unused_model_is_freed_without_garbage_collection(folder_of: FolderOf, family: str) -> None:
    gc.disable()  # like a server, which freezes loaded objects
    try:
        model = loading._open(resolve.entry(str(folder_of(family))))
        assert isinstance(model, HuggingFaceModel | VisionModel)
        reference = weakref.ref(model.network)
        if isinstance(model, HuggingFaceModel):
            model.trace("the dog")
        del model
        assert reference() is None
    finally:
        gc.enable()
