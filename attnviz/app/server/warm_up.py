"""The bundled models load as soon as the server answers, before anybody needs them."""

import gc
import logging
import os
import threading

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from attnviz.capture import loading
from attnviz.capture.model import Model, ModelInput
from attnviz.errors import AttnvizError
from attnviz.models import allowed, catalogue, resolve

# While a model reads one visitor's text, half of the cores are left for the pages of all others. More than
# two would wait for each other. Torch reads it when it is first imported, which nothing has done yet.
os.environ.setdefault("OMP_NUM_THREADS", str(min(2, max(1, (os.cpu_count() or 1) // 2))))

_SENTENCE = "The dog is tired."

_warm = threading.Event()
_failed = threading.Event()


def start() -> None:
    """Load the models in the background: the default one, then all that come with attnviz."""
    threading.Thread(target=_warm_up, name="warm up", daemon=True).start()


async def ready(_: Request) -> Response:
    """What answers at /ready: 503 as long as a visitor's own sentence must wait for a model, then 200.

    It stays 503 where a model could not be loaded; the log says why.
    """
    if _warm.is_set():
        return PlainTextResponse("ready\n")
    return PlainTextResponse("a model could not be loaded\n" if _failed.is_set() else "loading\n", 503)


def model(entry: catalogue.Entry) -> Model:
    """Return the model; if it has to be loaded, the server is tuned for it afterwards.

    Raises:
        AttnvizError: there is no such model, or its files are missing or damaged.
    """
    if (ready := loading.in_memory(entry)) is not None:
        return ready
    loaded = loading.opened(entry)
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
        first, *_ = listed = allowed.names()
        model(loading.downloaded(first))
        if resolve.entry(first).reads:
            loading.trace(first, ModelInput(_SENTENCE))
        for name in catalogue.names():
            if name in listed:
                loading.load(name)
        settle()  # once for all of them: a collection takes as long as loading one
    except AttnvizError as error:
        _failed.set()
        logging.getLogger(__name__).error("A model could not be loaded: %s", error)  # noqa: TRY400 - a sentence
    except Exception:
        _failed.set()
        # The page reports the error as soon as the model is needed. If the
        # server ends during the loading, Python has removed what it needs, and there is nothing to report.
        if threading.main_thread().is_alive():
            logging.getLogger(__name__).exception("A model could not be loaded in the background.")
    else:
        _warm.set()
