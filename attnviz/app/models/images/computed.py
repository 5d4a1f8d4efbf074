"""Cached forward passes over images."""

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

_MAX_WEIGHT_BYTES = 2 * 10**8  # of a cached trace; for longer texts, queries and keys are cached instead
_MAX_THUMBNAIL_SIDE = 224  # pixels


@cached()
def example_png(name: str) -> bytes:
    """Return an example as a PNG file."""
    return _png(Image.fromarray(sample(name)))


class ShownPicture(NamedTuple):
    """A picture, and the version that the model reads, as data URLs.

    Attributes:
        whole: The original picture; for a vision-language model, the same as `seen`.
        seen: The picture that the model reads; for an image model, only the part that its patches cover.
        box: Edges of the area of the patches, as fractions of `seen`.
    """

    whole: str
    seen: str
    box: tuple[float, float, float, float] = (0.0, 0.0, 1.0, 1.0)


class ProcessedPicture(NamedTuple):
    """The trace and the shown versions of a picture."""

    trace: Trace
    shown: ShownPicture


@cached("Running the model on the image …")
def processed(model: Entry, name: str, file: bytes) -> ProcessedPicture:
    """Run a model on a picture. Cached, because large pictures take a long time to decode.

    Args:
        model: An image model.
        name: Name of the picture in the trace.
        file: The picture, in one of `PICTURE_FORMATS`.

    Raises:
        AttnvizError: the model or the picture cannot be used.
    """
    from attnviz.capture import pictures

    picture = pictures.upright(pictures.opened(file))
    trace = loading.look(model.name, picture, name)
    seen, _ = loading.prepared_picture(model.name, picture)
    picture.thumbnail((_MAX_THUMBNAIL_SIDE, _MAX_THUMBNAIL_SIDE))
    return ProcessedPicture(trace, ShownPicture(_data_url(picture), _data_url(seen)))


@cached("Running the model on the image and the text …")
def read(model: Entry, file: bytes, text: str) -> tuple[Trace, Prediction]:
    """Run a vision-language model; return the trace and the prediction. Raises the errors of `processed`."""
    given = ModelInput(text, images=(file,))
    trace = loading.trace(model.name, given, selection=Selection(max_weight_bytes=_MAX_WEIGHT_BYTES))
    [expected] = loading.load(model.name).predictions(given)
    return trace, expected


def view(trace: Trace, patches: Sequence[Patch]) -> ShownPicture:
    """Return the picture that a vision-language model has read, and the area of these patches."""
    picture = f"data:image/png;base64,{base64.b64encode(trace.pictures[0]).decode('ascii')}"
    lefts, tops, rights, bottoms = zip(*(patch.box for patch in patches), strict=True)
    box = (min(lefts), min(tops), max(rights), max(bottoms))
    return ShownPicture(picture, picture, box)


@cached()
def weights_of(trace: Trace, places: tuple[int, ...], query: int, *, received: bool) -> Floats:
    """Return the weights of one token in every head, [layer, head, token]; NaN without attention.

    Args:
        places: Indices into `tokens_of`, in the order of the result.
        query: Index of the token in `tokens_of`.
        received: Return the weights on the token (its column), not those from it (its row).
    """
    cross_block = _first_cross_block(trace)
    blocks = trace.blocks if cross_block is None else trace.of_kind("cross")
    words = 0 if cross_block is None else cross_block.shape[1]
    rows = []
    for block in trace.of_kind(blocks[0].kind):
        heads = range(block.shape[0])
        if received:
            rows.append([block.rows(head, range(block.shape[1]))[:, query - words] for head in heads])
        else:
            rows.append([block.row(head, query) for head in heads])
    found = np.array(rows, np.float32)
    if cross_block is not None:  # in cross-attention, text tokens attend to the picture only
        padding = (0, cross_block.shape[2]) if received else (words, 0)
        found = np.pad(found, [(0, 0), (0, 0), padding], constant_values=np.nan)
    return found[..., list(places)]


def _first_cross_block(trace: Trace) -> Block | None:
    """Return the first cross-attention block; None if there is none."""
    return next((block for block in trace.blocks if block.kind == "cross"), None)


def tokens_of(trace: Trace) -> tuple[tuple[Token, ...], int]:
    """Return the tokens of a trace and, with cross-attention to the picture, the number of text tokens.

    The text tokens come before the tokens of the encoder. Without cross-attention, the number is 0.
    """
    if (cross_block := _first_cross_block(trace)) is None:
        return trace.tokens, 0
    return (*cross_block.query_tokens, *cross_block.key_tokens), len(cross_block.query_tokens)


def _data_url(picture: Image.Image) -> str:
    return f"data:image/png;base64,{base64.b64encode(_png(picture)).decode('ascii')}"


def _png(picture: Image.Image) -> bytes:
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()
