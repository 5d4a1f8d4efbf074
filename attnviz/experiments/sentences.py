"""Sentences as input of a model; unreadable ones are recorded with the reason."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from attnviz.capture.model import Model, ModelInput
from attnviz.errors import (
    AttnvizError,
    EmptyText,
    ModelNotSupported,
    TextTooLong,
    UnknownWords,
    UnreadableText,
)
from attnviz.models.catalogue import Entry
from attnviz.trace import Kind, Trace


class UnusableSentence(ValueError):
    """A sentence that a model can read but that has no score."""


CANNOT_READ = (EmptyText, TextTooLong, UnknownWords, UnreadableText, UnusableSentence)
"""Errors that skip one sentence; the model can read others."""


@dataclass(frozen=True, slots=True)
class SkippedSentence:
    """A skipped sentence.

    Attributes:
        text: The sentence.
        why: The reason.
    """

    text: str
    why: str


def need_some(read: int, what: str, unread: Sequence[SkippedSentence]) -> None:
    """Check that the model could read at least one example.

    Raises:
        AttnvizError: none was read.
    """
    if not read:
        raise AttnvizError(
            " ".join([f"The model cannot read any of the {what}.", *(e.why for e in unread[:1])])
        )


def reader(entry: Entry, model: Model) -> Callable[[str], Trace]:
    """Return a function that runs one forward pass over a text, sufficient for its self-attention."""
    return lambda text: model.trace(input_of(entry, text))


def input_of(entry: Entry, text: str) -> ModelInput:
    """Return the model's input for its self-attention over a text.

    The encoder does not depend on the decoder, so the decoder gets a target: writing one takes much longer.
    Our own translators are small, and their decoders cannot read English.
    """
    target = text if "cross" in entry.kinds and entry.engine == "transformers" else None
    return ModelInput(text, target=target)


def self_attention(entry: Entry) -> Kind:
    """Return the kind of self-attention over a sentence: "encoder", or "decoder" without an encoder.

    Raises:
        ModelNotSupported: the model does not read text.
    """
    if not entry.reads:
        raise ModelNotSupported("This model does not read text. Choose one that does.")
    return "encoder" if "encoder" in entry.kinds else "decoder"


def return_freed_memory() -> None:
    """Return freed memory to the operating system; only with glibc.

    Tensors of many sizes fragment the heap. glibc keeps the gaps, so that a process that reads sentences of
    many lengths would grow without limit.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
