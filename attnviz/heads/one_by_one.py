"""Many sentences, read one after the other; what the model cannot read is kept, with the reason."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.capture.catalogue import Entry
from attnviz.errors import EmptyText, ModelNotSupported, TextTooLong, UnknownWords, UnreadableText
from attnviz.trace import Kind

CANNOT_READ = (EmptyText, TextTooLong, UnknownWords, UnreadableText)
"""What a model raises at a sentence that is not for it; others may be."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A sentence that was left out.

    Attributes:
        text: the sentence.
        why: in words.
    """

    text: str
    why: str


def self_attention(entry: Entry) -> Kind:
    """The attention by which a model reads a sentence: its encoder's, or that of a decoder alone.

    Raises:
        ModelNotSupported: it reads no texts.
    """
    if entry.sees:
        raise ModelNotSupported("This model sees pictures and reads no sentences. Choose one that does.")
    return "encoder" if "encoder" in entry.kinds else "decoder"
