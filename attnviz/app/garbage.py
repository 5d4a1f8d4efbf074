"""Garbage is collected when the server is idle, not after every run of a page."""

import gc
import threading
import time

_QUIET_SECONDS = 2.0  # without a run: most visitors have what they clicked for, and look at it
_MOST_WAITS = 30  # on a server that is never idle, a collection each minute keeps the memory small

_began = threading.Event()
_once = threading.Lock()


def collect_when_idle() -> None:
    """Collect what this run of a page leaves behind, once no page has run for some seconds.

    Streamlit would collect after every run, and keep all visitors waiting: 125 ms with a hundred of them.
    """
    _began.set()
    if _once.acquire(blocking=False):
        threading.Thread(target=_collect_forever, name="garbage", daemon=True).start()


def _collect_forever() -> None:
    # Python collects amid a page, and all wait meanwhile: 5 ms for so many objects, 250 ms for 200,000.
    gc.set_threshold(5_000, 50, 1000)
    while True:
        _began.wait()
        for _ in range(_MOST_WAITS):
            _began.clear()
            time.sleep(_QUIET_SECONDS)
            if not (_began.is_set() or _running()):
                break
        gc.collect()


def _running() -> bool:
    """Whether a page runs just now, in a thread of Streamlit's; a part that runs by itself counts too."""
    return any(thread.name.startswith("ScriptRunner") for thread in threading.enumerate())
