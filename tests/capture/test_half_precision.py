"""Models that are stored, or run, in bfloat16 or float16."""

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
from tests.capture.by_transformers import own_inputs, own_model
from tests.capture.tiny import SENTENCE, FolderOf, saved_again

HALVES: tuple[DType, ...] = ("bfloat16", "float16")


@pytest.mark.parametrize("dtype", HALVES)
def test_a_softmax_with_sinks_rounds_as_that_of_gpt_oss(dtype: DType) -> None:
    draw = torch.Generator().manual_seed(3)
    query, key, value = torch.randn(3, 2, 8, 200, 10, generator=draw).to(getattr(torch, dtype))
    sinks = torch.randn(8, generator=draw).to(query.dtype)
    module = SimpleNamespace(sinks=sinks, num_key_value_groups=1, training=False)
    eager: Any = eager_attention_forward
    _, expected = eager(module, query, key, value, None, scaling=1.0)
    assert torch.equal(attend(query, key, None, 1.0, sinks=sinks), expected)


@pytest.fixture(scope="module")
def stored(folder_of: FolderOf, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama whose weights are stored in bfloat16, as those of most newer models are."""
    folder = tmp_path_factory.mktemp("stored") / "llama"
    return saved_again(
        folder_of("llama"),
        folder,
        lambda weights: {name: weight.bfloat16() for name, weight in weights.items()},
    )


@pytest.mark.parametrize("dtype", HALVES)
def test_the_weights_are_those_of_eager_in_the_same_precision_to_the_bit(stored: Path, dtype: DType) -> None:
    model = own_model(stored, getattr(torch, dtype))
    with torch.inference_mode():
        expected = model(**own_inputs(stored, model), output_attentions=True).attentions
    found, whole = (attnviz.trace(SENTENCE, f"{stored}{ending}") for ending in (f"#{dtype}", ""))
    assert len(found.blocks) == len(expected) == 2
    for block, in_float32, weights in zip(found.blocks, whole.blocks, expected, strict=True):
        assert weights.dtype == getattr(torch, dtype)
        assert np.array_equal(block.weights, weights[0].float().numpy())
        assert np.array_equal(block.mask, np.tri(len(block.mask), dtype=bool))
        assert not np.array_equal(block.weights, in_float32.weights)


def test_it_takes_half_the_memory(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = resolve.entry(str(stored)).parameters or 0
    monkeypatch.setenv(limits.SETTING, str(2 * parameters / 1e9))
    assert resolve.entry(f"{stored}#bfloat16").parameters == parameters
    with pytest.raises(ModelTooLarge) as caught:
        resolve.entry(str(stored))
    assert caught.value.needed == 4 * parameters


@pytest.mark.parametrize(
    ("name", "kind", "why"),
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
def test_what_cannot_run_so_is_refused(name: str, kind: type[Exception], why: str) -> None:
    with pytest.raises(kind, match=why):
        resolve.entry(name)


def test_attention_of_its_own_is_shown_in_float32_alone(folder_of: FolderOf) -> None:
    said = (
        r"has a custom attention .* only in float32, not in float16: omit float16, or call model\.float\(\)"
    )
    with pytest.raises(ModelNotSupported, match=said):
        attnviz.trace(SENTENCE, folder_of("mpnet"), dtype="float16")


def test_the_numbers_may_be_said_as_an_argument(stored: Path) -> None:
    expected = attnviz.trace(SENTENCE, f"{stored}#bfloat16")
    for dtype in ("bfloat16", torch.bfloat16):
        found = attnviz.trace(SENTENCE, stored, dtype=dtype, device="cpu")
        assert found.model == expected.model
        assert np.array_equal(found.stack(), expected.stack())
    [many] = attnviz.trace_many([SENTENCE], stored, dtype="bfloat16")
    assert np.array_equal(many.stack(), expected.stack())
    assert attnviz.predictions(SENTENCE, stored, dtype="bfloat16") == attnviz.predictions(
        SENTENCE, f"{stored}#bfloat16"
    )
    with pytest.raises(TypeError, match=r"dtype and device cannot be combined .* model\.to"):
        attnviz.trace(SENTENCE, torch.nn.Linear(2, 2), dtype="bfloat16")


def test_a_model_goes_to_its_device(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def to(network: PreTrainedModel, device: object) -> PreTrainedModel:
        asked.append(device)
        return network

    monkeypatch.setattr(PreTrainedModel, "to", to)
    assert attnviz.trace(SENTENCE, stored, device="xpu:7").model == f"{stored}#xpu:7"
    assert asked == ["xpu:7"]


def test_a_device_that_is_not_there_is_told(stored: Path) -> None:
    said = r"cannot be moved to cuda:99: .+\. Omit cuda:99 to run it on the CPU"
    with pytest.raises(ModelNotSupported, match=said):
        attnviz.trace(SENTENCE, stored, device="cuda:99")


def test_what_is_computed_on_the_processor_alone_says_so(
    stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = loading.load(str(stored))
    monkeypatch.setattr(model, "device", "cuda:0")
    said = r"runs on cuda:0, but this computation needs the CPU\. Omit the device, or call model\.cpu"
    with pytest.raises(ModelNotSupported, match=said):
        residual_stream(model, SENTENCE, 3, "decoder")
    with pytest.raises(ModelNotSupported, match=said):
        stack_of(model, SENTENCE)
