"""Forward passes over images, cached."""

from __future__ import annotations

import base64
import io
from typing import NamedTuple

import numpy as np
from PIL import Image

from attnviz.analysis.picture import Picture, sequential
from attnviz.app.models.images.samples import sample
from attnviz.app.server.cache import cached
from attnviz.capture import loading
from attnviz.models.catalogue import Entry
from attnviz.trace import Floats, Trace

_WHOLE_SIDE = 224  # the most pixels of a side that the browser gets of a whole picture


@cached()
def drawn(name: str) -> bytes:
    """A sample of ours as a PNG file."""
    return _png(Image.fromarray(sample(name)))


class Shown(NamedTuple):
    """A picture and what a model saw of it; pictures for the browser, as addresses that hold them.

    Attributes:
        whole: the picture.
        size: its (width, height) in pixels.
        seen: the part that the model's patches cover, in the model's pixels.
        share: how much of the (width, height) that is.
        stretch: what its width, against its height, was multiplied by.
    """

    whole: str
    size: tuple[int, int]
    seen: str
    share: tuple[float, float]
    stretch: float


class Looked(NamedTuple):
    """All that comes of a picture."""

    trace: Trace
    shown: Shown


@cached("Looking at the picture with the model …")
def looked(model: Entry, name: str, file: bytes) -> Looked:
    """One forward pass of a model over a picture, which is unpacked once: a large one takes long.

    Args:
        model: one that sees pictures.
        name: what the trace calls the picture.
        file: the picture, as a file of one of `PICTURE_FORMATS`.

    Raises:
        AttnvizError: the model or the picture cannot be used; see the message.
    """
    from attnviz.capture import pictures

    picture = pictures.upright(pictures.opened(file))
    trace = loading.look(model.name, picture, name)
    width, height = picture.size
    seen, brought_to = loading.seen(model.name, picture)
    share = tuple(min(1.0, kept / side) for kept, side in zip(seen.size, brought_to, strict=True))
    stretch = brought_to[0] / brought_to[1] * height / width
    picture.thumbnail((_WHOLE_SIDE, _WHOLE_SIDE))
    whole = _address(picture)
    return Looked(trace, Shown(whole, (width, height), _address(seen), (share[0], share[1]), stretch))


def trace(model: Entry, name: str, file: bytes) -> Trace:
    """The pass alone; see `looked`."""
    return looked(model, name, file).trace


@cached()
def weights(model: Entry, name: str, file: bytes) -> Floats:
    """All weights of a picture, [layer, head, query, key]."""
    return trace(model, name, file).stack("encoder")


def weights_of_row(weights: Floats, query: int, extras: int, rows: int) -> Picture:
    """Where one token looks in every head, each as a small picture: levels [layer, head, row, column].

    Args:
        weights: [layer, head, query, key].
        query: the token that looks.
        extras, rows: how many tokens come before the patches, and the rows of these.
    """
    at_patches = weights[:, :, query, extras:]
    return sequential(np.ascontiguousarray(at_patches.reshape(*at_patches.shape[:2], rows, -1)), "per head")


def _address(picture: Image.Image) -> str:
    return f"data:image/png;base64,{base64.b64encode(_png(picture)).decode('ascii')}"


def _png(picture: Image.Image) -> bytes:
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()
