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


NAMES_BY_KIND: dict[resolve.KindOfName, list[str]] = {
    "catalogue": ["minilm", "translator-unguided"],
    "folder": ["./minilm", ".", "~/models/bert", "/models/bert", "models/mine/bert", "bert/", "models\\bert"],
    "id": ["owner/name", "owner/name@v1"],
    "unknown": [
        *("bert", "", "https://somewhere/owner/name", "file:///srv/models/bert", "a b", "bert\0", "./bert\0"),
        *("./\ud800", "./" + "x" * 10_000),
    ],
}


@pytest.mark.parametrize("kind", NAMES_BY_KIND)
def test_kinds_of_names(kind: resolve.KindOfName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert {name: resolve.kind_of_name(name) for name in NAMES_BY_KIND[kind]} == dict.fromkeys(
        NAMES_BY_KIND[kind], kind
    )


def test_folder_is_found_by_its_name(
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
    assert resolve.entry("minilm") is catalogue.entry("minilm"), "names in the catalogue take precedence"
    assert resolve.entry("./minilm").family == "gpt2"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gpt2", "openai-community/gpt2"),
        ("nothing", "minilm, minilm-scratch, translator"),
        ("https://huggingface.co/owner/name/", "Did you mean owner/name?"),
        ("file:///etc/passwd", "is a URL"),
        ("./none", "There is no folder"),
        ("x" * 100_000, "…”"),
        ("\ud800", "“?”"),
    ],
)
def test_error_of_an_unknown_name_has_a_suggestion(name: str, words: str) -> None:
    with pytest.raises(UnknownModel) as caught:
        resolve.entry(name)
    message = str(caught.value)
    assert words in message
    assert ("Did you mean" in message) == name.startswith("https:")
    assert len(message) < 500
    assert message.encode()


@pytest.fixture
def fake_hub(folder_of: FolderOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """A hub with a tiny BERT."""
    with serving(folders={"some/tiny": folder_of("bert")}) as hub_server:
        go_online(hub_server, tmp_path / "cache", monkeypatch)
        monkeypatch.setattr(loading, "_models", type(loading._models)())
        yield hub_server


def test_folder_and_id_load_the_same_model(fake_hub: FakeHub, folder_of: FolderOf) -> None:
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
    assert fake_hub.files().count("model.safetensors") == 3, "one header for each id, and one file for both"


@pytest.mark.usefixtures("fake_hub")
def test_opening_a_model_reports_progress_and_lists_it() -> None:
    progress: list[tuple[str, float]] = []
    entry = loading.open_model("some/tiny", lambda step, done: progress.append((step, done)))
    assert isinstance(entry.origin, Downloaded)
    assert allowed.names() == (*catalogue.names(), "some/tiny")
    assert loading.is_loaded("some/tiny")
    assert progress[0] == ("Inspecting the model", 0.0)
    assert progress[-1] == ("Ready", 1.0)
    assert [done for _, done in progress] == sorted(done for _, done in progress)
    assert any(re.fullmatch(r"Downloading 0\.\d of 0\.\d MB", step) for step, _ in progress)


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
def test_settings_are_appended_to_a_name(
    name: str, dtype: object, device: object, expected: str, target: tuple[str, str, str]
) -> None:
    assert resolve.with_settings(name, dtype, device) == expected
    assert resolve.target(expected) == target


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("a/b#bfloat16", {"dtype": "float16"}, "dtype is float16"),
        ("a/b#cuda:1", {"device": "cuda"}, "device is cuda"),
        ("a/b", {"dtype": "int8"}, "dtype must be"),
        ("a/b", {"device": "meta"}, "device must be"),
    ],
)
def test_invalid_settings_are_refused(name: str, settings: dict[str, str], message: str) -> None:
    with pytest.raises(AttnvizError, match=message):
        resolve.with_settings(name, **settings)


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
def test_pasted_links_are_converted_to_names(text: str, name: str) -> None:
    assert resolve.clean_name(text) == name
