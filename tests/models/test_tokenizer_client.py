"""Tokenizers from untrusted files, in a process with limits."""

import gc
import json
import resource
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
import tokenizers as rust

from attnviz.errors import AttnvizError, EmptyText, ModelFilesDamaged, TextTooLong, UnreadableText
from attnviz.models import catalogue, folder, tokenizer_client
from attnviz.models.tokenizer import TextTokenizer, guarded_in_folder, in_folder, tokenizer_of
from attnviz.models.tokenizer_client import Client, RemoteTokenizer
from tests.capture.tiny import FolderOf
from tests.models.small_tokenizers import TokenizerKind, saved

TEXTS = ("The dog did not cross.", " café\u0301 😀 ﷺ", "<mask> </s> [MASK]", "日本 dog\n\tשלום")
X10_000 = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 10_000}
PREPEND = {"type": "Prepend", "prepend": "a" * 10_000}
ADDED = {"id": 2, "content": "a", "normalized": True, "special": False} | dict.fromkeys(
    ("single_word", "lstrip", "rstrip"), False
)


def with_parts(tmp_path: Path, **parts: Any) -> Path:
    """Write a tokenizer.json with these parts; return its folder."""
    file = tmp_path / "tokenizer.json"
    rust.Tokenizer(rust.models.WordLevel({"a": 0, "[UNK]": 1}, "[UNK]")).save(str(file))
    file.write_text(json.dumps(json.loads(file.read_text()) | parts))
    return tmp_path


def sequence(*normalizers: object) -> dict[str, object]:
    return {"type": "Sequence", "normalizers": normalizers}


def process_of(tokenizer: TextTokenizer) -> Any:
    assert isinstance(tokenizer._tokenizer, RemoteTokenizer)
    return tokenizer._tokenizer.client._process


@pytest.mark.parametrize("kind", get_args(TokenizerKind))
def test_process_gives_the_same_results_as_the_library(kind: TokenizerKind, tmp_path: Path) -> None:
    saved(kind, tmp_path)
    (tmp_path / "config.json").write_text('{"type_vocab_size": 1}')
    local, remote = in_folder(tmp_path, 128), guarded_in_folder(tmp_path, 128)
    assert remote.mask == local.mask
    for text in TEXTS:
        for second in (None, "a dog"):
            assert remote.tokenized(text, second) == local.tokenized(text, second)
    ids = [token.id for token in local.tokens(TEXTS[0])]
    assert remote.tokens_of_ids(ids) == local.tokens_of_ids(ids)
    assert [remote.readable(number) for number in ids] == [local.readable(number) for number in ids]
    with pytest.raises(TextTooLong) as caught:
        remote.tokens("dog " * 1_000)
    with pytest.raises(TextTooLong) as expected:
        local.tokens("dog " * 1_000)
    assert caught.value.tokens == expected.value.tokens
    with pytest.raises(EmptyText):
        remote.tokens(" ")


def test_expanding_normalizer_ends_only_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    normalizer = sequence(PREPEND, X10_000, X10_000)
    tokenizer = guarded_in_folder(with_parts(tmp_path, normalizer=normalizer), 512)
    first = process_of(tokenizer)
    monkeypatch.setattr(tokenizer_client, "TIMEOUT_SECONDS", 1.0)
    with pytest.raises(UnreadableText, match="time or memory"):
        tokenizer.tokens("a")
    assert first.poll() is not None
    monkeypatch.undo()
    assert tokenizer.spelled(0) == "a"  # in a new process
    assert process_of(tokenizer).pid != first.pid


def test_file_that_expands_on_loading_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer_client, "TIMEOUT_SECONDS", 1.0)
    files = with_parts(tmp_path, normalizer=sequence(X10_000, X10_000, X10_000), added_tokens=[ADDED])
    with pytest.raises(ModelFilesDamaged, match="time or memory"):
        guarded_in_folder(files, 512)


def test_catastrophic_backtracking_is_refused(tmp_path: Path) -> None:
    split = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Removed", "invert": False}
    tokenizer = guarded_in_folder(with_parts(tmp_path, pre_tokenizer=split), 512)
    with pytest.raises(UnreadableText):
        tokenizer.tokens("a" * 5_000 + "b")
    assert tokenizer.tokens("b")


@pytest.mark.parametrize("content", ["", "{}", "[1, 2", "[" * 100_000, '{"model": {"type": "Unknown"}}'])
def test_damaged_file_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(ModelFilesDamaged, match=r"tokenizer\.json is damaged"):
        guarded_in_folder(tmp_path, 512)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such limits")
def test_process_has_memory_and_cpu_limits(tmp_path: Path) -> None:
    tokenizer = guarded_in_folder(saved("bytes", tmp_path), 512)
    tokenizer.tokens("a dog")
    process = Path("/proc", str(process_of(tokenizer).pid))
    assert (process / "oom_score_adj").read_text().strip() == "1000"
    limits = {
        line[:25].strip(): line[26:].split()[0] for line in (process / "limits").read_text().splitlines()
    }
    pages = int((process / "statm").read_text().split()[0])
    assert pages * resource.getpagesize() < int(limits["Max address space"])
    assert int(limits["Max address space"]) < pages * resource.getpagesize() + 2.1e9
    assert 0 < int(limits["Max cpu time"]) < 60


def test_process_ends_with_its_tokenizer(tmp_path: Path) -> None:
    tokenizer = guarded_in_folder(saved("bytes", tmp_path), 512)
    process = process_of(tokenizer)
    assert process.poll() is None
    del tokenizer
    gc.collect()
    assert process.poll() is not None


def test_killed_process_is_replaced(tmp_path: Path) -> None:
    tokenizer = guarded_in_folder(saved("bytes", tmp_path), 512)
    before = tokenizer.tokens("a dog")
    process = process_of(tokenizer)
    process.kill()
    process.wait()
    with pytest.raises(UnreadableText):
        tokenizer.tokens("a dog")
    assert tokenizer.tokens("a dog") == before


def test_only_bundled_tokenizers_run_in_the_main_process(copy_of: FolderOf) -> None:
    entry = folder.entry(copy_of("bert"), "mine")
    assert isinstance(tokenizer_of(entry)._tokenizer, RemoteTokenizer)
    assert isinstance(tokenizer_of(catalogue.entry("minilm"))._tokenizer, rust.Tokenizer)


def test_folder_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AttnvizError):
        Client(tmp_path, 512)
