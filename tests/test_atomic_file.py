"""A file that is written whole or not at all."""

import errno
import os
from pathlib import Path

import pytest

from attnviz.atomic_file import atomic_file


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def interrupted(file: Path) -> None:
    with atomic_file(file) as opened:
        opened.write(b"half")
        raise KeyboardInterrupt


def test_what_was_there_stays_until_all_is_written(tmp_path: Path) -> None:
    file = tmp_path / "table"
    file.write_bytes(b"before")
    with atomic_file(file) as opened:
        opened.write(b"after")
        opened.flush()
        assert file.read_bytes() == b"before"
    assert file.read_bytes() == b"after"
    with pytest.raises(KeyboardInterrupt):
        interrupted(file)
    assert file.read_bytes() == b"after"
    assert names(tmp_path) == ["table"]


def test_a_full_disk_says_for_which_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left") as refused, atomic_file(tmp_path / "table"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert refused.value.filename == str(tmp_path / "table")
    assert names(tmp_path) == []


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("table")
    with atomic_file(link) as opened:
        opened.write(b"new")
    assert link.is_symlink()
    assert (tmp_path / "table").read_bytes() == b"new"


def test_a_pipe_is_written_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with atomic_file(pipe) as opened:
            opened.write(b"new")
        assert os.read(reading, 9) == b"new"
    finally:
        os.close(reading)
    assert pipe.is_fifo()
