"""Model objects with quantized, wrapped or replaced parts: traced exactly, and left as they were."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import peft
import pytest
import torch
from accelerate import Accelerator  # type: ignore[import-untyped]  # it has no py.typed
from torch import Tensor, nn
from torch.nn.utils import parametrizations
from transformers import (
    AutoModelForCausalLM,
    BertGenerationEncoder,
    FeatureExtractionPipeline,
    Gemma3TextModel,
    LlamaModel,
)

import attnviz
from attnviz.analysis.norms import weighted_vectors
from attnviz.errors import AttnvizError
from tests.capture.by_transformers import captured, own_model, own_tokenizer
from tests.capture.tiny import SENTENCE, FolderOf, untrained

IDS = [1, 7, 9, 30, 5]
SIZES = {
    "vocab_size": 60,
    "hidden_size": 32,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "intermediate_size": 48,
    "initializer_range": 0.3,
}


class Embedder(nn.Sequential):
    """As SentenceTransformer, which the tests do not need."""

    def __init__(self, network: Any, tokenizer: Any) -> None:
        super().__init__(Transformer(network))
        self.tokenizer = tokenizer


class Transformer(nn.Module):
    def __init__(self, network: Any) -> None:
        super().__init__()
        self.auto_model = network


@pytest.mark.parametrize(
    ("wrap", "place"),
    [
        (
            lambda **parts: FeatureExtractionPipeline(**parts, device=-1),
            "FeatureExtractionPipeline: model.model",
        ),
        (lambda **parts: Embedder(parts["model"], parts["tokenizer"]), "Embedder: model[0].auto_model"),
        (lambda **parts: nn.DataParallel(parts["model"]), "DataParallel: model.module"),
        (lambda **parts: torch.compile(parts["model"], backend="eager"), "OptimizedModule: model._orig_mod"),
    ],
)
def test_a_wrapped_model_is_unwrapped_and_the_trace_says_so(
    folder_of: FolderOf, tmp_path: Path, wrap: Callable[..., Any], place: str
) -> None:
    network, tokenizer = own_model(folder_of("bert")), own_tokenizer(folder_of("bert"))
    wrapped = wrap(model=network, tokenizer=tokenizer)
    knows = hasattr(wrapped, "tokenizer")
    trace = attnviz.trace(SENTENCE, wrapped, tokenizer=None if knows else tokenizer)
    found = f"The traced model is part of {place}."
    assert trace.notes == (found,)
    assert np.array_equal(trace.stack(), captured(folder_of("bert")).stack())
    trace.save(tmp_path / "trace.npz")
    assert attnviz.Trace.load(tmp_path / "trace.npz").notes == trace.notes
    assert found in repr(trace)
    assert not attnviz.trace(SENTENCE, network, tokenizer=tokenizer).notes


def test_of_two_models_in_one_object_none_is_chosen(folder_of: FolderOf) -> None:
    both = Embedder(own_model(folder_of("bert")), own_tokenizer(folder_of("bert")))
    both.append(Transformer(own_model(folder_of("gpt2"))))
    with pytest.raises(TypeError, match=r"not Embedder\."):
        attnviz.trace(SENTENCE, both)


def llama() -> Any:
    torch.manual_seed(0)
    return untrained("llama", AutoModelForCausalLM, **SIZES)


def own_weights(model: Any) -> list[Tensor]:
    with torch.inference_mode():
        returned = model(input_ids=torch.tensor([IDS]), output_attentions=True, use_cache=False)
    return [layer[0].float() for layer in returned.attentions]


def snapshot(part: Any, seen: dict[int, Any]) -> Any:
    """All that can be reached from an object: identities, classes, values, versions of tensors."""
    if id(part) in seen:
        return id(part)
    if isinstance(part, str | int | float | type | None | torch.dtype):
        return repr(part)
    seen[id(part)] = part  # so that no other object gets its id
    found: list[Any] = [id(part), type(part)]
    if isinstance(part, Tensor):
        found += [part._version, part.requires_grad, part.grad is None, part.data_ptr(), part.sum().item()]
    elif isinstance(part, dict):
        return [*found, [(repr(key), snapshot(value, seen)) for key, value in part.items()]]
    elif isinstance(part, list | tuple):
        return [*found, [snapshot(value, seen) for value in part]]
    return [*found, [(key, snapshot(value, seen)) for key, value in getattr(part, "__dict__", {}).items()]]


class Codes(nn.Parameter):
    """Weights in 8 bits, with scales that the layer takes from the parameter when it first runs."""

    scales: Tensor | None


class Int8Linear(nn.Linear):
    """As bitsandbytes' Linear8bitLt: the first run moves a part of the parameter to the layer."""

    def __init__(self, replaced: nn.Linear) -> None:
        super().__init__(replaced.in_features, replaced.out_features, bias=False)
        scales = replaced.weight.detach().abs().amax(1, keepdim=True) / 127
        codes = (replaced.weight.detach() / scales).round().to(torch.int8)
        self.weight = Codes(codes, requires_grad=False)
        self.weight.scales = scales
        self.state: dict[str, Tensor] = {}
        self.register_buffer("runs", torch.zeros(1))

    def forward(self, given: Tensor) -> Tensor:
        assert isinstance(self.weight, Codes)
        assert isinstance(self.runs, Tensor)
        self.runs += 1
        if self.weight.scales is not None:
            self.state["scales"] = self.weight.scales
            self.weight.scales = None
            self.weight.data = self.weight.data.flip(0)  # another order, as kernels want it
        given = (given * 32).round() / 32
        return nn.functional.linear(given, self.weight.flip(0) * self.state["scales"])


def with_int8(model: Any) -> Any:
    for layer in model.model.layers:
        for name in ("q_proj", "o_proj"):
            setattr(layer.self_attn, name, Int8Linear(getattr(layer.self_attn, name)))
    return model


def with_weight_norm(model: Any) -> Any:
    for layer in model.model.layers:
        parametrizations.weight_norm(layer.self_attn.o_proj)
        nn.utils.spectral_norm(layer.self_attn.q_proj)  # the older kind, which counts on in training
    return model


def with_adapter(model: Any, config: Any = None) -> Any:
    config = config or peft.LoraConfig(r=4, target_modules=["q_proj", "o_proj", "embed_tokens"])
    adapted: Any = peft.get_peft_model(model, config)
    for name, parameter in adapted.named_parameters():
        if parameter.requires_grad:
            nn.init.normal_(parameter, float("ia3" in name), 0.2)
    return adapted.eval()


IA3 = peft.IA3Config(target_modules=["k_proj", "o_proj"], feedforward_modules=["o_proj"])

MADE: dict[str, Callable[[], Any]] = {
    "8 bits": lambda: with_int8(llama()),
    "weight norm": lambda: with_weight_norm(llama()),
    "LoRA in float32 on bfloat16": lambda: with_adapter(llama().bfloat16()),
    "IA3 on float16": lambda: with_adapter(llama().half(), IA3),
    "autocast": lambda: Accelerator(cpu=True, mixed_precision="bf16").prepare(llama()),
}


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
@pytest.mark.filterwarnings("ignore:`torch.nn.utils.*spectral_norm` is deprecated:FutureWarning")
@pytest.mark.parametrize("kind", MADE)
def test_a_trace_shows_what_the_object_computes_and_changes_nothing_of_it(kind: str) -> None:
    expected = own_weights(MADE[kind]())
    model, seen = MADE[kind](), dict[int, Any]()
    before, random = snapshot(model, seen), torch.get_rng_state()
    found = [attnviz.trace(IDS, model) for _ in range(2)]
    assert torch.equal(torch.get_rng_state(), random)
    assert snapshot(model, {}) == before
    for trace in found:
        assert np.array_equal(trace.stack(), torch.stack(expected).numpy())
    for weights, once_more in zip(own_weights(model), expected, strict=True):
        assert torch.equal(weights, once_more)
    block = found[0].blocks[1]
    if kind == "8 bits":
        assert block.projection is None
        with pytest.raises(AttnvizError, match=r"no W_O.*8-bit"):
            weighted_vectors(block, 1)
        return
    output_layer: Any = next(
        module for name, module in model.named_modules() if name.endswith("layers.1.self_attn.o_proj")
    )
    assert block.projection is not None
    outputs = torch.tensor(block.output).transpose(0, 1).flatten(1).to(next(model.parameters()).dtype)
    with torch.inference_mode():
        added = output_layer(outputs).float()
    sums = np.einsum("hqd,hdm->qm", block.output, block.projection)
    np.testing.assert_allclose(sums, added, atol=0.02 * float(added.abs().max()))


BOTH_WAYS: dict[str, Callable[[], Any]] = {
    "EmbeddingGemma": lambda: untrained(
        "gemma3_text",
        **SIZES,
        num_key_value_heads=2,
        head_dim=8,
        use_bidirectional_attention=True,
        layer_types=["sliding_attention", "full_attention"],
    ),
    "BertGenerationEncoder": lambda: untrained("bert-generation", **SIZES),
    "Llama": lambda: untrained("llama", **SIZES, is_causal=False),
}


@pytest.mark.parametrize("name", BOTH_WAYS)
def test_the_masks_show_an_encoder_of_a_decoders_family(name: str) -> None:
    model = BOTH_WAYS[name]()
    assert isinstance(model, Gemma3TextModel | BertGenerationEncoder | LlamaModel)
    with attnviz.borrowed(model) as borrowed:
        found = attnviz.trace(IDS, borrowed)
    assert {(block.kind, block.query.shape[-1]) for block in found.blocks} == {("encoder", 8)}
    assert np.array_equal(found.stack("encoder"), torch.stack(own_weights(model)).numpy())


def test_a_mask_that_no_config_shows_makes_an_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    model = llama()
    monkeypatch.setattr("transformers.models.llama.modeling_llama.create_causal_mask", lambda **_given: None)
    found = attnviz.trace(IDS, model)
    assert {block.kind for block in found.blocks} == {"encoder"}
    assert np.array_equal(found.stack(), torch.stack(own_weights(model)).numpy())
