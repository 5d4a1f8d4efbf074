"""The model loads while the visitor looks at the first picture."""

import gc
import logging
import os
import threading

from attnviz.capture import loading
from attnviz.capture.model import Model
from attnviz.models import allowed

# Enough for one visitor's sentence; more threads wait for each other when several visitors come at once.
# Torch reads it when it is first imported, which nothing has done yet.
os.environ.setdefault("OMP_NUM_THREADS", "2")

# The browser first gets its picture; importing torch at once would hold it up by about a second.
_HEAD_START_SECONDS = 0.5

_once = threading.Lock()


def start() -> None:
    """Load the default model in the background, once for each server."""
    if not _once.acquire(blocking=False):
        return
    timer = threading.Timer(_HEAD_START_SECONDS, _warm_up)
    timer.daemon = True
    timer.start()


def model(name: str) -> Model:
    """The model, loaded if need be, with the server tuned for it.

    Raises:
        AttnvizError: there is no such model, or its files are missing or damaged.
    """
    was_ready = loading.ready(name)
    loaded = loading.load(name)
    if not was_ready:
        settle()
    return loaded


def settle() -> None:
    """Keep what was just loaded out of the garbage collector's way, and let go of models that were dropped.

    With torch and transformers loaded a collection takes some 260 ms, and next to nothing once they are
    frozen; a dropped model that was frozen before must be thawed to be collected.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def _warm_up() -> None:
    try:
        model(allowed.names()[0])
    except Exception:
        # The visitor is told by the page as soon as the model is needed; here nobody is listening.
        logging.getLogger(__name__).exception("The default model could not be loaded in the background.")
