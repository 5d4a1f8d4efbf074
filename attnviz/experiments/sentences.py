"""Many sentences, read one after the other; what the model cannot read is kept, with the reason."""

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
    """A sentence that a model can read but that has no score; see the message."""


CANNOT_READ = (EmptyText, TextTooLong, UnknownWords, UnreadableText, UnusableSentence)
"""What is raised at a sentence that is not for a model; others may be."""


@dataclass(frozen=True, slots=True)
class SkippedSentence:
    """A skipped sentence.

    Attributes:
        text: the sentence.
        why: in words.
    """

    text: str
    why: str


def need_some(read: int, what: str, unread: Sequence[SkippedSentence]) -> None:
    """Refuse what was computed over nothing.

    Raises:
        AttnvizError: none was read.
    """
    if not read:
        raise AttnvizError(
            " ".join([f"The model can read none of the {what}.", *(e.why for e in unread[:1])])
        )


def reader(entry: Entry, model: Model) -> Callable[[str], Trace]:
    """One forward pass over a text, with no more work than its self-attention needs."""
    return lambda text: model.trace(input_of(entry, text))


def input_of(entry: Entry, text: str) -> ModelInput:
    """Return the model's input for its self-attention over a text.

    An encoder reads the same whatever its decoder does, so the decoder is given something to read: to write
    a text of its own takes much longer. Only our translators, which are small, have no use for English there.
    """
    target = text if "cross" in entry.kinds and entry.engine == "transformers" else None
    return ModelInput(text, target=target)


def self_attention(entry: Entry) -> Kind:
    """The attention by which a model reads a sentence: its encoder's, or that of a decoder alone.

    Raises:
        ModelNotSupported: it reads no texts.
    """
    if not entry.reads:
        raise ModelNotSupported("This model reads no sentences. Choose one that does.")
    return "encoder" if "encoder" in entry.kinds else "decoder"


def return_freed_memory() -> None:
    """Hand back what has been freed; only where the C library is glibc, elsewhere nothing.

    Tensors of many sizes leave gaps between them. glibc keeps these for later, and a process that reads
    sentences of ever other lengths would seem to grow without end.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
