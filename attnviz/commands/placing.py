"""Where a command writes: looked at before anything slow is done, so that nothing is lost, and no minute."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from attnviz.errors import AttnvizError


def check_place(out: Path, force: bool, ours: Callable[[Path], bool], what: str) -> None:
    """Whether a file may be written there: one of the same sort may be replaced, and no other.

    Args:
        out: the file to write.
        force: replace whatever lies there.
        ours: tells whether an existing file is of the same sort.
        what: that sort, as a person calls it: "trace of this attnviz".

    Raises:
        AttnvizError: there is no such folder, or something else lies there that would be lost.
    """
    if not out.parent.is_dir():
        raise AttnvizError(f"There is no folder {out.parent}. Make it first, or choose another --out.")
    if out.is_dir():
        raise AttnvizError(f"{out} is a folder. Choose the name of a file for --out.")
    if out.exists() and not force and not ours(out):
        raise AttnvizError(
            f"{out} is there already and is no {what}. Choose another --out, or say --force to write over it."
        )
