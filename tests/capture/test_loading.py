import json
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from attnviz.capture import loading
from attnviz.capture.model import Model, ModelInput
from attnviz.capture.stack import stack_of
from attnviz.errors import ModelFilesDamaged, ModelNotSupported, UnknownModel, UnknownWords
from attnviz.models import catalogue, limits
from tests.capture.tiny import SENTENCE, FolderOf


class Fake:
    """A stand-in for a loaded model."""

    def __init__(self, name: str) -> None:
        self.name = name


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the models opened so far, from a catalogue of ten models named a to j."""
    names: list[str] = []

    def open_fake(entry: catalogue.Entry) -> Fake:
        names.append(entry.name)
        return Fake(entry.name)

    minilm = catalogue.entry("minilm")
    monkeypatch.setattr(catalogue, "_ENTRIES", {name: replace(minilm, name=name) for name in "abcdefghij"})
    monkeypatch.setattr(loading, "_open", open_fake)
    monkeypatch.setattr(loading, "_models", type(loading._models)())
    return names


@pytest.mark.parametrize("name", ["minilm-scratch", "translator"])
def test_model_loaded_in_inference_mode_works_outside_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_models", type(loading._models)())
    with torch.inference_mode():
        stack = stack_of(loading.load(name), "The dog was tired.")
    assert stack_of(loading.load(name), "The dog was tired.").words.shape == stack.words.shape


@pytest.mark.parametrize(
    ("name", "number"), [("pad_token_id", 10**9), ("pad_token_id", 10**30), ("vocab_size", 0)]
)
def test_invalid_config_is_refused(name: str, number: int, bert: Path) -> None:
    config = json.loads((bert / "config.json").read_text("utf-8"))
    (bert / "config.json").write_text(json.dumps(config | {name: number}), "utf-8")
    with pytest.raises(ModelNotSupported, match="transformers cannot build the model"):
        loading.load(str(bert))


def test_least_recently_used_model_is_evicted(opened: list[str]) -> None:
    for name in "abcdefghai":
        loading.load(name)
    assert opened == list("abcdefghi")
    assert [name for name in "abcdefghij" if loading.is_loaded(name)] == list("acdefghi")
    assert len(loading._models) == loading.MAX_MODELS


def test_memory_limit_applies_to_all_models(opened: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    one = limits.in_memory(catalogue.entry("a").parameters or 0)
    monkeypatch.setenv(limits.SETTING, str(2.5 * one / 1e9))
    for name in "abac":
        loading.load(name)
    assert opened == ["a", "b", "c"]
    assert [name for name in "abc" if loading.is_loaded(name)] == ["a", "c"]


def test_changed_folder_is_loaded_again(copy_of: FolderOf) -> None:
    folder = copy_of("gpt2")
    before = loading.trace(str(folder), ModelInput(SENTENCE))
    assert loading.load(str(folder)) is loading.load(str(folder))
    weights = load_file(folder / "model.safetensors")
    save_file(
        {name: 2 * weight for name, weight in weights.items()}, folder / "model.safetensors", {"format": "pt"}
    )
    after = loading.trace(str(folder), ModelInput(SENTENCE))
    assert not np.allclose(before.stack("decoder"), after.stack("decoder"))


def test_loaded_model_is_available_while_another_loads(opened: list[str]) -> None:
    model = loading.load("a")
    assert opened == ["a"]
    with loading.gate:
        found: list[Model] = []
        thread = threading.Thread(target=lambda: found.append(loading.load("a")))
        thread.start()
        thread.join(timeout=10)
        assert found == [model]


WITHOUT_A_MODEL = """
import sys
from attnviz.capture import loading, stored
print(*(token.text for token in loading.tokens("translator", "The dog was tired.")))
print(stored.find("minilm", next(iter(stored.FILES))).stack("encoder").shape)
print({"torch", "tokenizers", "transformers", "streamlit", "plotly"} & set(sys.modules))
"""


def test_translator_tokens_and_stored_traces_import_no_large_library() -> None:
    command = [sys.executable, "-W", "error", "-c", WITHOUT_A_MODEL]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("the dog was tired [END]\n(6, 12, 15, 15)\nset()\n", "")
    with pytest.raises(UnknownWords, match="xylophone"):
        loading.tokens("translator", "The xylophone was tired.")


def test_missing_weights_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = catalogue.Trained(tmp_path / "unguided.safetensors")
    entry = replace(catalogue.entry("translator-unguided"), origin=missing)
    monkeypatch.setitem(catalogue._ENTRIES, "translator-unguided", entry)
    monkeypatch.setattr(loading, "_models", type(loading._models)())
    with pytest.raises(ModelFilesDamaged, match="is missing or damaged") as caught:
        loading.load("translator-unguided")
    assert str(missing.file) in str(caught.value)


def test_load_translator_refuses_other_models() -> None:
    model = loading.load_translator("translator")
    assert model is loading.load("translator")
    assert model.tokens("The dog was tired.") == loading.tokens("translator", "The dog was tired.")
    with pytest.raises(ModelNotSupported, match="minilm is not a translation model"):
        loading.load_translator("minilm")
    with pytest.raises(UnknownModel):
        loading.load_translator("google")


CONCURRENT_FIRST_LOADS = """
import sys, threading
from attnviz.capture import loading
loading.tokens("minilm", "a dog")
assert not {"torch", "transformers"} & set(sys.modules), "tokens need no model"
start, found, names = threading.Barrier(6), [], ("minilm", "minilm-scratch", "translator")
def first(name):
    start.wait()
    found.append((name, loading.load(name)))
threads = [threading.Thread(target=first, args=(names[i % 3],)) for i in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(found) == 6, "a thread failed"
assert len({id(model) for _, model in found}) == 3, "each model must be loaded once"
"""


def test_threads_can_load_first_models_concurrently() -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", CONCURRENT_FIRST_LOADS],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
