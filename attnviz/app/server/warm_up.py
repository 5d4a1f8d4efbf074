"""Load the bundled models in the background when the server starts."""

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

# A forward pass uses at most half of the cores, so that other pages remain responsive, and at most two
# threads: more would wait for each other. The variable must be set before the first import of torch.
os.environ.setdefault("OMP_NUM_THREADS", str(min(2, max(1, (os.cpu_count() or 1) // 2))))

_SENTENCE = "The dog is tired."

_warm = threading.Event()
_failed = threading.Event()


def start() -> None:
    """Load the models in the background: the default one, then all bundled ones."""
    threading.Thread(target=_warm_up, name="warm up", daemon=True).start()


async def ready(_: Request) -> Response:
    """Serve /ready: 503 while models are loading, then 200.

    It stays 503 if a model could not be loaded; the log contains the reason.
    """
    if _warm.is_set():
        return PlainTextResponse("ready\n")
    return PlainTextResponse("a model could not be loaded\n" if _failed.is_set() else "loading\n", 503)


def model(entry: catalogue.Entry) -> Model:
    """Return the model; load it if necessary.

    Raises:
        AttnvizError: there is no such model, or its files are missing or damaged.
    """
    if (ready := loading.in_memory(entry)) is not None:
        return ready
    loaded = loading.opened(entry)
    tune_garbage_collector()
    return loaded


def tune_garbage_collector() -> None:
    """Exclude loaded objects from garbage collection, and collect evicted models.

    With torch and transformers loaded, a collection takes about 260 ms, and almost no time once their objects
    are frozen. An evicted model must be unfrozen to be collected.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def _warm_up() -> None:
    try:
        first, *_ = listed = allowed.names()
        model(loading.downloaded(first))
        if resolve.entry(first).is_text_model:
            loading.trace(first, ModelInput(_SENTENCE))
        for name in catalogue.names():
            if name in listed:
                loading.load(name)
        tune_garbage_collector()  # only once: a collection takes as long as loading a model
    except AttnvizError as error:
        _failed.set()
        logging.getLogger(__name__).error("A model could not be loaded: %s", error)  # noqa: TRY400 - the message suffices
    except Exception:
        _failed.set()
        # The page reports the error when it needs the model. During interpreter shutdown, modules are
        # already unloaded, so errors are expected.
        if threading.main_thread().is_alive():
            logging.getLogger(__name__).exception("A model could not be loaded in the background.")
    else:
        _warm.set()
