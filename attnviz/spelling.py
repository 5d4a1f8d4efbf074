"""Tokenizers' spellings of spaces, and of bytes that are only part of a character."""

from __future__ import annotations

import re

SPACES = "Ġ▁"
"""The characters that replace a space in tokens: Ġ in GPT-2, ▁ in SentencePiece."""

BROKEN = "\ufffd"
"""The replacement character for bytes that are not valid UTF-8."""

_ONE_BYTE = re.compile(r"<0x([0-9A-F]{2})>")

# GPT-2's alphabet (Radford et al. 2019): printable bytes are unchanged, the others become U+0100 onwards.
_PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_OTHERS = tuple(byte for byte in range(0x100) if byte not in _PRINTABLE)
_BYTES = {chr(byte): byte for byte in _PRINTABLE} | {
    chr(0x100 + number): byte for number, byte in enumerate(_OTHERS)
}
_CHARACTERS = {byte: character for character, byte in _BYTES.items()}


def spelled_bytes(spelling: str) -> bytes | None:
    """Return the bytes that a token spells: "Ġdog" → b" dog" (GPT-2), and "<0xE2>" → one byte (Llama).

    Return None for any other spelling. Tokens of other vocabularies can look like such a spelling.
    """
    if one := _ONE_BYTE.fullmatch(spelling):
        return bytes.fromhex(one[1])
    if all(character in _BYTES for character in spelling):
        return bytes(_BYTES[character] for character in spelling)
    return None


def byte_spelling(token: bytes) -> str:
    """Return bytes in the spelling of GPT-2: b" dog" → "Ġdog"."""
    return "".join(_CHARACTERS[byte] for byte in token)


def complete_text(spelled: bytes) -> str | None:
    """Return bytes as text; None if they are not valid UTF-8, such as a part of a character."""
    try:
        return spelled.decode()
    except UnicodeDecodeError:
        return None


def byte_numbers(spelled: bytes) -> str:
    """Return bytes as numbers, in the spelling of Llama's tokenizer: "<0xF0><0x9F>"."""
    return "".join(f"<0x{byte:02X}>" for byte in spelled)
