"""Forward passes over images, cached."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image

from attnviz.app.models.images.samples import sample
from attnviz.app.server.cache import cached
from attnviz.capture import loading
from attnviz.capture.model import ModelInput, Prediction
from attnviz.capture.selection import Selection
from attnviz.models.catalogue import Entry
from attnviz.trace import Block, Floats, Patch, Token, Trace

_MAX_WEIGHT_BYTES = 2 * 10**8  # of a trace that the server keeps; of longer texts it keeps queries and keys
_WHOLE_SIDE = 224  # the most pixels of a side that the browser gets of a whole picture


@cached()
def drawn(name: str) -> bytes:
    """A sample of ours as a PNG file."""
    return _png(Image.fromarray(sample(name)))


class Shown(NamedTuple):
    """A picture and what a model saw of it; pictures for the browser, as addresses that hold them.

    Attributes:
        whole: the picture.
        seen: the part that the model's patches cover, in the model's pixels.
        box: the edges of what the patches cover, as parts of the seen picture.
    """

    whole: str
    seen: str
    box: tuple[float, float, float, float] = (0.0, 0.0, 1.0, 1.0)


class ProcessedPicture(NamedTuple):
    """All that comes of a picture."""

    trace: Trace
    shown: Shown


@cached("Running the model on the image …")
def processed(model: Entry, name: str, file: bytes) -> ProcessedPicture:
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
    seen, _ = loading.seen(model.name, picture)
    picture.thumbnail((_WHOLE_SIDE, _WHOLE_SIDE))
    return ProcessedPicture(trace, Shown(_address(picture), _address(seen)))


@cached("Running the model on the image and the text …")
def read(model: Entry, file: bytes, text: str) -> tuple[Trace, Prediction]:
    """One forward pass of a vision-language model, and what it expects next; raises as `processed`."""
    given = ModelInput(text, images=(file,))
    trace = loading.trace(model.name, given, selection=Selection(max_weight_bytes=_MAX_WEIGHT_BYTES))
    [expected] = loading.load(model.name).predictions(given)
    return trace, expected


def view(trace: Trace, patches: Sequence[Patch]) -> Shown:
    """The picture that was read with a text, and the part of it that these patches cover."""
    picture = f"data:image/png;base64,{base64.b64encode(trace.pictures[0]).decode('ascii')}"
    lefts, tops, rights, bottoms = zip(*(patch.box for patch in patches), strict=True)
    box = (min(lefts), min(tops), max(rights), max(bottoms))
    return Shown(picture, picture, box)


@cached()
def weights_of(trace: Trace, places: tuple[int, ...], query: int, *, received: bool) -> Floats:
    """The weights of one token in every head, [layer, head, token].

    Args:
        places: which of `tokens_of`, in which order.
        query: one of them, by its place in the trace.
        received: those that it gets, and not those that it gives.
    """
    across = _across(trace)
    blocks = trace.blocks if across is None else trace.of_kind("cross")
    words = 0 if across is None else across.shape[1]
    rows = []
    for block in trace.of_kind(blocks[0].kind):
        heads = range(block.shape[0])
        if received:
            rows.append([block.rows(head, range(block.shape[1]))[:, query - words] for head in heads])
        else:
            rows.append([block.row(head, query) for head in heads])
    found = np.array(rows, np.float32)
    if across is not None:  # words give nothing to words, and get nothing from patches
        beside = (0, across.shape[2]) if received else (words, 0)
        found = np.pad(found, [(0, 0), (0, 0), beside], constant_values=np.nan)
    return found[..., list(places)]


def _across(trace: Trace) -> Block | None:
    """The first cross-attention, if there is any."""
    return next((block for block in trace.blocks if block.kind == "cross"), None)


def tokens_of(trace: Trace) -> tuple[tuple[Token, ...], int]:
    """The words and patches of a trace, and how many of the first ones are words of the text, or 0.

    Where the text has cross-attention to the picture, all words come before what the encoder reads.
    """
    if (across := _across(trace)) is None:
        return trace.tokens, 0
    return (*across.query_tokens, *across.key_tokens), len(across.query_tokens)


def _address(picture: Image.Image) -> str:
    return f"data:image/png;base64,{base64.b64encode(_png(picture)).decode('ascii')}"


def _png(picture: Image.Image) -> bytes:
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()
