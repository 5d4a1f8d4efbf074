"""How tokenizers spell what cannot be printed: spaces, and bytes that are only a part of a character."""

from __future__ import annotations

import re

SPACES = "Ġ▁"
"""The signs that tokenizers write for a space: Ġ as GPT-2 does, ▁ as SentencePiece does."""

BROKEN = "\ufffd"
"""The replacement character for bytes that form no character."""

_ONE_BYTE = re.compile(r"<0x([0-9A-F]{2})>")

# GPT-2's alphabet (Radford et al. 2019): a printable byte is its own sign, the others follow from U+0100 on.
_PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
_OTHERS = tuple(byte for byte in range(0x100) if byte not in _PRINTABLE)
_BYTES = {chr(byte): byte for byte in _PRINTABLE} | {
    chr(0x100 + nth): byte for nth, byte in enumerate(_OTHERS)
}
_SIGNS = {byte: sign for sign, byte in _BYTES.items()}


def spelled_bytes(spelling: str) -> bytes | None:
    """The bytes of a token of a vocabulary of bytes: "Ġdog" → b" dog", and "<0xE2>" → one byte.

    Returns:
        None if it cannot be such a token. Other tokenizers have tokens that only look as if they could.
    """
    if one := _ONE_BYTE.fullmatch(spelling):
        return bytes.fromhex(one[1])
    if all(sign in _BYTES for sign in spelling):
        return bytes(_BYTES[sign] for sign in spelling)
    return None


def byte_spelling(token: bytes) -> str:
    """Return bytes in the spelling of GPT-2: b" dog" → "Ġdog"."""
    return "".join(_SIGNS[byte] for byte in token)


def whole(spelled: bytes) -> str | None:
    """The characters that the bytes make; None if they begin or end inside of one."""
    try:
        return spelled.decode()
    except UnicodeDecodeError:
        return None


def numbered(spelled: bytes) -> str:
    """Bytes that make no character, each by its number, as Llama's tokenizer spells it: "<0xF0><0x9F>"."""
    return "".join(f"<0x{byte:02X}>" for byte in spelled)
