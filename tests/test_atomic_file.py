"""Files that are written completely or not at all."""

import errno
from pathlib import Path

import pytest

from attnviz.atomic_file import atomic_file


def file_names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def write_and_interrupt(file: Path) -> None:
    with atomic_file(file) as opened:
        opened.write(b"half")
        raise KeyboardInterrupt


def test_the_old_content_remains_until_the_new_is_complete(tmp_path: Path) -> None:
    file = tmp_path / "table"
    file.write_bytes(b"before")
    with atomic_file(file) as opened:
        opened.write(b"after")
        opened.flush()
        assert file.read_bytes() == b"before"
    assert file.read_bytes() == b"after"
    with pytest.raises(KeyboardInterrupt):
        write_and_interrupt(file)
    assert file.read_bytes() == b"after"
    assert file_names(tmp_path) == ["table"]


def test_the_error_of_a_full_disk_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left") as refused, atomic_file(tmp_path / "table"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert refused.value.filename == str(tmp_path / "table")
    assert file_names(tmp_path) == []


def test_a_symbolic_link_is_kept(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("table")
    with atomic_file(link) as opened:
        opened.write(b"new")
    assert link.is_symlink()
    assert (tmp_path / "table").read_bytes() == b"new"


def test_two_writers_do_not_mix_their_content(tmp_path: Path) -> None:
    file = tmp_path / "table"
    with atomic_file(file) as one, atomic_file(file) as other:
        one.write(b"one")
        other.write(b"other")
    assert file.read_bytes() == b"one"  # the last writer to finish
    assert file_names(tmp_path) == ["table"]


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "table"
    file.write_bytes(b"before")
    file.chmod(0o640)
    with atomic_file(file) as opened:
        opened.write(b"after")
    assert file.stat().st_mode & 0o777 == 0o640
