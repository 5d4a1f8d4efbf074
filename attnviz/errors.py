"""Errors of a visitor's input. Each message explains what is wrong and what to do."""

from collections.abc import Mapping, Sequence
from typing import Literal

_MAX_QUOTED = 40  # characters of an unknown word that the message repeats
_MAX_NAME_LENGTH = 60  # and of a name


class AttnvizError(ValueError):
    """The base of every error with a message for the visitor."""


class EmptyText(AttnvizError):
    """The text holds nothing that the model's tokenizer keeps."""


class TextTooLong(AttnvizError):
    """The text has more tokens than the model can read, or more characters than any tokenizer is given.

    Attributes:
        tokens: how many tokens the text has, special tokens included; None if it has too many characters.
        limit: how many tokens the model can read, or how many characters a text may have.
    """

    def __init__(
        self,
        length: int,
        limit: int,
        *,
        unit: Literal["tokens", "characters"] = "tokens",
        together: bool = False,
    ) -> None:
        self.tokens = length if unit == "tokens" else None
        self.limit = limit
        these, them = ("The two texts together have", "them") if together else ("This text has", "it")
        who = "the model" if unit == "tokens" else "attnviz"
        super().__init__(
            f"{these} {length:,} {unit}; {who} reads at most {limit:,}. "
            f"Shorten {them} by {length - limit:,} {unit} or more and try again."
        )


class UnknownModel(AttnvizError):
    """No model goes by this name."""


class ModelFilesDamaged(AttnvizError):
    """A model's files are missing or are not the ones that were published."""


class ModelNotSupported(AttnvizError):
    """The model runs, but its attention cannot be shown exactly, so it is not shown at all."""


class AttentionNotRead(ModelNotSupported):
    """The model's attention cannot be taken apart; its weights may be shown all the same, alone."""


class ModelTooLarge(AttnvizError):
    """The model needs more memory than the operator of this attnviz allows.

    Attributes:
        needed: bytes that its numbers take in memory.
        limit: bytes that they may take.
    """

    def __init__(self, needed: int, limit: int, remedy: str) -> None:
        self.needed = needed
        self.limit = limit
        super().__init__(
            f"This model takes {needed / 1e9:,.1f} GB of memory; the limit here is {limit / 1e9:,g} GB. "
            f"{remedy}"
        )


class ModelNotReachable(AttnvizError):
    """The model may well exist, but it cannot be fetched: no network, no permission, or the hub fails."""


class WrongSetting(AttnvizError):
    """An environment variable, by which the operator sets up attnviz, cannot be read."""


class InvalidTrace(AttnvizError):
    """Arrays that cannot be one forward pass: a shape, a mask or a number is wrong."""


class InvalidMask(AttnvizError):
    """A mask of the wrong size or type, or with a row without an unmasked key."""


class InvalidEdit(AttnvizError):
    """A change to a model's attention that cannot be read, or for which sentence or model have no place."""


class UnreadableText(AttnvizError):
    """The text holds something that is no character, so no tokenizer can read it."""


class UnreadablePicture(AttnvizError):
    """A file that is no picture, or a picture that is too large."""


class InvalidQuestion(AttnvizError):
    """A question cannot be asked as it is."""


class UnknownWords(AttnvizError):
    """Some words are not in the vocabulary of a model of whole words.

    Attributes:
        words: the unknown words as they were typed, each with the nearest known ones, nearest first.
    """

    def __init__(self, words: Mapping[str, Sequence[str]]) -> None:
        self.words = dict(words)
        quoted = "; ".join(_with_nearest(word, nearest) for word, nearest in words.items())
        super().__init__(f"Not in the vocabulary of this small model: {quoted}. Use other words.")


def _with_nearest(word: str, nearest: Sequence[str]) -> str:
    quoted = word if len(word) <= _MAX_QUOTED else f"{word[:_MAX_QUOTED]}…"
    return f"“{quoted}” (similar: {', '.join(nearest)})" if nearest else f"“{quoted}”"


def quoted(name: str) -> str:
    """A name as a message repeats it: in quotation marks, shortened, without half characters."""
    shown = name if len(name) <= _MAX_NAME_LENGTH else f"{name[:_MAX_NAME_LENGTH]}…"
    return f"“{shown.encode('utf-8', 'replace').decode()}”"
