"""What every tokenizer can be given: whole characters, and not too many of them."""

from attnviz.errors import TextTooLong, UnreadableText

MAX_CHARACTERS = 20_000
"""The longest text that is cut into tokens: a tokenizer takes 30 s and 2 GB for 20 million characters."""


def check(text: str) -> None:
    """Refuse a text that no tokenizer should be given.

    Raises:
        TextTooLong: it has more than `MAX_CHARACTERS`.
        UnreadableText: half a surrogate pair.
    """
    if len(text) > MAX_CHARACTERS:
        raise TextTooLong(len(text), MAX_CHARACTERS, unit="characters")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UnreadableText(
            f"Character {error.start + 1} of the text is half of a character "
            f"(U+{ord(text[error.start]):04X}), as damaged copying leaves behind. Delete it and try again."
        ) from error
