"""The verdicts on a model's heads as a file of JSON, and those on the bundled BERT, which lie beside this."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import cache
from math import isnan
from pathlib import Path
from typing import Any

from attnviz.analysis.rules import Special
from attnviz.analysis.tally import NAMES, RULES
from attnviz.atomic_file import atomic_file
from attnviz.errors import AttnvizError, quoted
from attnviz.experiments.verdicts import HeadVerdicts, Part, Removed, Verdict
from attnviz.models.catalogue import Entry

BUNDLED = Path(__file__).with_name("verdicts.json")

COMMAND = "python -m attnviz verdicts"

_FORMAT = "attnviz verdicts 2"
_DIGITS = 4
_DAMAGED = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


def write(file: Path, entry: Entry, found: HeadVerdicts) -> None:
    """Write the verdicts on a model; what stood there stays if that fails.

    Raises:
        OSError: the file cannot be written.
    """
    heads = [
        {**asdict(replace(verdict, label=None)), "label": verdict.label.name if verdict.label else None}
        for verdict in found.heads
    ]
    about = {"format": _FORMAT, "model": entry.name, "files": entry.files_digest}
    content = {**about, "special": asdict(found.special), "per_layer": found.per_layer, "heads": heads}
    with atomic_file(file) as opened:
        opened.write(f"{json.dumps(_rounded(content), allow_nan=False)}\n".encode("ascii"))


def read(file: Path) -> tuple[str, HeadVerdicts]:
    """Read what `write` wrote: the digest of the model's files, and the verdicts on its heads.

    Raises:
        AttnvizError: it is no such file, or damaged.
        OSError: it cannot be opened.
    """
    content = file.read_bytes()
    try:
        held: Any = json.loads(content)
        if held["format"] != _FORMAT:
            raise ValueError(held["format"])
        special = Special(held["special"]["first"], tuple(held["special"]["separators"]))
        heads = tuple(map(_verdict, held["heads"]))
        return str(held["files"]), HeadVerdicts(special, heads, int(held["per_layer"]))
    except _DAMAGED as error:
        raise AttnvizError(
            f"{quoted(file.name)} does not hold verdicts on heads, or it is damaged. Choose another file."
        ) from error


def stored(entry: Entry) -> HeadVerdicts | None:
    """The verdicts that come with attnviz, if they are on the heads of this very model."""
    files, found = _bundled()
    return found if files == entry.files_digest else None


@cache
def _bundled() -> tuple[str, HeadVerdicts]:
    return read(BUNDLED)


def _verdict(held: dict[str, Any]) -> Verdict:
    label = None if held["label"] is None else RULES[NAMES.index(held["label"])]
    numbers = {
        name: float("nan") if held[name] is None else held[name] for name in ("score", "raw", "effect")
    }
    ways = {name: _removed(held[name]) for name in ("silenced", "averaged")}
    return Verdict(**{**held, **numbers, **ways, "label": label})


def _removed(held: dict[str, Any] | None) -> Removed | None:
    if held is None:
        return None
    kept = held["kept"]
    kept = None if kept is None else Part(**kept)
    return Removed(Part(**held["lost"]), float(held["others"]), Part(**held["beyond"]), kept)


def _rounded(held: Any) -> Any:
    """All numbers with as many decimals as mean anything; what is none is null."""
    if isinstance(held, dict):
        return {name: _rounded(each) for name, each in held.items()}
    if isinstance(held, list | tuple):
        return [_rounded(each) for each in held]
    if isinstance(held, float):
        return None if isnan(held) else round(held, _DIGITS)
    return held
