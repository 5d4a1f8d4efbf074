"""Replace files atomically."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_file(file: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `file` when the block succeeds; otherwise `file` is unchanged.

    Each call has its own temporary file, so concurrent writers and readers do not interfere. Special files,
    such as pipes, cannot be replaced and are written directly.

    Raises:
        OSError: the file cannot be written; its `filename` is `file`.
    """
    target = file.resolve()  # a symbolic link is kept, and its target is replaced
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as opened:
                yield opened
            return
        # `tempfile.mkstemp` would make the file readable only by its owner; "x" respects the umask.
        temporary = target.with_name(f".attnviz-{secrets.token_hex(8)}.tmp")
        try:
            with temporary.open("xb") as opened:
                yield opened
                opened.flush()
                os.fsync(opened.fileno())
            with suppress(FileNotFoundError):  # a new file has no mode to copy
                shutil.copymode(target, temporary)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        error.filename = str(file)
        raise
