"""Tokenizers of somebody else's files, in a process with limits."""

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
from tests.models.tokenizers_of import KindOfTokenizer, saved

TEXTS = ("The dog did not cross.", " café\u0301 😀 ﷺ", "<mask> </s> [MASK]", "日本 dog\n\tשלום")
X10_000 = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 10_000}
PREPEND = {"type": "Prepend", "prepend": "a" * 10_000}
ADDED = {"id": 2, "content": "a", "normalized": True, "special": False} | dict.fromkeys(
    ("single_word", "lstrip", "rstrip"), False
)


def changed(tmp_path: Path, **parts: Any) -> Path:
    """A folder whose tokenizer.json has these parts."""
    file = tmp_path / "tokenizer.json"
    rust.Tokenizer(rust.models.WordLevel({"a": 0, "[UNK]": 1}, "[UNK]")).save(str(file))
    file.write_text(json.dumps(json.loads(file.read_text()) | parts))
    return tmp_path


def sequence(*normalizers: object) -> dict[str, object]:
    return {"type": "Sequence", "normalizers": normalizers}


def process_of(reads: TextTokenizer) -> Any:
    assert isinstance(reads._tokenizer, RemoteTokenizer)
    return reads._tokenizer.client._process


@pytest.mark.parametrize("kind", get_args(KindOfTokenizer))
def test_the_process_answers_as_the_library_does(kind: KindOfTokenizer, tmp_path: Path) -> None:
    saved(kind, tmp_path)
    (tmp_path / "config.json").write_text('{"type_vocab_size": 1}')
    inside, outside = in_folder(tmp_path, 128), guarded_in_folder(tmp_path, 128)
    assert outside.mask == inside.mask
    for text in TEXTS:
        for second in (None, "a dog"):
            assert outside.tokenized(text, second) == inside.tokenized(text, second)
    ids = [token.id for token in inside.tokens(TEXTS[0])]
    assert outside.of_ids(ids) == inside.of_ids(ids)
    assert [outside.readable(number) for number in ids] == [inside.readable(number) for number in ids]
    with pytest.raises(TextTooLong) as caught:
        outside.tokens("dog " * 1_000)
    with pytest.raises(TextTooLong) as expected:
        inside.tokens("dog " * 1_000)
    assert caught.value.tokens == expected.value.tokens
    with pytest.raises(EmptyText):
        outside.tokens(" ")


def test_a_normalizer_that_expands_a_letter_ends_with_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    normalizer = sequence(PREPEND, X10_000, X10_000)
    reads = guarded_in_folder(changed(tmp_path, normalizer=normalizer), 512)
    first = process_of(reads)
    monkeypatch.setattr(tokenizer_client, "TIMEOUT_SECONDS", 1.0)
    with pytest.raises(UnreadableText, match="time or memory"):
        reads.tokens("a")
    assert first.poll() is not None
    monkeypatch.undo()
    assert reads.spelled(0) == "a"  # in a new process
    assert process_of(reads).pid != first.pid


def test_expansion_when_the_file_is_opened_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokenizer_client, "TIMEOUT_SECONDS", 1.0)
    files = changed(tmp_path, normalizer=sequence(X10_000, X10_000, X10_000), added_tokens=[ADDED])
    with pytest.raises(ModelFilesDamaged, match="time or memory"):
        guarded_in_folder(files, 512)


def test_a_pattern_that_backtracks_without_end_is_refused(tmp_path: Path) -> None:
    split = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Removed", "invert": False}
    reads = guarded_in_folder(changed(tmp_path, pre_tokenizer=split), 512)
    with pytest.raises(UnreadableText):
        reads.tokens("a" * 5_000 + "b")
    assert reads.tokens("b")


@pytest.mark.parametrize("content", ["", "{}", "[1, 2", "[" * 100_000, '{"model": {"type": "Unknown"}}'])
def test_a_damaged_file_is_refused_as_in_this_process(content: str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(ModelFilesDamaged, match=r"tokenizer\.json is damaged"):
        guarded_in_folder(tmp_path, 512)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such limits")
def test_the_process_has_limits_and_ends_first_when_memory_is_short(tmp_path: Path) -> None:
    reads = guarded_in_folder(saved("bytes", tmp_path), 512)
    reads.tokens("a dog")
    process = Path("/proc", str(process_of(reads).pid))
    assert (process / "oom_score_adj").read_text().strip() == "1000"
    limits = {
        line[:25].strip(): line[26:].split()[0] for line in (process / "limits").read_text().splitlines()
    }
    pages = int((process / "statm").read_text().split()[0])
    assert pages * resource.getpagesize() < int(limits["Max address space"])
    assert int(limits["Max address space"]) < pages * resource.getpagesize() + 2.1e9
    assert 0 < int(limits["Max cpu time"]) < 60


def test_the_process_ends_with_its_tokenizer(tmp_path: Path) -> None:
    reads = guarded_in_folder(saved("bytes", tmp_path), 512)
    process = process_of(reads)
    assert process.poll() is None
    del reads
    gc.collect()
    assert process.poll() is not None


def test_a_process_that_was_killed_is_replaced(tmp_path: Path) -> None:
    reads = guarded_in_folder(saved("bytes", tmp_path), 512)
    before = reads.tokens("a dog")
    process = process_of(reads)
    process.kill()
    process.wait()
    with pytest.raises(UnreadableText):
        reads.tokens("a dog")
    assert reads.tokens("a dog") == before


def test_only_models_that_come_with_attnviz_are_read_in_this_process(copy_of: FolderOf) -> None:
    entry = folder.entry(copy_of("bert"), "mine")
    assert isinstance(tokenizer_of(entry)._tokenizer, RemoteTokenizer)
    assert isinstance(tokenizer_of(catalogue.entry("minilm"))._tokenizer, rust.Tokenizer)


def test_a_client_keeps_no_process_of_a_folder_without_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(AttnvizError):
        Client(tmp_path, 512)
