"""Everything that can go wrong with a visitor's input, each with a sentence that says what to do."""

from collections.abc import Mapping, Sequence

_MOST_QUOTED = 40  # characters of an unknown word that the message repeats


class AttnvizError(ValueError):
    """The base of every error whose message is written for the visitor."""


class EmptyText(AttnvizError):
    """The text holds nothing that the model's tokenizer keeps."""


class TextTooLong(AttnvizError):
    """The text has more tokens than the model can read.

    Attributes:
        tokens: how many tokens the text has, special tokens included.
        limit: how many the model can read.
    """

    def __init__(self, tokens: int, limit: int) -> None:
        self.tokens = tokens
        self.limit = limit
        super().__init__(
            f"This text has {tokens:,} tokens; the model reads at most {limit:,}. "
            f"Shorten it by {tokens - limit:,} tokens or more and try again."
        )


class UnknownModel(AttnvizError):
    """No model goes by this name."""


class ModelFilesDamaged(AttnvizError):
    """A model's files are missing or are not the ones that were published."""


class ModelNotSupported(AttnvizError):
    """The model runs, but its attention cannot be shown exactly, so it is not shown at all."""


class InvalidTrace(AttnvizError):
    """Arrays that cannot be one forward pass: a shape, a mask or a number is wrong."""


class InvalidEdit(AttnvizError):
    """A change to a model's attention that cannot be read, or for which sentence or model have no place."""


class UnreadableText(AttnvizError):
    """The text holds something that is no character, so no tokenizer can read it."""


class UnknownWords(AttnvizError):
    """Some words are not in the vocabulary of a model that knows whole words only.

    Attributes:
        words: the unknown words as they were typed, each with the nearest known ones, nearest first.
    """

    def __init__(self, words: Mapping[str, Sequence[str]]) -> None:
        self.words = dict(words)
        quoted = "; ".join(_with_nearest(word, nearest) for word, nearest in words.items())
        super().__init__(f"This model has never seen {quoted}. It knows whole words only: use others.")


def _with_nearest(word: str, nearest: Sequence[str]) -> str:
    quoted = word if len(word) <= _MOST_QUOTED else f"{word[:_MOST_QUOTED]}…"
    return f"“{quoted}” (nearest known: {', '.join(nearest)})" if nearest else f"“{quoted}”"
