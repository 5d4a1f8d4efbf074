"""Published files: every spelling that is read, and every one that is refused by name."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor

from attnviz.errors import AttnvizError, ModelFilesDamaged, ModelNotSupported
from attnviz.transformer.bert import Bert
from attnviz.transformer.published import published_name

IDS = torch.tensor([2, 3, 5, 7, 11])
QUERY = "encoder.layer.1.attention.self.query.weight"


def small_config(**settings: Any) -> transformers.BertConfig:
    return transformers.BertConfig(
        vocab_size=31,
        hidden_size=15,
        num_hidden_layers=2,
        num_attention_heads=5,
        intermediate_size=13,
        max_position_embeddings=11,
        **settings,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small BERT with random weights, as the transformers library writes it."""
    transformers.BertModel(small_config()).save_pretrained(tmp_path)
    return tmp_path


def change_config(folder: Path, **settings: object) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | settings))


def change_tensors(folder: Path, change: Callable[[dict[str, Tensor]], dict[str, Tensor]]) -> None:
    tensors = load_file(folder / "model.safetensors")
    changed = {name: tensor.clone() for name, tensor in change(tensors).items()}
    save_file(changed, folder / "model.safetensors")


@torch.no_grad()
def last_state(folder: Path) -> Tensor:
    state: Tensor = Bert.from_folder(folder)(IDS).hidden_states[-1]
    return state


@torch.no_grad()
def expected(model: transformers.BertModel) -> Tensor:
    state: Tensor = model.train(False)(IDS.unsqueeze(0)).last_hidden_state[0]
    return state


@pytest.mark.parametrize(
    "settings", [{"hidden_act": "gelu"}, {"hidden_act": "relu"}, {"layer_norm_eps": 0.5}]
)
def test_activations_and_the_epsilon_of_the_norms_are_read(tmp_path: Path, settings: dict[str, Any]) -> None:
    # Large weights, so that the two activations differ by more than the tolerance.
    model = transformers.BertModel(small_config(initializer_range=0.5, **settings))
    model.save_pretrained(tmp_path)
    torch.testing.assert_close(last_state(tmp_path), expected(model), atol=1e-5, rtol=0)


def test_a_model_with_a_head_on_top_is_read(tmp_path: Path) -> None:
    model = transformers.BertForMaskedLM(small_config())
    model.save_pretrained(tmp_path)
    assert any(name.startswith("bert.") for name in load_file(tmp_path / "model.safetensors"))
    torch.testing.assert_close(last_state(tmp_path), expected(model.bert), atol=1e-5, rtol=0)


def test_the_oldest_names_of_the_norms_are_read(folder: Path) -> None:
    def renamed(held: dict[str, Tensor]) -> dict[str, Tensor]:
        old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
        return {re.sub("|".join(old), lambda new: old[new[0]], name): each for name, each in held.items()}

    # Gains and biases that differ from their start, so that swapping them would show.
    change_tensors(folder, lambda held: {n: t + ("Norm" in n) * torch.randn_like(t) for n, t in held.items()})
    state = last_state(folder)
    change_tensors(folder, renamed)
    assert any(name.endswith("gamma") for name in load_file(folder / "model.safetensors"))
    assert torch.equal(last_state(folder), state)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_precisions_become_float32(folder: Path, dtype: torch.dtype) -> None:
    before = last_state(folder)
    change_tensors(folder, lambda tensors: {name: tensor.to(dtype) for name, tensor in tensors.items()})
    after = last_state(folder)
    assert after.dtype == torch.float32
    torch.testing.assert_close(after, before, atol=0.05, rtol=0)


def test_our_names_are_the_published_ones_each_once(folder: Path) -> None:
    ours = [published_name(name) for name, _ in Bert.from_folder(folder).named_parameters()]
    theirs = [name for name in load_file(folder / "model.safetensors") if not name.startswith("pooler.")]
    assert sorted(ours) == sorted(theirs)


Damage = Callable[[Path], object]


def configured(**settings: object) -> Damage:
    return lambda folder: change_config(folder, **settings)


def stored(change: Callable[[dict[str, Tensor]], dict[str, Tensor]]) -> Damage:
    return lambda folder: change_tensors(folder, change)


def cut(file: str, kept: int) -> Damage:
    return lambda folder: (folder / file).write_bytes((folder / file).read_bytes()[:kept])


def pickled(folder: Path) -> None:
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


FILES = ("config.json", "model.safetensors")
OTHER_KINDS = {
    "model_type": ("roberta", None),
    "position_embedding_type": ("relative_key",),
    "hidden_act": ("silu",),
    "is_decoder": (True,),
    "add_cross_attention": (True,),
    "quantization_config": ({"bits": 8},),
}
NO_SIZES = {
    "vocab_size": None,
    "hidden_size": "15",
    "num_hidden_layers": 0,
    "intermediate_size": -13,
    "max_position_embeddings": 11.5,
    "layer_norm_eps": 0.0,
}
RELATIVE = "encoder.layer.0.attention.self.distance_embedding.weight"


@pytest.mark.parametrize(
    ("damage", "error", "said"),
    [
        *(
            (configured(**{name: value}), ModelNotSupported, name)
            for name, values in OTHER_KINDS.items()
            for value in values
        ),
        *((configured(**{name: value}), ModelFilesDamaged, name) for name, value in NO_SIZES.items()),
        (configured(num_attention_heads=7), ModelFilesDamaged, "15 is not divisible by num_attention"),
        *(
            (
                configured(num_hidden_layers=layers),
                ModelFilesDamaged,
                f"2 layers, but config.json says {layers}",
            )
            for layers in (1, 3, 10**12)
        ),
        *((cut(file, kept), ModelFilesDamaged, file) for file in FILES for kept in (0, 100)),
        *((lambda folder, file=file: (folder / file).unlink(), ModelFilesDamaged, file) for file in FILES),
        (lambda folder: (folder / FILES[0]).write_bytes(b"[]"), ModelFilesDamaged, "config.json"),
        (lambda folder: (folder / FILES[0]).write_bytes(b"\xff\xfe"), ModelFilesDamaged, "config.json"),
        (pickled, ModelFilesDamaged, "model.safetensors"),
        (stored(lambda held: {n: t for n, t in held.items() if n != QUERY}), ModelFilesDamaged, QUERY),
        (
            stored(lambda held: held | {QUERY: torch.zeros(15, 14)}),
            ModelFilesDamaged,
            f"{QUERY} has shape (15, 14); config.json requires (15, 15)",
        ),
        (stored(lambda held: held | {RELATIVE: torch.zeros(21, 3)}), ModelNotSupported, RELATIVE),
        (
            stored(lambda held: held | {QUERY: torch.zeros(15, 15, dtype=torch.int8)}),
            ModelNotSupported,
            "int8",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(
    folder: Path, damage: Damage, error: type[AttnvizError], said: str
) -> None:
    damage(folder)
    with pytest.raises(error, match=re.escape(said)):
        Bert.from_folder(folder)
