"""A training that tells, line by line, how far it is: what the live trainings on pages listen to.

Each line is a JSON object: the step, or from time to time a whole snapshot.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Snapshot = TypeVar("Snapshot")

_PAUSE_SECONDS = 0.25  # between two lines that only tell the step


def tell(news: Iterable[int | Snapshot], snapshot_line: Callable[[Snapshot], str]) -> None:
    """Print a line for each thing worth telling: every snapshot, and now and then the step."""
    told = 0.0
    for each in news:
        if not isinstance(each, int):
            _say(snapshot_line(each))
        elif time.monotonic() - told > _PAUSE_SECONDS:
            told = time.monotonic()
            _say(step_line(each))


def step_line(step: int) -> str:
    """A line that tells the step."""
    return json.dumps({"step": step})


def understood(
    line: str, marked_by: str, snapshot: Callable[[dict[str, Any]], Snapshot]
) -> int | Snapshot | None:
    """What a line tells: the step, or a snapshot; None: it is none of ours (a warning, an error).

    Args:
        marked_by: what stands in a line that tells a snapshot.
    """
    try:
        told = json.loads(line)
        if not isinstance(told, dict):
            return None
        return snapshot(told) if marked_by in told else int(told["step"])
    except (ValueError, LookupError, TypeError):
        return None


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
