"""How far something is, as a bar that is drawn over itself in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from attnviz.capture.loading import Tell

BAR = 40  # characters


def show_bar(done: float, beside: str, where: TextIO) -> None:
    """Draw a bar over what was drawn before.

    Args:
        done: 0 to 1.
        beside: what stands after it.
        where: the stream to draw on.
    """
    filled = int(BAR * done)
    where.write(f"\r{'█' * filled}{'·' * (BAR - filled)} {beside} ")
    where.flush()


@contextmanager
def progress() -> Iterator[Tell]:
    """Shows how far the loading of a model is, where somebody watches, and wipes it away in the end."""
    watched = sys.stderr.isatty()
    try:
        yield lambda doing, done: show_bar(done, f"{doing}\033[K", sys.stderr) if watched else None
    finally:
        if watched:
            sys.stderr.write("\r\033[K")
