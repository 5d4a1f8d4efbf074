"""Model objects with quantized, wrapped or replaced parts: traces are exact; objects remain unchanged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import peft
import pytest
import torch
from accelerate import Accelerator  # type: ignore[import-untyped]  # no py.typed
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
from tests.capture.reference import cached_trace, reference_model, reference_tokenizer
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
    """An imitation of SentenceTransformer, which is not a test dependency."""

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
def test_wrapped_model_is_unwrapped_with_a_note(
    folder_of: FolderOf, tmp_path: Path, wrap: Callable[..., Any], place: str
) -> None:
    network, tokenizer = reference_model(folder_of("bert")), reference_tokenizer(folder_of("bert"))
    wrapped = wrap(model=network, tokenizer=tokenizer)
    has_tokenizer = hasattr(wrapped, "tokenizer")
    trace = attnviz.trace(SENTENCE, wrapped, tokenizer=None if has_tokenizer else tokenizer)
    note = f"The traced model is part of {place}."
    assert trace.notes == (note,)
    assert np.array_equal(trace.stack(), cached_trace(folder_of("bert")).stack())
    trace.save(tmp_path / "trace.npz")
    assert attnviz.Trace.load(tmp_path / "trace.npz").notes == trace.notes
    assert note in repr(trace)
    assert not attnviz.trace(SENTENCE, network, tokenizer=tokenizer).notes


def test_object_with_two_models_is_refused(folder_of: FolderOf) -> None:
    both = Embedder(reference_model(folder_of("bert")), reference_tokenizer(folder_of("bert")))
    both.append(Transformer(reference_model(folder_of("gpt2"))))
    with pytest.raises(TypeError, match=r"not Embedder\."):
        attnviz.trace(SENTENCE, both)


def llama() -> Any:
    torch.manual_seed(0)
    return untrained("llama", AutoModelForCausalLM, **SIZES)


def own_weights(model: Any) -> list[Tensor]:
    with torch.inference_mode():
        returned = model(input_ids=torch.tensor([IDS]), output_attentions=True, use_cache=False)
    return [layer[0].float() for layer in returned.attentions]


def snapshot(part: Any, visited: dict[int, Any]) -> Any:
    """Return the complete state reachable from an object: identities, classes, values, tensor versions."""
    if id(part) in visited:
        return id(part)
    if isinstance(part, str | int | float | type | None | torch.dtype):
        return repr(part)
    visited[id(part)] = part  # keeps its id from being reused
    found: list[Any] = [id(part), type(part)]
    if isinstance(part, Tensor):
        found += [part._version, part.requires_grad, part.grad is None, part.data_ptr(), part.sum().item()]
    elif isinstance(part, dict):
        return [*found, [(repr(key), snapshot(value, visited)) for key, value in part.items()]]
    elif isinstance(part, list | tuple):
        return [*found, [snapshot(value, visited) for value in part]]
    return [*found, [(key, snapshot(value, visited)) for key, value in getattr(part, "__dict__", {}).items()]]


class Codes(nn.Parameter):
    """8-bit weights and their scales; the first call of the layer moves the scales to the layer."""

    scales: Tensor | None


class Int8Linear(nn.Linear):
    """An imitation of bitsandbytes' Linear8bitLt: the first call moves the scales to the layer."""

    def __init__(self, replaced: nn.Linear) -> None:
        super().__init__(replaced.in_features, replaced.out_features, bias=False)
        scales = replaced.weight.detach().abs().amax(1, keepdim=True) / 127
        codes = (replaced.weight.detach() / scales).round().to(torch.int8)
        self.weight = Codes(codes, requires_grad=False)
        self.weight.scales = scales
        self.state: dict[str, Tensor] = {}
        self.register_buffer("runs", torch.zeros(1))

    def forward(self, inputs: Tensor) -> Tensor:
        assert isinstance(self.weight, Codes)
        assert isinstance(self.runs, Tensor)
        self.runs += 1
        if self.weight.scales is not None:
            self.state["scales"] = self.weight.scales
            self.weight.scales = None
            self.weight.data = self.weight.data.flip(0)  # kernels also change the memory layout
        inputs = (inputs * 32).round() / 32
        return nn.functional.linear(inputs, self.weight.flip(0) * self.state["scales"])


def with_int8(model: Any) -> Any:
    for layer in model.model.layers:
        for name in ("q_proj", "o_proj"):
            setattr(layer.self_attn, name, Int8Linear(getattr(layer.self_attn, name)))
    return model


def with_weight_norm(model: Any) -> Any:
    for layer in model.model.layers:
        parametrizations.weight_norm(layer.self_attn.o_proj)
        nn.utils.spectral_norm(
            layer.self_attn.q_proj
        )  # the older function, which updates its state in training mode
    return model


def with_adapter(model: Any, config: Any = None) -> Any:
    config = config or peft.LoraConfig(r=4, target_modules=["q_proj", "o_proj", "embed_tokens"])
    adapted: Any = peft.get_peft_model(model, config)
    for name, parameter in adapted.named_parameters():
        if parameter.requires_grad:
            nn.init.normal_(parameter, float("ia3" in name), 0.2)
    return adapted.eval()


IA3 = peft.IA3Config(target_modules=["k_proj", "o_proj"], feedforward_modules=["o_proj"])

WRAPPED: dict[str, Callable[[], Any]] = {
    "8 bits": lambda: with_int8(llama()),
    "weight norm": lambda: with_weight_norm(llama()),
    "LoRA in float32 on bfloat16": lambda: with_adapter(llama().bfloat16()),
    "IA3 on float16": lambda: with_adapter(llama().half(), IA3),
    "autocast": lambda: Accelerator(cpu=True, mixed_precision="bf16").prepare(llama()),
}


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
@pytest.mark.filterwarnings("ignore:`torch.nn.utils.*spectral_norm` is deprecated:FutureWarning")
@pytest.mark.parametrize("kind", WRAPPED)
def test_trace_equals_the_objects_weights_and_leaves_it_unchanged(kind: str) -> None:
    expected = own_weights(WRAPPED[kind]())
    model, visited = WRAPPED[kind](), dict[int, Any]()
    before, random = snapshot(model, visited), torch.get_rng_state()
    found = [attnviz.trace(IDS, model) for _ in range(2)]
    assert torch.equal(torch.get_rng_state(), random)
    assert snapshot(model, {}) == before
    for trace in found:
        assert np.array_equal(trace.stack(), torch.stack(expected).numpy())
    for weights, expected_weights in zip(own_weights(model), expected, strict=True):
        assert torch.equal(weights, expected_weights)
    block = found[0].blocks[1]
    if kind == "8 bits":
        assert block.projection is None
        with pytest.raises(AttnvizError, match=r"no W_O.*8-bit"):
            weighted_vectors(block, 1)
        return
    mixer: Any = next(
        module for name, module in model.named_modules() if name.endswith("layers.1.self_attn.o_proj")
    )
    assert block.projection is not None
    outputs = torch.tensor(block.output).transpose(0, 1).flatten(1).to(next(model.parameters()).dtype)
    with torch.inference_mode():
        output = mixer(outputs).float()
    sums = np.einsum("hqd,hdm->qm", block.output, block.projection)
    np.testing.assert_allclose(sums, output, atol=0.02 * float(output.abs().max()))


BIDIRECTIONAL: dict[str, Callable[[], Any]] = {
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


@pytest.mark.parametrize("name", BIDIRECTIONAL)
def test_bidirectional_model_of_a_decoder_family_is_an_encoder(name: str) -> None:
    model = BIDIRECTIONAL[name]()
    assert isinstance(model, Gemma3TextModel | BertGenerationEncoder | LlamaModel)
    with attnviz.borrowed(model) as borrowed:
        found = attnviz.trace(IDS, borrowed)
    assert {(block.kind, block.query.shape[-1]) for block in found.blocks} == {("encoder", 8)}
    assert np.array_equal(found.stack("encoder"), torch.stack(own_weights(model)).numpy())


def test_missing_causal_mask_makes_an_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    model = llama()
    monkeypatch.setattr("transformers.models.llama.modeling_llama.create_causal_mask", lambda **_: None)
    found = attnviz.trace(IDS, model)
    assert {block.kind for block in found.blocks} == {"encoder"}
    assert np.array_equal(found.stack(), torch.stack(own_weights(model)).numpy())
