"""Models stored or run in bfloat16 or float16."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel
from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward

import attnviz
from attnviz.capture import loading
from attnviz.capture.recorder import attend
from attnviz.capture.residual_stream import residual_stream
from attnviz.capture.stack import stack_of
from attnviz.errors import ModelNotSupported, ModelTooLarge, UnknownModel
from attnviz.models import limits, resolve
from attnviz.models.limits import DType
from tests.capture.reference import reference_inputs, reference_model
from tests.capture.tiny import SENTENCE, FolderOf, save_changed

HALVES: tuple[DType, ...] = ("bfloat16", "float16")


@pytest.mark.parametrize("dtype", HALVES)
def test_softmax_with_sinks_rounds_like_gpt_oss(dtype: DType) -> None:
    generator = torch.Generator().manual_seed(3)
    query, key, value = torch.randn(3, 2, 8, 200, 10, generator=generator).to(getattr(torch, dtype))
    sinks = torch.randn(8, generator=generator).to(query.dtype)
    module = SimpleNamespace(sinks=sinks, num_key_value_groups=1, training=False)
    eager: Any = eager_attention_forward
    _, expected = eager(module, query, key, value, None, scaling=1.0)
    assert torch.equal(attend(query, key, None, 1.0, sinks=sinks), expected)


@pytest.fixture(scope="module")
def stored(folder_of: FolderOf, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama model stored in bfloat16, like most newer models."""
    folder = tmp_path_factory.mktemp("stored") / "llama"
    return save_changed(
        folder_of("llama"),
        folder,
        lambda weights: {name: weight.bfloat16() for name, weight in weights.items()},
    )


@pytest.mark.parametrize("dtype", HALVES)
def test_weights_equal_eager_in_the_same_precision_bit_for_bit(stored: Path, dtype: DType) -> None:
    model = reference_model(stored, getattr(torch, dtype))
    with torch.inference_mode():
        expected = model(**reference_inputs(stored, model), output_attentions=True).attentions
    found, float32_trace = (attnviz.trace(SENTENCE, f"{stored}{ending}") for ending in (f"#{dtype}", ""))
    assert len(found.blocks) == len(expected) == 2
    for block, in_float32, weights in zip(found.blocks, float32_trace.blocks, expected, strict=True):
        assert weights.dtype == getattr(torch, dtype)
        assert np.array_equal(block.weights, weights[0].float().numpy())
        assert np.array_equal(block.mask, np.tri(len(block.mask), dtype=bool))
        assert not np.array_equal(block.weights, in_float32.weights)


def test_half_precision_takes_half_the_memory(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = resolve.entry(str(stored)).parameters or 0
    monkeypatch.setenv(limits.SETTING, str(2 * parameters / 1e9))
    assert resolve.entry(f"{stored}#bfloat16").parameters == parameters
    with pytest.raises(ModelTooLarge) as caught:
        resolve.entry(str(stored))
    assert caught.value.needed == 4 * parameters


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        (
            "minilm#bfloat16",
            ModelNotSupported,
            "“minilm” is a bundled model and runs in float32. Omit bfloat16",
        ),
        ("translator#int8", UnknownModel, "No model is called “translator#int8”"),
        ("#bfloat16", UnknownModel, "No model is called “#bfloat16”"),
    ],
)
def test_unsupported_precision_is_refused(name: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        resolve.entry(name)


def test_custom_attention_is_supported_only_in_float32(folder_of: FolderOf) -> None:
    message = r"only in float32, not in float16\. Open it without float16, or call model\.float\(\)"
    with pytest.raises(ModelNotSupported, match=message):
        attnviz.trace(SENTENCE, folder_of("mpnet"), dtype="float16")


def test_dtype_argument_is_equivalent_to_the_name_suffix(stored: Path) -> None:
    expected = attnviz.trace(SENTENCE, f"{stored}#bfloat16")
    for dtype in ("bfloat16", torch.bfloat16):
        found = attnviz.trace(SENTENCE, stored, dtype=dtype, device="cpu")
        assert found.model == expected.model
        assert np.array_equal(found.stack(), expected.stack())
    [batched] = attnviz.trace_many([SENTENCE], stored, dtype="bfloat16")
    assert np.array_equal(batched.stack(), expected.stack())
    assert attnviz.predictions(SENTENCE, stored, dtype="bfloat16") == attnviz.predictions(
        SENTENCE, f"{stored}#bfloat16"
    )
    with pytest.raises(TypeError, match=r"dtype and device cannot be combined .* model\.to"):
        attnviz.trace(SENTENCE, torch.nn.Linear(2, 2), dtype="bfloat16")


def test_model_is_moved_to_its_device(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    devices: list[object] = []

    def to(network: PreTrainedModel, device: object) -> PreTrainedModel:
        devices.append(device)
        return network

    monkeypatch.setattr(PreTrainedModel, "to", to)
    assert attnviz.trace(SENTENCE, stored, device="xpu:7").model == f"{stored}#xpu:7"
    assert devices == ["xpu:7"]


def test_missing_device_is_reported(stored: Path) -> None:
    message = r"cannot be moved to cuda:99: .+\. Without a device, it runs on the CPU"
    with pytest.raises(ModelNotSupported, match=message):
        attnviz.trace(SENTENCE, stored, device="cuda:99")


def test_computations_for_the_cpu_refuse_other_devices(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = loading.load(str(stored))
    monkeypatch.setattr(model, "device", "cuda:0")
    message = r"runs on cuda:0, but this computation needs the CPU\. Omit the device, or call model\.cpu"
    with pytest.raises(ModelNotSupported, match=message):
        residual_stream(model, SENTENCE, 3, "decoder")
    with pytest.raises(ModelNotSupported, match=message):
        stack_of(model, SENTENCE)
