import json
import shutil
from math import isqrt
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from transformers import AutoModel

import attnviz
from attnviz.errors import AttnvizError, ModelFilesDamaged, ModelNotSupported, ModelTooLarge
from attnviz.models import catalogue, config, folder, limits
from attnviz.models.catalogue import Folder
from tests.capture.tiny import SENTENCE, VISION_FAMILIES, FolderOf

sizes = attrgetter(
    *("layers", "decoder_layers", "heads", "d_model", "d_head", "token_limit", "pairs", "expects")
)
SIZES: dict[str, tuple[Any, ...]] = {
    "bert": (2, 0, 3, 15, 5, 61, True, "masked"),
    "roberta": (2, 0, 3, 15, 5, 61, True, "masked"),  # 63 position embeddings; two are unused
    "mpnet": (2, 0, 3, 15, 5, 61, True, "masked"),
    "albert": (3, 0, 3, 15, 5, 61, True, "masked"),
    "modernbert": (3, 0, 3, 30, 10, 61, True, "masked"),
    "gpt2": (0, 2, 3, 15, 5, 61, False, "next"),
    "llama": (0, 2, 6, 24, 10, 61, False, "next"),  # d_head is not d_model / heads
    "bloom": (0, 2, 3, 15, 5, config.MAX_TOKENS, False, "next"),  # no position embeddings
    "mpt": (0, 2, 3, 15, 5, 61, False, "next"),  # no position embeddings; its biases are for 61 positions
    "t5": (3, 2, 3, 14, 5, isqrt(config.MAX_ATTENTION_WEIGHTS // 21), False, "next"),  # 3 + 2 + 2 layers
    "bart": (3, 2, 3, 15, 5, 61, False, "next"),
    "vit": (2, 0, 3, 15, 5, 3 * 5 + 1, False, None),
    "dinov2_with_registers": (2, 0, 3, 15, 5, 3 * 5 + 1 + 2, False, None),
    "clip_text_model": (0, 2, 3, 15, 5, 61, False, None),
    "siglip_text_model": (2, 0, 3, 15, 5, 61, False, None),
}


def change_config(where: Path, **changes: Any) -> None:
    file = where / "config.json"
    settings = {**json.loads(file.read_text()), **changes}
    file.write_text(json.dumps({key: value for key, value in settings.items() if value is not None}))


def assert_refused(where: Path, kind: type[AttnvizError], *words: str) -> str:
    """Check that a folder is refused with a message that contains these words; return the message."""
    with pytest.raises(kind) as caught:
        folder.entry(where, "my-model")
    message = str(caught.value)
    for word in words:
        assert word in message
    return message


@pytest.mark.parametrize("family", SIZES)
def test_entry_equals_the_files(family: str, folder_of: FolderOf) -> None:
    entry = folder.entry(folder_of(family), f"./models/{family}")
    assert sizes(entry) == SIZES[family]
    saved = load_file(folder_of(family) / "model.safetensors").values()
    assert entry.parameters == sum(each.numel() for each in saved if each.is_floating_point())
    assert (entry.family, entry.name, entry.title) == (family, f"./models/{family}", family)
    assert entry.engine == "transformers"
    assert entry.is_vision_model == (family in VISION_FAMILIES)
    assert isinstance(entry.origin, Folder)
    assert entry.origin.folder == folder_of(family)


def test_token_limit_is_the_models_own_limit(folder_of: FolderOf) -> None:
    where = folder_of("roberta")
    limit = folder.entry(where, "roberta").token_limit
    model = AutoModel.from_pretrained(where, local_files_only=True, use_safetensors=True)
    with torch.inference_mode():
        model(input_ids=torch.full((1, limit), 7))
        with pytest.raises((IndexError, RuntimeError)):
            model(input_ids=torch.full((1, limit + 1), 7))


def test_folder_is_read_again_after_a_change(bert: Path) -> None:
    before = folder.entry(bert, "bert")
    assert folder.entry(bert, "bert") is before
    weights = load_file(bert / "model.safetensors")
    weights.popitem()
    save_file(weights, bert / "model.safetensors")
    after = folder.entry(bert, "bert")
    assert after.parameters != before.parameters
    assert after.origin != before.origin
    assert after.fingerprint not in (before.fingerprint, "")
    assert catalogue.entry("minilm").fingerprint == ""


def test_tokenizer_limits_models_without_position_embeddings(bert: Path) -> None:
    shutil.copytree(bert, bert / "t5")
    change_config(bert / "t5", model_type="bloom", n_head=3, hidden_size=15, max_position_embeddings=None)
    settings, default = bert / "t5" / "tokenizer_config.json", config.MAX_TOKENS
    for setting, limit in ((37, 37), (1e30, default), (-1, default), ("many", default)):
        settings.write_text(json.dumps({"model_max_length": setting}))
        assert folder.entry(bert / "t5", "t5").token_limit == limit


def test_token_limit_is_reduced_to_bound_memory(bert: Path) -> None:
    change_config(bert, max_position_embeddings=2048)
    assert folder.entry(bert, "bert").token_limit == 2048
    change_config(bert, max_position_embeddings=65_536)
    assert folder.entry(bert, "bert").token_limit == config.MAX_TOKENS
    change_config(bert, num_hidden_layers=2000)
    assert folder.entry(bert, "bert").token_limit == limits.max_bytes() // 4 // (2000 * 3 * 15 * 4)
    change_config(bert, num_hidden_layers=9000)  # at least 1,024 tokens are allowed
    assert folder.entry(bert, "bert").token_limit == 1024


@pytest.mark.parametrize(
    "content", ["{", "[" * 100_000, "\ud800", "[]", '"bert"', " " * (config.MAX_BYTES + 1)]
)
def test_invalid_config_file_is_refused(content: str, bert: Path) -> None:
    (bert / "config.json").write_bytes(content.encode("utf-8", "surrogatepass"))
    assert_refused(bert, ModelFilesDamaged, "config.json")


@pytest.mark.parametrize(
    ("changes", "kind", "word"),
    [
        *(({"model_type": family}, ModelFilesDamaged, "no model_type") for family in (None, "", 7, ["bert"])),
        ({"model_type": "bert-of-tomorrow"}, ModelNotSupported, "newer version"),
        ({"model_type": "beit"}, ModelNotSupported, "not supported"),
        *(
            ({"auto_map": value}, ModelNotSupported, "trust_remote_code=False")
            for value in ({"AutoModel": "own.Model"}, {"AutoConfig": "own.Config"}, "own.Model")
        ),
        *(
            (numbers, ModelNotSupported, "attnviz supports at most")  # before memory is allocated
            for numbers in (
                {"num_labels": 10**8},
                {"num_hidden_layers": 10**9},
                {"text_config": {"n_layer": 10**9}},
            )
        ),
    ],
)
def test_unsupported_config_is_refused(
    changes: dict[str, Any], kind: type[AttnvizError], word: str, bert: Path
) -> None:
    change_config(bert, **changes)
    assert_refused(bert, kind, word)


def test_encoder_and_decoder_with_different_numbers_of_heads_are_refused(copy_of: FolderOf) -> None:
    where = copy_of("bart")
    change_config(where, decoder_attention_heads=5)
    assert_refused(where, ModelNotSupported, "different numbers of heads")


@pytest.mark.parametrize(
    ("file", "other", "kind", "word"),
    [
        ("config.json", None, ModelFilesDamaged, "no config.json"),
        ("tokenizer.json", None, ModelFilesDamaged, "no tokenizer"),
        ("model.safetensors", None, ModelFilesDamaged, "no supported weights"),
        ("model.safetensors", "model.gguf", ModelFilesDamaged, "no supported weights"),
    ],
)
def test_missing_file_is_reported(
    file: str, other: str | None, kind: type[AttnvizError], word: str, bert: Path
) -> None:
    (bert / file).rename(bert / (other or "elsewhere"))
    assert_refused(bert, kind, word)


@pytest.mark.parametrize(
    "places",
    [
        *(None, [], {}, {"a": 3}, {"a": "../other/model.safetensors"}, {"a": "/other/model.safetensors"}),
        *({"a": "pytorch_model.bin"}, {"a": ".safetensors"}, {"a": "part.safetensors", "b": "2.safetensors"}),
    ],
)
def test_index_that_names_files_elsewhere_is_refused(places: Any, bert: Path) -> None:
    (bert / "model.safetensors").rename(bert / "part.safetensors")
    (bert / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
    assert_refused(bert, ModelFilesDamaged, "safetensors")


def test_image_size_is_from_the_config_or_the_family_default(copy_of: FolderOf) -> None:
    where = copy_of("vit")
    change_config(where, image_size=10, patch_size=[5, 2])
    assert folder.entry(where, "vit").grid == (2, 5)
    change_config(where, image_size=None, patch_size=None)
    assert folder.entry(where, "vit").grid == (14, 14)


@pytest.mark.parametrize("family", ["bert", "t5", "vit"])
def test_suggested_conversion_of_a_pickle_works(family: str, folder_of: FolderOf, tmp_path: Path) -> None:
    original = folder_of(family)
    old, new = Path(shutil.copytree(original, tmp_path / "old")), tmp_path / "new"
    torch.save(load_file(old / "model.safetensors"), old / "pytorch_model.bin")
    (old / "model.safetensors").unlink()
    code = assert_refused(old, ModelNotSupported, "from_pretrained(old)").rpartition("in Python: ")[2]
    exec(code, {"old": old, "new": new})  # noqa: S102 - code of our own message
    assert_same_model(new, original)


def assert_same_model(folder: Path, other: Path) -> None:
    """Check that the models in two folders compute the same weights and, for a text, the same predictions."""
    if (folder / "preprocessor_config.json").exists():
        one, two = (attnviz.look(Image.linear_gradient("L"), each) for each in (folder, other))
    else:
        text = f"{SENTENCE} [MASK]"
        one, two = (attnviz.trace(text, each) for each in (folder, other))
        expected = attnviz.predictions(text, folder)
        assert expected
        assert expected == attnviz.predictions(text, other)
    assert [block.weights.tolist() for block in one.blocks] == [b.weights.tolist() for b in two.blocks]


def test_too_large_model_is_refused(bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = folder.entry(bert, "my-model")
    monkeypatch.setenv(limits.SETTING, "0.00001")
    with pytest.raises(ModelTooLarge, match="ATTNVIZ_MAX_GB") as caught:
        folder.entry(bert, "my-model")
    assert caught.value.needed == 4 * (found.parameters or 0)
