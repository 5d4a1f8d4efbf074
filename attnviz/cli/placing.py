"""Where a command writes: looked at before anything slow is done, so that nothing is lost, and no minute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from attnviz.errors import AttnvizError


def check_place(
    out: Path,
    force: bool,
    ours: Callable[[Path], bool],
    what: str,
    *suffixes: str,
    inputs: Sequence[Path] = (),
) -> None:
    """Whether a file may be written there: one of the same sort may be replaced, and no other.

    Args:
        out: the file to write.
        force: replace whatever lies there, and call it whatever is asked.
        ours: tells whether an existing file is of the same sort.
        what: that sort, as a person calls it: "trace of this attnviz".
        suffixes: how such a file's name ends, if it has an ending; or that of another sort of the command.
        inputs: what the command reads. It is never written over, not even by force.

    Raises:
        AttnvizError: there is no such folder, the name ends like one of another sort, or something else lies
            there that would be lost.
    """
    if any(out.exists() and each.exists() and out.samefile(each) for each in inputs):
        raise AttnvizError(
            f"{out} is what is read here, and it would be lost. Choose another file for --out."
        )
    if str(out) == "-":
        raise AttnvizError(f"--out needs the name of a file, such as attention{suffixes[0]}.")
    if out.suffix.lower() not in ("", *suffixes) and not force:
        better = " or ".join(str(out.with_suffix(suffix)) for suffix in suffixes)
        raise AttnvizError(
            f"{out} would be a {what}, whose name ends in {' or '.join(suffixes)}. Choose {better}, or say "
            "--force."
        )
    if not out.parent.is_dir():
        raise AttnvizError(f"There is no folder {out.parent}. Make it first, or choose another --out.")
    if out.is_dir():
        raise AttnvizError(f"{out} is a folder. Choose the name of a file for --out.")
    if out.exists() and not force and not ours(out):
        raise AttnvizError(
            f"{out} is there already and is no {what}. Choose another --out, or say --force to write over it."
        )


def written(out: Path) -> str:
    """The line that says what was written, and how much it is."""
    return f"Written: {out} ({in_units(out.stat().st_size)})\n"


def in_units(size: int) -> str:
    """A number of bytes as a person reads it: 700 bytes, 12 kB, 3.4 MB."""
    if size < 1_000:
        return f"{size} bytes"
    return f"{size / 1e3:,.0f} kB" if size < 999_500 else f"{size / 1e6:,.1f} MB"
