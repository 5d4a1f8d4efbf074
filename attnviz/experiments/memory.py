"""Memory that long work no longer uses goes back to the system."""

from __future__ import annotations

import ctypes
import sys


def give_back() -> None:
    """Hand back what has been freed; only where the C library is glibc, elsewhere nothing.

    Tensors of many sizes leave gaps between them. glibc keeps these for later, and a process that reads
    sentences of ever other lengths would seem to grow without end.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
