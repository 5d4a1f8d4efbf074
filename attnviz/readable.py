"""Checks of a text's length and characters before tokenization."""

from attnviz.errors import TextTooLong, UnreadableText

MAX_CHARACTERS = 20_000
"""The maximum length of a text; a tokenizer needs 30 s and 2 GB for 20 million characters."""

MAX_LONG_CHARACTERS = 200_000
"""The maximum length of a text for users who may open other models."""


def check(text: str, maximum: int = MAX_CHARACTERS) -> None:
    """Raise if a text is too long or contains an invalid character.

    Args:
        maximum: the maximum number of characters.

    Raises:
        TextTooLong: it has more characters.
        UnreadableText: it contains an unpaired surrogate.
    """
    if len(text) > maximum:
        raise TextTooLong(len(text), maximum, unit="characters")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UnreadableText(
            f"Character {error.start + 1} of the text is half of a character "
            f"(U+{ord(text[error.start]):04X}), probably because of a copying error. Delete it and try again."
        ) from error
