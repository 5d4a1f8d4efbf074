"""What every tokenizer can be given: whole characters, and not too many of them."""

from attnviz.errors import TextTooLong, UnreadableText

MAX_CHARACTERS = 20_000
"""The longest text that is cut into tokens: a tokenizer takes 30 s and 2 GB for 20 million characters."""

MAX_LONG_CHARACTERS = 200_000
"""The same for those who may open models of their own."""


def check(text: str, maximum: int = MAX_CHARACTERS) -> None:
    """Refuse a text that no tokenizer should be given.

    Args:
        maximum: how many characters it may have.

    Raises:
        TextTooLong: it has more.
        UnreadableText: half a surrogate pair.
    """
    if len(text) > maximum:
        raise TextTooLong(len(text), maximum, unit="characters")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UnreadableText(
            f"Character {error.start + 1} of the text is half of a character "
            f"(U+{ord(text[error.start]):04X}), as damaged copying leaves behind. Delete it and try again."
        ) from error
