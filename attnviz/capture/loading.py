"""Models are loaded here, one at a time, once for everybody."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Protocol

from attnviz.capture import catalogue
from attnviz.capture.text import reader
from attnviz.trace import Token, Trace

MOST_MODELS = 4
"""How many loaded models are kept; the one that was not used for longest goes first."""

gate = threading.RLock()
"""Hold this around any first import of torch or transformers, and nothing slow besides.

Two threads that import transformers for the first time at once end in an ImportError: its modules are
filled in on first use, and the second thread finds them half filled.
"""


class Model(Protocol):
    """A loaded model: safe to share among threads."""

    def tokens(self, text: str) -> tuple[Token, ...]:
        """The text's tokens; see `attnviz.capture.text.Reader.tokens`."""

    def trace(self, text: str) -> Trace:
        """One forward pass over the text."""


_models: OrderedDict[str, Model] = OrderedDict()
_shelf = threading.Lock()  # held for moments only: a loaded model is found while another one loads


def load(name: str) -> Model:
    """The model of that name, loaded by the first who asks; whoever asks meanwhile waits for that one load.

    The first call imports torch (and transformers) and takes some seconds. A server does well to call
    `torch.set_num_threads(2)` and `gc.collect(); gc.freeze()` after it.

    Raises:
        UnknownModel: the catalogue has no such name.
        ModelFilesDamaged: the files are missing or changed.
    """
    entry = catalogue.entry(name)
    model = _find(name)
    if model is None:
        with gate:
            model = _find(name) or _open(entry)
            with _shelf:
                _models[name] = model
                while len(_models) > MOST_MODELS:
                    _models.popitem(last=False)
    return model


def ready(name: str) -> bool:
    """True if `load(name)` would return at once. Loads nothing."""
    catalogue.entry(name)
    with _shelf:
        return name in _models


def tokens(name: str, text: str) -> tuple[Token, ...]:
    """The tokens that this model would read, without loading it: no torch, some milliseconds.

    Raises:
        UnknownModel, ModelFilesDamaged, EmptyText, TextTooLong, UnreadableText
    """
    entry = catalogue.entry(name)
    return reader(entry.folder, entry.token_limit).tokens(text)


def _find(name: str) -> Model | None:
    with _shelf:
        if name in _models:
            _models.move_to_end(name)
        return _models.get(name)


def _open(entry: catalogue.Entry) -> Model:
    folder = entry.folder
    if entry.engine == "scratch":
        from attnviz.capture.scratch import ScratchModel

        return ScratchModel(entry.name, folder, reader(folder, entry.token_limit))
    from attnviz.capture.huggingface import HuggingFaceModel

    return HuggingFaceModel(entry.name, folder, reader(folder, entry.token_limit))
