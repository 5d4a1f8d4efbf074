"""Results over the sentences that come with attnviz, on a disk: who starts a server anew has them at once.

Nothing is kept without `ATTNVIZ_STORE`, a folder that several servers may share. Nothing that a visitor typed
or uploaded is written to it. Each file is an NPZ archive, which runs nothing: `header` (JSON as bytes) and
the arrays. A file that cannot be read is as good as none.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import attnviz
from attnviz.analysis.divergence import Divergences
from attnviz.analysis.shapes import ShapeSums
from attnviz.analysis.tally import Tally
from attnviz.analysis.words import Span
from attnviz.atomic_file import atomic_file
from attnviz.capture.model import ExpectedToken
from attnviz.experiments.behaviour import BehaviourFindings, Skipped
from attnviz.experiments.beyond_weights import MeasuredToken
from attnviz.experiments.coreference import Verdicts
from attnviz.experiments.pairs import Pair, SentenceOfPair
from attnviz.experiments.progress import Progress
from attnviz.experiments.sentences import SkippedSentence
from attnviz.experiments.syntax import Annotated, Answers, Grammar, Relation

SETTING = "ATTNVIZ_STORE"
"""The environment variable with the folder; unset: nothing is kept."""

MOST_BYTES = 2**26
"""The most that all files may take; one takes up to 1 MB. What was not read for longest goes first."""

_FILES = "attnviz-*.npz"

_CLASSES = (
    *(Progress, Verdicts, Pair, SentenceOfPair, Span, SkippedSentence, Grammar, Answers, Annotated, Relation),
    *(BehaviourFindings, Tally, ShapeSums, Divergences, Skipped, MeasuredToken, ExpectedToken),
)
# What may stand in a file, and what is made of it there: nothing else is ever called.
_MAKERS: dict[str, Callable[..., Any]] = {each.__name__: each for each in _CLASSES} | {
    "tuple": lambda *parts: parts,
    "frozenset": lambda *parts: frozenset(parts),
    "dict": lambda *items: dict(items),
    "Counter": lambda *items: Counter(dict(items)),
}

Found = TypeVar("Found")
Steps = Callable[[], Iterator[Progress[Found]]]


def kept(key: tuple[Hashable, ...], steps: Steps[Found], *, ours: bool) -> Steps[Found]:
    """The steps of a job, or a single one where their result is on the disk; their last one is put there.

    Args:
        key, steps: as `Jobs.find` takes them; with the version of attnviz, the key names the file.
        ours: whether all that is read comes with attnviz. Only then is it kept.
    """
    folder = os.environ.get(SETTING)
    if not ours or not folder:
        return steps
    named = hashlib.sha256(repr((attnviz.__version__, key)).encode("utf-8", "replace")).hexdigest()
    file = Path(folder).expanduser() / _FILES.replace("*", named)
    return lambda: _read_or_made(file, steps)


def _read_or_made(file: Path, steps: Steps[Found]) -> Iterator[Progress[Found]]:
    """What the file holds, in one step; or else the steps, whose last one is written to it."""
    try:
        yield read(file)
    except FileNotFoundError:
        pass
    except Exception:  # noqa: BLE001 - whatever a damaged file leads to
        _log(file, "cannot be read, and is made again")
    else:
        return
    latest = None
    for latest in steps():
        yield latest
    if latest is not None and latest.finished:
        try:
            write(file, latest)
            _make_room(file)
        except OSError:
            _log(file, "cannot be written, and the result is kept in memory alone")


def _log(file: Path, what: str) -> None:
    logging.getLogger(__name__).warning("%s %s.", file, what, exc_info=True)


def write(file: Path, found: object) -> None:
    """Write records of attnviz and arrays. Two servers that write the same file at once do no harm.

    Raises:
        TypeError: something in it is neither, and not made of texts, numbers, tuples, sets and mappings.
        OSError: it cannot be written; what stood there stays.
    """
    arrays: list[NDArray[Any]] = []
    header = np.frombuffer(json.dumps(_packed(found, arrays)).encode("ascii"), dtype=np.uint8)
    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(file) as opened:
        np.savez(opened, *arrays, header=header)


def read(file: Path) -> Any:
    """Read what `write` wrote; its arrays are read-only.

    Raises:
        FileNotFoundError: there is no such file.
        Exception: it is none that `write` wrote, or it is damaged.
    """
    with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as archive:
        header = json.loads(archive["header"].tobytes())
        arrays = [archive[f"arr_{number}"] for number in range(len(archive.files) - 1)]
    for array in arrays:
        array.setflags(write=False)
    with suppress(OSError):  # where this server may only read
        os.utime(file)  # so that what is in use stays
    return _unpacked(header, arrays)


def _packed(found: object, arrays: list[NDArray[Any]]) -> object:
    """What JSON can hold, with arrays by their numbers: a list is a kind and its parts."""
    if isinstance(found, np.ndarray | np.generic):
        arrays.append(np.asarray(found))
        return ["array", len(arrays) - 1]
    if found is None or isinstance(found, str | int | float):
        return found
    kind = type(found).__name__
    if kind not in _MAKERS:
        raise TypeError(f"No {kind} can be kept.")
    return [kind, *(_packed(part, arrays) for part in _parts(found))]


def _parts(found: Any) -> Iterable[object]:
    if is_dataclass(found):
        return (getattr(found, each.name) for each in fields(found))
    return found.items() if isinstance(found, Mapping) else found


def _unpacked(held: Any, arrays: list[NDArray[Any]]) -> Any:
    if not isinstance(held, list):
        return held
    kind, *parts = held
    if kind == "array":
        return arrays[parts[0]]
    return _MAKERS[kind](*(_unpacked(part, arrays) for part in parts))


def _make_room(newest: Path) -> None:
    """Delete what was not read for longest, until what is left takes no more than it may."""
    known = sorted(
        ((each.stat(), each) for each in newest.parent.glob(_FILES)), key=lambda one: one[0].st_mtime
    )
    too_much = sum(stat.st_size for stat, _ in known) - MOST_BYTES
    for stat, file in known:
        if too_much > 0 and file != newest:
            file.unlink(missing_ok=True)
            too_much -= stat.st_size
