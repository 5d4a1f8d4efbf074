"""Loads models, one at a time, and keeps those that were used last for everybody."""

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
    from attnviz.capture.pictures import Picture, SeeingModel, SeenPicture
    from attnviz.capture.translator import TranslatorModel
    from attnviz.trained.storyteller.storyteller import Storyteller

MAX_MODELS = 8
"""How many loaded models are kept; the one that was not used for longest goes first.

All that come with attnviz find room: a BERT takes 90 MB, a translator less than 1 MB. Fewer are kept where
they would together take more than `limits.max_bytes`.
"""

gate = importing.gate
"""Hold this around any first import of torch or transformers; see `importing.gate`."""

OnProgress = Callable[[str, float], None]
"""What `open_model` calls on its way: what it does now, and how much is done (0 to 1)."""

_IN_MEMORY = " in memory: "  # no folder and no id has such a name

_LOADING = 0.9  # how much of an opening is done when the download is

_borrowed: dict[str, Model] = {}
_models: OrderedDict[str, tuple[catalogue.Entry, Model]] = OrderedDict()
_lock = threading.Lock()  # held for moments only: a loaded model is found while another one loads


def _ignore_progress(doing: str, done: float) -> None:
    """Ignore the progress."""


def load(name: str) -> Model:
    """Return the model of that name; concurrent calls wait for one load.

    The first call imports torch (and transformers) and takes some seconds. A server does well to call
    `torch.set_num_threads` of half the cores and `gc.collect(); gc.freeze()` after it.

    A folder in which a file has changed since is loaded again.

    Raises:
        AttnvizError: there is no such model, or it is not supported; the message explains what to do.
    """
    return _borrowed[name] if name in _borrowed else opened(downloaded(name))


def opened(entry: catalogue.Entry) -> Model:
    """Return the model of this entry, whose files are on this machine; loads it if it is not in memory.

    Raises:
        AttnvizError: its files are missing or damaged, or its attention cannot be shown.
    """
    model = in_memory(entry)
    if model is None:
        with gate:
            import torch

            with torch.inference_mode(False):  # weights read in that mode could not be used out of it
                model = in_memory(entry) or _open(entry)
            with _lock:
                _models[entry.name] = entry, model
                _make_room()
    return model


def open_model(name: str, report: OnProgress = _ignore_progress) -> catalogue.Entry:
    """Download, load and list a model that a visitor requested.

    Args:
        name: as `resolve.entry` takes it.
        report: receives the progress; an error that it raises ends the opening.

    Raises:
        AttnvizError: the model is not supported; the message explains what to do.
    """
    allowed.check(name)
    report("Inspecting the model", 0.0)
    entry = downloaded(name, report)
    report("Loading the weights", _LOADING)
    load(name)
    report("Ready", 1.0)  # raises if the visitor has stopped it
    allowed.remember(name)
    return entry


@contextmanager
def borrowed(network: Module, tokenizer: Tokenizer | Processor | None = None) -> Iterator[str]:
    """A name for a model object of the caller's, under which all of attnviz finds it while the block lasts.

    attnviz changes nothing about the object. Its own hooks run along, also in two short runs over tokens that
    nobody gave, by which it is checked when the first block begins: an object that is still built like that
    is not checked again. `capture.borrowed` says what it may be, and raises what is wrong.
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
    """`load`, for those who need what only a translator can do.

    Raises:
        UnknownModel: the catalogue has no such name.
        ModelNotSupported: the model of that name is no translator.
        ModelFilesDamaged: the files are missing or changed.
    """
    if resolve.entry(name).engine != "translator":
        raise ModelNotSupported(f"{name} reads one text and does not translate it; “translator” does.")
    model = load(name)  # imports torch, if need be, in safety
    from attnviz.capture.translator import TranslatorModel

    assert isinstance(model, TranslatorModel)  # noqa: S101 - the catalogue says so; for the type checker
    return model


def load_storyteller(name: str) -> Storyteller:
    """The storyteller of that name in the catalogue, loaded as by `load`.

    Raises:
        ModelFilesDamaged: its file is missing or damaged.
    """
    model = load(name)
    from attnviz.capture.storyteller import StorytellerModel

    assert isinstance(model, StorytellerModel)  # noqa: S101 - the catalogue says so; for the type checker
    return model.storyteller


def trace(name: str, given: ModelInput, edits: Edits = (), selection: Selection = EVERYTHING) -> Trace:
    """One forward pass of the model of that name, with these changes in its attention; see `Model.trace`.

    Raises:
        AttnvizError: the model, the text or an edit is invalid.
    """
    return load(name).trace(given, edits=edits, selection=selection)


def look(name: str, picture: Picture, called: str) -> Trace:
    """One forward pass of a model that sees pictures.

    Args:
        name: the model's; its entry `sees`.
        picture: as `SeeingModel.look` takes it.

    Raises:
        AttnvizError: the model or the picture is invalid.
    """
    return _seeing(name).look(picture, called)


def seen(name: str, picture: Picture) -> SeenPicture:
    """What a model sees of a picture; see `look`."""
    return _seeing(name).seen(picture)


def _seeing(name: str) -> SeeingModel:
    model = load(name)
    with gate:  # our own models come without transformers
        from attnviz.capture.pictures import SeeingModel

    if not isinstance(model, SeeingModel):
        raise ModelNotSupported(
            f"{quoted(name)} sees no pictures without a text. Give it one: attnviz.trace(text, model), or "
            "attnviz.trace(text, model, images=[…]) if it reads both."
        )
    return model


def ready(name: str) -> bool:
    """True if a model of that name is in memory. Loads nothing and reads no file."""
    with _lock:
        return name in _models


def tokens(name: str, text: str | ModelInput) -> tuple[Token, ...]:
    """The tokens that this model, or its encoder, would read, without loading it.

    It takes some milliseconds, and no torch where the tokenizer is in `tokenizer.json`.

    Raises:
        UnknownModel, ModelFilesDamaged, EmptyText, TextTooLong, UnreadableText
        UnknownWords: a word is not in the vocabulary of a model of whole words.
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
        return patch_tokens(entry.grid, entry.beside)
    return tokenizer_of(entry).tokens(given.text, given.second)


def downloaded(name: str, report: OnProgress = _ignore_progress) -> catalogue.Entry:
    """Return the entry of a model, with its files on this machine; download them if needed."""
    entry = resolve.entry(name)
    if not isinstance(entry.origin, catalogue.Hub):
        return entry

    def report_progress(came: int, total: int) -> None:
        report(f"Downloading {came / 1e6:,.1f} of {total / 1e6:,.1f} MB", _LOADING * came / max(total, 1))

    wanted = resolve.target(name)
    hub.download(wanted.model, name, report_progress, wanted.dtype)
    return resolve.entry(name)


def in_memory(entry: catalogue.Entry) -> Model | None:
    """Return the loaded model, or None; also None if its files have changed since."""
    with _lock:
        loaded, model = _models.get(entry.name, (None, None))
        if model is None or loaded != entry:
            return None
        _models.move_to_end(entry.name)
        return model


def _make_room() -> None:
    """Drop the models that were not used for longest, until those that are left are few and small enough."""
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

        ours = StorytellerModel if entry.engine == "storyteller" else TranslatorModel
        return ours(entry.name, entry.origin.file)
    assert isinstance(entry.origin, catalogue.Package | catalogue.Folder)  # noqa: S101 - it was downloaded
    folder = entry.origin.folder
    if entry.engine == "scratch":
        from attnviz.capture.scratch import ScratchModel

        return ScratchModel(entry.name, folder, tokenizer_of(entry))
    from attnviz.capture.network import open_network

    if entry.sees:
        importing.need_extra("pictures")
        from attnviz.capture.pictures import SeeingModel, processor_in

        network = open_network(folder, entry.name, entry.dtype, entry.device)
        return SeeingModel(entry, network, processor_in(folder, entry.name))
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
