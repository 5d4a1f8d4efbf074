"""Load models, one at a time, and cache the most recently used ones for all threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from attnviz import importing
from attnviz.capture.model import Model, ModelInput, as_model_input
from attnviz.capture.selection import EVERYTHING, Selection
from attnviz.errors import ModelNotSupported, quoted
from attnviz.interventions.edit import Edits
from attnviz.models import allowed, catalogue, families, hub, limits, resolve
from attnviz.models.tokenizer import patch_tokens, tokenizer_of
from attnviz.trace import Token, Trace
from attnviz.trained.storyteller import reading as storyteller_reading
from attnviz.trained.translator import reading

if TYPE_CHECKING:
    from torch.nn import Module

    from attnviz.capture.model import Processor, Tokenizer
    from attnviz.capture.pictures import Picture, PreparedPicture, VisionModel
    from attnviz.capture.translator import TranslatorModel
    from attnviz.trained.storyteller.storyteller import Storyteller

MAX_MODELS = 8
"""Maximum number of cached models; the least recently used one is evicted first.

All models bundled with attnviz fit: a BERT takes 90 MB, a translator less than 1 MB. Fewer models are kept
if their total size would exceed `limits.max_bytes`.
"""

gate = importing.gate
"""The lock to hold during the first import of torch or transformers; see `importing.gate`."""

OnProgress = Callable[[str, float], None]
"""Function to call with the current step of `open_model` and the progress, from 0 to 1."""

_IN_MEMORY = " in memory: "  # not possible in an id or a folder name

_LOADING = 0.9  # the progress when the download is complete

_borrowed: dict[str, Model] = {}
_models: OrderedDict[str, tuple[catalogue.Entry, Model]] = OrderedDict()
_lock = threading.Lock()  # never held while a model loads, so that cached models stay available


def _ignore_progress(step: str, done: float) -> None:
    """Ignore the progress."""


def load(name: str) -> Model:
    """Return the model with this name; concurrent calls load it only once.

    The first call imports torch (and transformers) and takes some seconds. Afterwards, a server should call
    `torch.set_num_threads` with half of the cores, and `gc.collect(); gc.freeze()`.

    A folder with a changed file is loaded again.

    Raises:
        AttnvizError: there is no such model, or it is not supported; the message explains what to do.
    """
    return _borrowed[name] if name in _borrowed else opened(downloaded(name))


def opened(entry: catalogue.Entry) -> Model:
    """Return the model of this entry, from the cache or loaded from its files on this machine.

    Raises:
        AttnvizError: its files are missing or damaged, or its attention cannot be recorded exactly.
    """
    model = in_memory(entry)
    if model is None:
        with gate:
            import torch

            with torch.inference_mode(False):  # weights loaded in inference mode are unusable outside of it
                model = in_memory(entry) or _open(entry)
            with _lock:
                _models[entry.name] = entry, model
                _evict()
    return model


def open_model(name: str, report: OnProgress = _ignore_progress) -> catalogue.Entry:
    """Download, load and list a model that a user requested.

    Args:
        name: as for `resolve.entry`.
        report: receives the progress; if it raises an error, `open_model` stops with this error.

    Raises:
        AttnvizError: the model is not supported; the message explains what to do.
    """
    allowed.check(name)
    report("Inspecting the model", 0.0)
    entry = downloaded(name, report)
    report("Loading the weights", _LOADING)
    load(name)
    report("Ready", 1.0)  # raises if the user has cancelled
    allowed.remember(name)
    return entry


@contextmanager
def borrowed(network: Module, tokenizer: Tokenizer | Processor | None = None) -> Iterator[str]:
    """Yield a name under which attnviz finds the caller's model object inside the block.

    attnviz does not modify the object, but runs its hooks. The first block starts with two short forward
    passes on sample tokens, which are repeated only if the object's structure changes. See
    `capture.borrowed` for supported objects and errors.
    """
    with gate:
        from attnviz.capture.borrowed import borrowed as opened

        model = opened(network, tokenizer)
    name = f"{model.name}{_IN_MEMORY}{model.entry.files_digest}"
    resolve.BORROWED[name], _borrowed[name] = model.entry, model
    try:
        yield name
    finally:
        del resolve.BORROWED[name], _borrowed[name]


def load_translator(name: str) -> TranslatorModel:
    """Load the translator with this name; see `load`.

    Raises:
        UnknownModel: the catalogue has no such name.
        ModelNotSupported: the model with this name is not a translator.
        ModelFilesDamaged: the files are missing or changed.
    """
    if resolve.entry(name).engine != "translator":
        raise ModelNotSupported(f"{name} is not a translation model; use “translator”.")
    model = load(name)  # imports torch, if necessary, while it holds `gate`
    from attnviz.capture.translator import TranslatorModel

    assert isinstance(model, TranslatorModel)  # noqa: S101 - by the catalogue; for the type checker
    return model


def load_storyteller(name: str) -> Storyteller:
    """Load the storyteller with this name in the catalogue; see `load`.

    Raises:
        ModelFilesDamaged: its file is missing or damaged.
    """
    model = load(name)
    from attnviz.capture.storyteller import StorytellerModel

    assert isinstance(model, StorytellerModel)  # noqa: S101 - by the catalogue; for the type checker
    return model.storyteller


def trace(name: str, given: ModelInput, edits: Edits = (), selection: Selection = EVERYTHING) -> Trace:
    """Trace one forward pass of the model with this name, with these edits; see `Model.trace`.

    Raises:
        AttnvizError: the model, the text or an edit is invalid.
    """
    return load(name).trace(given, edits=edits, selection=selection)


def look(name: str, picture: Picture, title: str) -> Trace:
    """Trace one forward pass of a vision model.

    Args:
        name: the name of a vision model.
        picture: as for `VisionModel.look`.
        title: the image's name in the trace.

    Raises:
        AttnvizError: the model or the picture is invalid.
    """
    return _vision_model(name).look(picture, title)


def prepared_picture(name: str, picture: Picture) -> PreparedPicture:
    """Return the image as the model receives it; arguments and errors as for `look`."""
    return _vision_model(name).prepared(picture)


def _vision_model(name: str) -> VisionModel:
    model = load(name)
    with gate:  # the bundled models do not need transformers
        from attnviz.capture.pictures import VisionModel

    if not isinstance(model, VisionModel):
        raise ModelNotSupported(
            f"{quoted(name)} is not a vision model. Pass a text: attnviz.trace(text, model), or "
            "attnviz.trace(text, model, images=[…]) if the model reads both."
        )
    return model


def is_loaded(name: str) -> bool:
    """Return whether a model with this name is in memory, without loading it or reading a file."""
    with _lock:
        return name in _models


def tokens(name: str, text: str | ModelInput) -> tuple[Token, ...]:
    """Return the tokens of a text as input to this model; for text-to-text models, to the encoder.

    Only models that read images and text are loaded. For other models, this takes some milliseconds, and if
    there is a `tokenizer.json`, torch is not imported.

    Raises:
        UnknownModel, ModelFilesDamaged, EmptyText, TextTooLong, UnreadableText
        UnknownWords: a word is not in the vocabulary of a word-level model.
    """
    if name in _borrowed:
        return _borrowed[name].tokens(text)
    entry = downloaded(name)
    given = as_model_input(text)
    if entry.engine == "translator":
        return reading.tokens(given.text)
    if entry.engine == "storyteller":
        return storyteller_reading.tokens(given.text)
    if entry.images:
        return load(name).tokens(text)
    if entry.grid:
        return patch_tokens(entry.grid, entry.special)
    return tokenizer_of(entry).tokens(given.text, given.second)


def downloaded(name: str, report: OnProgress = _ignore_progress) -> catalogue.Entry:
    """Return the entry of a model, with its files on this machine; download them if needed."""
    entry = resolve.entry(name)
    if not isinstance(entry.origin, catalogue.Hub):
        return entry

    def report_progress(received: int, total: int) -> None:
        message = f"Downloading {received / 1e6:,.1f} of {total / 1e6:,.1f} MB"
        report(message, _LOADING * received / max(total, 1))

    target = resolve.target(name)
    hub.download(target.model, name, report_progress, target.dtype)
    return resolve.entry(name)


def in_memory(entry: catalogue.Entry) -> Model | None:
    """Return the loaded model; None if it is not loaded, or if its files changed after loading."""
    with _lock:
        loaded, model = _models.get(entry.name, (None, None))
        if model is None or loaded != entry:
            return None
        _models.move_to_end(entry.name)
        return model


def _evict() -> None:
    """Evict the least recently used models until their number and total size are within the limits."""
    while len(_models) > MAX_MODELS or (
        len(_models) > 1
        and sum(limits.in_memory(entry.parameters or 0, entry.dtype) for entry, _ in _models.values())
        > limits.max_bytes()
    ):
        _models.popitem(last=False)


def _open(entry: catalogue.Entry) -> Model:
    if isinstance(entry.origin, catalogue.Trained):
        from attnviz.capture.storyteller import StorytellerModel
        from attnviz.capture.translator import TranslatorModel

        kind = StorytellerModel if entry.engine == "storyteller" else TranslatorModel
        return kind(entry.name, entry.origin.file)
    assert isinstance(entry.origin, catalogue.Package | catalogue.Folder)  # noqa: S101 - it was downloaded
    folder = entry.origin.folder
    if entry.engine == "scratch":
        from attnviz.capture.scratch import ScratchModel

        return ScratchModel(entry.name, folder, tokenizer_of(entry))
    from attnviz.capture.network import open_network

    if entry.is_vision_model:
        importing.need_extra("pictures")
        from attnviz.capture.pictures import VisionModel, processor_in

        network = open_network(folder, entry.name, entry.dtype, entry.device)
        return VisionModel(entry, network, processor_in(folder, entry.name))
    if entry.images:
        importing.need_extra("pictures")
        from attnviz.capture import picture_readers, pictures, vision_language

        network = open_network(folder, entry.name, entry.dtype, entry.device)
        if entry.family in families.READERS:
            images = pictures.processor_in(folder, entry.name)
            return picture_readers.PictureReader(entry, network, images, tokenizer_of(entry))
        processor = vision_language.processor_in(folder, entry.family, entry.name)
        return vision_language.VisionLanguageModel(entry, network, processor, tokenizer_of(entry))
    from attnviz.capture.weights_alone import load_or_fall_back

    name, _ = resolve.parts_of(entry.name)
    return load_or_fall_back(
        entry,
        lambda alone: open_network(folder, name, entry.dtype, entry.device, weights_alone=alone),
        tokenizer_of(entry),
    )
