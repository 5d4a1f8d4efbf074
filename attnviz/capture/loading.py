"""Models are loaded here, one at a time, once for everybody."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Protocol

from attnviz.capture import catalogue
from attnviz.capture.given import Given
from attnviz.capture.predictions import Prediction
from attnviz.capture.text import reader
from attnviz.errors import ModelNotSupported
from attnviz.trace import Token, Trace
from attnviz.translation import reading

if TYPE_CHECKING:
    from attnviz.capture.translator import TranslatorModel

MOST_MODELS = 8
"""How many loaded models are kept; the one that was not used for longest goes first.

All that come with attnviz find room: a BERT takes 90 MB, a translator less than 1 MB.
"""

gate = threading.RLock()
"""Hold this around any first import of torch or transformers, and nothing slow besides.

Two threads that import transformers for the first time at once end in an ImportError: its modules are
filled in on first use, and the second thread finds them half filled.
"""


class Model(Protocol):
    """A loaded model: safe to share among threads."""

    def tokens(self, text: str) -> tuple[Token, ...]:
        """The text's tokens; see `loading.tokens`."""

    def trace(self, text: str) -> Trace:
        """One forward pass over the text; a translator translates it first."""


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


def load_translator(name: str) -> TranslatorModel:
    """`load`, for those who need what only a translator can do.

    Raises:
        UnknownModel: the catalogue has no such name.
        ModelNotSupported: the model of that name is no translator.
        ModelFilesDamaged: the files are missing or changed.
    """
    if catalogue.entry(name).engine != "translator":
        raise ModelNotSupported(f"{name} reads one text and does not translate it; “translator” does.")
    model = load(name)  # imports torch, if need be, in safety
    from attnviz.capture.translator import TranslatorModel

    assert isinstance(model, TranslatorModel)  # noqa: S101 - the catalogue says so; for the type checker
    return model


def trace(name: str, given: Given) -> Trace:
    """One forward pass of the model of that name.

    Raises:
        AttnvizError: the model or the text cannot be used; the message says why.
    """
    if given.second is not None or given.writing is not None:
        raise ModelNotSupported(f"{name} reads one text, and does not write on.")
    if given.target is not None:
        return load_translator(name).trace(given.text, given.target)
    return load(name).trace(given.text)


def predictions(name: str, given: Given) -> tuple[Prediction, ...]:  # noqa: ARG001 - the first models expect nothing
    """What the model of that name expects in what it reads, place by place; nothing if it has no head for it.

    Raises:
        AttnvizError: the model or the text cannot be used; the message says why.
    """
    load(name)
    return ()


def ready(name: str) -> bool:
    """True if `load(name)` would return at once. Loads nothing."""
    catalogue.entry(name)
    with _shelf:
        return name in _models


def tokens(name: str, text: str) -> tuple[Token, ...]:
    """The tokens that this model would read, without loading it: no torch, some milliseconds.

    Raises:
        UnknownModel, ModelFilesDamaged, EmptyText, TextTooLong, UnreadableText
        UnknownWords: the model knows whole words only, and not all of these.
    """
    entry = catalogue.entry(name)
    if isinstance(entry.origin, catalogue.Trained):
        return reading.tokens(text)
    return reader(entry.origin.folder, entry.token_limit).tokens(text)


def _find(name: str) -> Model | None:
    with _shelf:
        if name in _models:
            _models.move_to_end(name)
        return _models.get(name)


def _open(entry: catalogue.Entry) -> Model:
    if isinstance(entry.origin, catalogue.Trained):
        from attnviz.capture.translator import TranslatorModel

        return TranslatorModel(entry.name, entry.origin.file)
    folder = entry.origin.folder
    if entry.engine == "scratch":
        from attnviz.capture.scratch import ScratchModel

        return ScratchModel(entry.name, folder, reader(folder, entry.token_limit))
    from attnviz.capture.huggingface import HuggingFaceModel

    return HuggingFaceModel(entry.name, folder, reader(folder, entry.token_limit))
