"""Work over a text that may be broken off: a file keeps what is done, and the same command goes on."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from attnviz.cli.output import progress
from attnviz.errors import AttnvizError
from attnviz.experiments import findings_file
from attnviz.experiments.behaviour import BehaviourFindings, Engine, measure_corpus
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.findings_file import RunKey
from attnviz.models.catalogue import Entry
from attnviz.text import plural

KEEP_SECONDS = 30.0
"""How often the work done so far is kept, besides when it is broken off.

Where nothing can be done at the end, as after `kill -9`, that much is lost, and the batch that was being read
(with Ray, the parts).
"""


def run_key(corpus: Corpus, entry: Entry) -> RunKey:
    """What is computed, as its file says it."""
    return RunKey(
        model=entry.name,
        files=entry.files_digest,
        text=corpus.key,
        lines=corpus.lines,
        layers=entry.layers_of(entry.kinds[0]),
        heads=entry.heads,
    )


def kept_in() -> Path:
    """The folder of unfinished work for which no file was named: `attnviz` in the user's cache folder."""
    cache = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(cache) if cache else Path.home() / ".cache") / "attnviz"
    with suppress(OSError):  # `_begun` says what to do instead
        folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def resumable(
    corpus: Corpus, entry: Entry, engine: Engine, keep: Path | None = None, out: Path | None = None
) -> Iterator[BehaviourFindings]:
    """Measures the whole text, from where an earlier run was broken off, and gives what was found to a block.

    If the work or the block fails, or is broken off, what is done stays in a file, and the same command goes
    on from there. The file is deleted when the block, which writes or prints the findings, has ended well.

    Args:
        keep: the file of unfinished work; None: one in `kept_in`, named after text and model.
        out: the file that the block writes, if it writes one.

    Raises:
        AttnvizError: the file holds other work, or is the one to write, or nothing can be kept there, or the
            model cannot be used.
        KeyboardInterrupt: it was broken off, and what was done is kept.
        OSError: what was done cannot be kept; what was kept of it before is there still.
    """
    key = run_key(corpus, entry)
    keep = keep or kept_in() / f"heads-{key.digest}.npz"
    if out is not None and out.resolve() == keep.resolve():
        raise AttnvizError(
            f"{out} is where unfinished work is kept, and that is deleted in the end. Choose another file "
            "for --out."
        )
    found = _begun(keep, key)
    begun = 0 if found is None else found.lines
    began = kept_at = time.monotonic()
    try:
        with progress(log=True) as tell:
            for step in measure_corpus(corpus, entry.name, engine=engine, begun=found):
                found = step.found
                speed = (step.done - begun) / max(time.monotonic() - began, 1e-9)
                lines = f"{step.done:,} of {plural(step.total, 'line')}, {speed:,.0f} a second"
                tell(lines, step.done / step.total)
                if time.monotonic() - kept_at > KEEP_SECONDS:
                    findings_file.write(keep, key, found)
                    kept_at = time.monotonic()
        assert found is not None  # noqa: S101 - it tells at least with what it began; for the type checker
        yield found
    except BaseException as error:
        if found is not None and found.lines:
            findings_file.write(keep, key, found)
            sys.stderr.write(
                f"\n{_of(found.lines, corpus.lines)} done and kept in {keep}. The same command goes on from "
                "there.\n"
            )
        elif isinstance(error, KeyboardInterrupt):
            sys.stderr.write("\nNothing was kept: no line was done yet.\n")
        raise
    keep.unlink(missing_ok=True)


def _of(done: int, lines: int) -> str:
    return f"{done:,} of {plural(lines, 'line')} {'is' if lines == 1 else 'are'}"


def _begun(keep: Path, key: RunKey) -> BehaviourFindings | None:
    """What an earlier run has kept; None: nothing."""
    if not os.access(keep.parent, os.W_OK):
        raise AttnvizError(
            f"Unfinished work cannot be kept in {keep}. Choose a file in a folder that may be written to: "
            "--keep FILE"
        )
    if not keep.exists():
        return None
    other, found = findings_file.read(keep)
    if other != key:
        raise AttnvizError(
            f"{keep} holds the work on another text, or with another model. Delete it, or choose another "
            "--keep FILE."
        )
    if np.isnan(found.tally.raw).any():
        raise AttnvizError(
            f"{keep} was begun by an earlier version, which did not count shares of all attention. Delete "
            "it, and the text is read again from its first line."
        )
    sys.stderr.write(f"Going on from {keep}: {_of(found.lines, key.lines)} done.\n")
    return found
