import re
import shutil
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest
import torch

import attnviz
from attnviz.capture import loading
from attnviz.errors import AttnvizError, UnknownModel
from attnviz.models import allowed, catalogue, resolve
from attnviz.models.catalogue import Downloaded
from tests.capture.tiny import SENTENCE, FolderOf
from tests.models.fake_hub import FakeHub, go_online, serving

facts = attrgetter(
    *("family", "layers", "heads", "d_model", "d_head", "token_limit", "parameters", "pairs", "expects")
)


MEANT: dict[resolve.KindOfName, list[str]] = {
    "catalogue": ["minilm", "translator-unguided"],
    "folder": ["./minilm", ".", "~/models/bert", "/models/bert", "models/mine/bert", "bert/", "models\\bert"],
    "id": ["owner/name", "owner/name@v1"],
    "unknown": [
        *("bert", "", "https://somewhere/owner/name", "file:///srv/models/bert", "a b", "bert\0", "./bert\0"),
        *("./\ud800", "./" + "x" * 10_000),
    ],
}


@pytest.mark.parametrize("kind", MEANT)
def test_what_a_name_means(kind: resolve.KindOfName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert {name: resolve.kind_of_name(name) for name in MEANT[kind]} == dict.fromkeys(MEANT[kind], kind)


def test_a_folder_that_is_there_is_found_by_its_plain_name(
    folder_of: FolderOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(folder_of("bert"), tmp_path / "my-bert")
    shutil.copytree(folder_of("gpt2"), tmp_path / "minilm")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    names = ("my-bert", "./my-bert", "~/my-bert", str(tmp_path / "my-bert"), f"../{tmp_path.name}/my-bert")
    entries = [resolve.entry(name) for name in names]
    assert [entry.name for entry in entries] == list(names)
    assert {entry.title for entry in entries} == {"my-bert"}
    assert {entry.parameters for entry in entries} == {entries[0].parameters}
    assert resolve.entry("minilm") is catalogue.entry("minilm"), "the catalogue's names come first"
    assert resolve.entry("./minilm").family == "gpt2"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gpt2", "openai-community/gpt2"),
        ("nothing", "minilm, minilm-scratch, translator"),
        ("https://huggingface.co/owner/name/", "Perhaps owner/name?"),
        ("file:///etc/passwd", "is a URL"),
        ("./none", "There is no folder"),
        ("x" * 100_000, "…”"),
        ("\ud800", "“?”"),
    ],
)
def test_an_unknown_name_is_answered_with_what_helps(name: str, words: str) -> None:
    with pytest.raises(UnknownModel) as caught:
        resolve.entry(name)
    message = str(caught.value)
    assert words in message
    assert ("Perhaps" in message) == name.startswith("https:")
    assert len(message) < 500
    assert message.encode()


@pytest.fixture
def there(folder_of: FolderOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """A hub with a tiny BERT."""
    with serving(folders={"some/tiny": folder_of("bert")}) as running:
        go_online(running, tmp_path / "cache", monkeypatch)
        monkeypatch.setattr(loading, "_models", type(loading._models)())
        yield running


def test_one_model_is_the_same_by_folder_and_id(there: FakeHub, folder_of: FolderOf) -> None:
    names = (str(folder_of("bert")), "some/tiny", "some/tiny@v1")
    entries = [resolve.entry(name) for name in names]
    assert len(set(map(facts, entries))) == 1
    traces = [attnviz.trace(SENTENCE, model=name) for name in names]
    for trace, name in zip(traces, names, strict=True):
        assert trace.model == name
        for block, first in zip(trace.blocks, traces[0].blocks, strict=True):
            assert (block.kind, block.layer) == (first.kind, first.layer)
            assert block.query_tokens == first.query_tokens
            for field in ("query", "key", "value", "scores", "mask", "weights", "output", "projection"):
                assert np.array_equal(getattr(block, field), getattr(first, field)), field
    assert isinstance(resolve.entry("some/tiny").origin, Downloaded)
    assert there.files().count("model.safetensors") == 3, "two headers, and one file for both"


@pytest.mark.usefixtures("there")
def test_opening_lists_a_model_with_its_way_told() -> None:
    told: list[tuple[str, float]] = []
    entry = loading.open_model("some/tiny", lambda doing, done: told.append((doing, done)))
    assert isinstance(entry.origin, Downloaded)
    assert allowed.names() == (*catalogue.names(), "some/tiny")
    assert loading.is_loaded("some/tiny")
    assert told[0] == ("Inspecting the model", 0.0)
    assert told[-1] == ("Ready", 1.0)
    assert [done for _, done in told] == sorted(done for _, done in told)
    assert any(re.fullmatch(r"Downloading 0\.\d of 0\.\d MB", doing) for doing, _ in told)


@pytest.mark.parametrize(
    ("name", "dtype", "device", "expected", "target"),
    [
        ("minilm", None, None, "minilm", ("minilm", "float32", "cpu")),
        ("a/b#float32", None, None, "a/b#float32", ("a/b", "float32", "cpu")),
        ("minilm", "float32", "cpu", "minilm", ("minilm", "float32", "cpu")),
        ("a/b", "bfloat16", None, "a/b#bfloat16", ("a/b", "bfloat16", "cpu")),
        ("a/b@v1", None, "cuda:1", "a/b@v1#cuda:1", ("a/b@v1", "float32", "cuda:1")),
        ("a/b#cuda", "float16", "cuda", "a/b#float16#cuda", ("a/b", "float16", "cuda")),
        ("a/b#mps#bfloat16", "bfloat16", None, "a/b#bfloat16#mps", ("a/b", "bfloat16", "mps")),
        ("a/b", torch.float16, torch.device("xpu", 3), "a/b#float16#xpu:3", ("a/b", "float16", "xpu:3")),
    ],
)
def test_settings_stand_behind_a_name(
    name: str, dtype: object, device: object, expected: str, target: tuple[str, str, str]
) -> None:
    assert resolve.with_settings(name, dtype, device) == expected
    assert resolve.target(expected) == target


@pytest.mark.parametrize(
    ("name", "asked", "said"),
    [
        ("a/b#bfloat16", {"dtype": "float16"}, "dtype is float16"),
        ("a/b#cuda:1", {"device": "cuda"}, "device is cuda"),
        ("a/b", {"dtype": "int8"}, "dtype must be"),
        ("a/b", {"device": "meta"}, "device must be"),
    ],
)
def test_settings_that_there_are_not_or_that_contradict_the_name(
    name: str, asked: dict[str, str], said: str
) -> None:
    with pytest.raises(AttnvizError, match=said):
        resolve.with_settings(name, **asked)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (" owner/name \n", "owner/name"),
        ("https://huggingface.co/owner/name", "owner/name"),
        ("huggingface.co/owner/name/tree/main", "owner/name"),
        ("https://huggingface.co/owner/name/tree/v1.0?not-for-all-audiences=true", "owner/name@v1.0"),
        ("HTTPS://hf.co/owner/na.me-2", "owner/na.me-2"),
        ("https://example.org/owner/name", "https://example.org/owner/name"),
        ('"C:\\models\\bert"', "C:\\models\\bert"),
        ("“./bert”", "./bert"),
    ],
)
def test_what_people_paste_is_the_name_they_mean(text: str, name: str) -> None:
    assert resolve.pasted(text) == name
