"""Writing a file whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_file(file: Path) -> Iterator[BinaryIO]:
    """Opens what takes the place of a file when the block ends well; else what was there before stays.

    What is no ordinary file, such as a pipe, cannot be replaced, and gets what is written as it comes.

    Raises:
        OSError: it cannot be written; the error says which file, a full disk's too.
    """
    place = file.resolve()  # a link stays a link, to what is new
    beside = place.with_name(f".{place.name}.new")
    try:
        if place.exists() and not place.is_file():
            with place.open("wb") as opened:
                yield opened
        else:
            with beside.open("wb") as opened:
                yield opened
            beside.replace(place)
    except OSError as error:
        error.filename = str(file)
        raise
    finally:
        beside.unlink(missing_ok=True)
