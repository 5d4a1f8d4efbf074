"""Indexes that the operator has made with `attnviz index`, for visitors to search."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from attnviz.experiments import text_index
from attnviz.experiments.text_index import TextIndex

SETTING = "ATTNVIZ_INDEXES"
"""The environment variable with the folder in which they lie; unset: there are none."""

_MOST_OPEN = 8  # memory maps: what is open takes the memory of its lines


def names() -> tuple[str, ...]:
    """What the operator's indexes are called: as their folders are."""
    return tuple(sorted(header.parent.name for header in _folder().glob(f"*/{text_index.HEADER}")))


def opened(name: str) -> TextIndex:
    """One of `names`, as memory maps; opened anew where more of its text has been read since.

    Raises:
        AttnvizError: it is damaged, or of another version.
    """
    folder = _folder() / name
    return _opened(folder, (folder / text_index.HEADER).stat().st_mtime_ns)


def _folder() -> Path:
    # Unset, it is a folder that has nothing in it.
    return Path(os.environ.get(SETTING) or os.devnull).expanduser()


@lru_cache(maxsize=_MOST_OPEN)
def _opened(folder: Path, _changed: int) -> TextIndex:
    return text_index.opened(folder)
