"""What was found over a text, as a file: an NPZ archive that numpy opens anywhere, and that runs nothing.

Inside lie `header` (JSON as bytes: what was read with what, and which lines were not) and the sums of a
`Tally`, each under its name. A file of unfinished work is of the same kind: its header says which parts are
counted, and which lines of the others.
"""

from __future__ import annotations

import io
import json
import struct
import tokenize
import zipfile
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attnviz.analysis.tally import NAMES, Tally
from attnviz.atomic_file import atomic_file
from attnviz.errors import AttnvizError, quoted
from attnviz.experiments.behaviour import PART, BehaviourFindings, Skipped

# What numpy, zipfile and json say of bytes that they cannot read; their words help nobody here.
_DAMAGED = (
    *(ValueError, KeyError, TypeError, AttributeError, EOFError, OverflowError, MemoryError, RuntimeError),
    *(struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)

FORMAT = "attnviz heads"
VERSION = 3
_FORMER_NAMES = {"relative distance": "far away"}


@dataclass(frozen=True)
class RunKey:
    """What is computed: two of the same give the same figures.

    Attributes:
        model: the model's name.
        files: short, and another one as soon as the model's files are others.
        text: the `key` of the corpus.
        lines: how many it has.
        layers, heads: of the model.
    """

    model: str
    files: str
    text: str
    lines: int
    layers: int
    heads: int


def write(file: Path, key: RunKey, found: BehaviourFindings) -> None:
    """Write what was found; whoever is interrupted while writing leaves what was there before.

    Args:
        file: a path, taken as it is.
        found: as far as it came. Sums of further measures are not written.

    Raises:
        OSError: the file cannot be written.
    """
    header = {
        "format": FORMAT,
        "version": VERSION,
        "job": asdict(key),
        "part": PART,
        "rules": NAMES,
        "empty": found.empty,
        "skipped": found.skipped,
        "named": [asdict(skipped) for skipped in found.named],
        "parts": sorted(found.parts),
        "single": sorted(found.single),
    }
    arrays: dict[str, Any] = found.tally.arrays()
    arrays["header"] = np.frombuffer(json.dumps(header).encode("ascii"), dtype=np.uint8)
    with atomic_file(file) as opened:
        np.savez_compressed(opened, **arrays)


def read(file: Path) -> tuple[RunKey, BehaviourFindings]:
    """Read what `write` wrote, in this version or in version 2, whose shares of all attention are nan.

    Nothing in the file is run.

    Raises:
        AttnvizError: it is no such file, of another version, or damaged.
        OSError: it cannot be opened.
    """
    content = io.BytesIO(file.read_bytes())  # whatever fails from here on is no fault of the disk
    try:
        with np.load(content, allow_pickle=False) as archive:
            header = json.loads(archive["header"].tobytes())
            _check(header, file.name)
            key = RunKey(**header["job"])
            arrays = dict(archive)
            if header["version"] < VERSION:  # it counted no shares of all attention
                for lacking, like in (("raw", "total"), ("raw_even", "even")):
                    arrays[lacking] = np.full_like(arrays[like], np.nan)
            return key, _found(header, Tally.from_arrays(arrays, key.layers, key.heads))
    except AttnvizError:
        raise
    except _DAMAGED as error:
        raise AttnvizError(
            f"{quoted(file.name)} does not hold what heads do, or it is damaged. Choose another file, or "
            "delete this one if it is a damaged one of attnviz heads."
        ) from error


def _check(header: dict[str, Any], name: str) -> None:
    """Whether this version wrote the file."""
    if header["format"] != FORMAT:
        raise ValueError(header["format"])
    names = tuple(_FORMER_NAMES.get(name, name) for name in header["rules"])
    if header["version"] not in (2, VERSION) or (header["part"], names) != (PART, NAMES):
        raise AttnvizError(
            f"{quoted(name)} was written by another version of attnviz. Delete it, or choose another file."
        )


def _found(header: dict[str, Any], tally: Tally) -> BehaviourFindings:
    return BehaviourFindings(
        tally=tally,
        empty=int(header["empty"]),
        skipped=int(header["skipped"]),
        named=tuple(Skipped(int(each["line"]), str(each["why"])) for each in header["named"]),
        parts=frozenset(map(int, header["parts"])),
        single=frozenset(map(int, header["single"])),
    )
