"""Errors caused by a user's input. Each message explains what is wrong and what to do."""

from collections.abc import Mapping, Sequence
from typing import Literal

_MAX_QUOTED = 40  # maximum number of characters of an unknown word in a message
_MAX_NAME_LENGTH = 60  # maximum number of characters of a name in a message


class AttnvizError(ValueError):
    """Base class of all errors with a message for the user."""


class EmptyText(AttnvizError):
    """The text has no tokens for the model."""


class TextTooLong(AttnvizError):
    """The text has more tokens than the model can read, or more characters than attnviz allows.

    Attributes:
        tokens: the number of tokens, special tokens included; None if there are too many characters.
        limit: the maximum number of tokens or characters.
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
        subject, pronoun = ("The two texts together have", "them") if together else ("This text has", "it")
        reader = "the model" if unit == "tokens" else "attnviz"
        excess = length - limit
        super().__init__(
            f"{subject} {length:,} {unit}; {reader} reads at most {limit:,}. "
            f"Shorten {pronoun} by {excess:,} {unit if excess > 1 else unit[:-1]} or more and try again."
        )


class UnknownModel(AttnvizError):
    """There is no model with this name."""


class ModelFilesDamaged(AttnvizError):
    """A model's files are missing, damaged, or different from the published files."""


class ModelNotSupported(AttnvizError):
    """The model's attention cannot be recorded exactly, or the model does not support this input."""


class AttentionNotRead(ModelNotSupported):
    """The model's attention cannot be decomposed, but its weights may still be available."""


class ModelTooLarge(AttnvizError):
    """The model needs more memory than the operator allows.

    Attributes:
        needed: the size of its parameters in memory, in bytes.
        limit: the maximum size, in bytes.
    """

    def __init__(self, needed: int, limit: int, remedy: str) -> None:
        self.needed = needed
        self.limit = limit
        super().__init__(
            f"This model takes {needed / 1e9:,.1f} GB of memory; the limit here is {limit / 1e9:,g} GB. "
            f"{remedy}"
        )


class ModelNotReachable(AttnvizError):
    """The model cannot be downloaded: there is no network or no permission, or the hub fails."""


class WrongSetting(AttnvizError):
    """An environment variable, set by the operator, has an invalid value."""


class InvalidTrace(AttnvizError):
    """Invalid arrays (shape, mask or numbers), or a layer, head or token that a trace does not have."""


class InvalidMask(AttnvizError):
    """A mask with the wrong size or type, or with a row in which all keys are masked."""


class InvalidEdit(AttnvizError):
    """An edit that cannot be parsed, or an edit of a layer, head or token that does not exist."""


class UnreadableText(AttnvizError):
    """The text contains an invalid character, which no tokenizer can read."""


class UnreadablePicture(AttnvizError):
    """A file that is not an image, or an image that is too large."""


class InvalidQuestion(AttnvizError):
    """A poll question with an invalid text or invalid options."""


class UnknownWords(AttnvizError):
    """Some words are not in the vocabulary of a word-level model.

    Attributes:
        words: the unknown words as typed, each with similar known words, the most similar first.
    """

    def __init__(self, words: Mapping[str, Sequence[str]]) -> None:
        self.words = dict(words)
        quoted = "; ".join(_with_nearest(word, nearest) for word, nearest in words.items())
        super().__init__(f"Not in the vocabulary of this small model: {quoted}. Use other words.")


def _with_nearest(word: str, nearest: Sequence[str]) -> str:
    quoted = word if len(word) <= _MAX_QUOTED else f"{word[:_MAX_QUOTED]}…"
    return f"“{quoted}” (similar: {', '.join(nearest)})" if nearest else f"“{quoted}”"


def quoted(name: str) -> str:
    """Return a name for a message: in quotation marks, shortened, without lone surrogates."""
    shown = name if len(name) <= _MAX_NAME_LENGTH else f"{name[:_MAX_NAME_LENGTH]}…"
    return f"“{shown.encode('utf-8', 'replace').decode()}”"
