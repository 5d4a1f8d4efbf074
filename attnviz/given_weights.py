"""Convert attention weights and tokens from other programs for a trace."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import InvalidTrace
from attnviz.spelling import BROKEN, byte_spelling, spelled_bytes

# "[CLS]", "<s>", "<|endoftext|>", but not a single byte, "<0xE2>".
_SPECIAL = re.compile(r"\[[A-Z_\d]+\]|<(?!0x[\dA-F]{2}>)[^<>\s]+>")
_MAX_BROKEN = 0.1  # maximum fraction of invalid characters, if the tokens are bytes


class Piece(NamedTuple):
    """A token's span in the text, without surrounding space, and the index of its word."""

    start: int
    end: int
    word: int


def layers_of(given: Any, kind: str) -> tuple[dict[int, Any], bool]:
    """Return the weights of each layer by its index, and whether they were generated in steps.

    Args:
        given: a sequence of layers, or the output of transformers' `generate`: a sequence of steps, each a
            sequence of layers [1, head, query, key]. A layer without weights is None and is skipped.
        kind: "encoder", "decoder" or "cross".

    Raises:
        InvalidTrace: the steps do not belong to a single text.
    """
    layers = list(given) if hasattr(given, "__iter__") else [given]
    generated = any(map(_is_step, layers))
    if generated:
        if len({len(step) for step in layers}) > 1:
            raise _not_one_text(kind)
        layers = [_join_steps(steps, kind) for steps in zip(*layers, strict=True)]
    return {number: layer for number, layer in enumerate(layers) if layer is not None}, generated


def as_array(given: Any, dtype: type[np.generic] = np.float32) -> NDArray[Any]:
    """Return an array from an array-like object, or a contiguous one from a torch tensor on any device.

    Raises:
        ValueError, TypeError: it is not an array of numbers, or is a tensor without data.
    """
    if not hasattr(given, "detach"):
        return np.asarray(given.numpy() if hasattr(given, "numpy") else given, dtype=dtype)
    try:
        given = given.detach().cpu()
        # float32 holds every number of bfloat16, a dtype that NumPy does not support, and of float16.
        given = (given.float() if given.is_floating_point() else given).numpy()
    except (NotImplementedError, RuntimeError) as error:  # on the device "meta"
        raise ValueError(str(error)) from error
    return np.ascontiguousarray(given, dtype=dtype)


def decode(tokens: Sequence[str]) -> tuple[str, list[Piece]]:
    """Return the text of the tokens, and each token's span in it.

    Tokens of byte-level BPE ("Ġdog", " dog"), SentencePiece ("▁dog"), WordPiece ("##ing") and BPE with "</w>"
    are recognised by their spelling; other tokens are treated as words.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text, spans = "", []
    for part in _bytes_of(tokens):
        start = len(text)  # an incomplete character of earlier tokens is not yet in the text
        text += decoder.decode(part)
        spans.append((start, len(text) + bool(decoder.getstate()[0])))
    text += decoder.decode(b"", final=True)
    pieces: list[Piece] = []
    for span in spans:
        start, end = _stripped(text, *span)
        begins = not pieces or _begins_word(text, pieces[-1].end, start)
        pieces.append(Piece(start, end, (pieces[-1].word if pieces else -1) + begins))
    return text, pieces


def token_spelling(token: object) -> str:
    """Return a token as text; bytes, as from tiktoken, in the spelling of GPT-2."""
    if isinstance(token, bytes):
        return byte_spelling(token)
    return str(token.item() if hasattr(token, "item") else token)  # the items of a tensor are tensors


def _is_step(given: Any) -> bool:
    if not isinstance(given, tuple | list) or not given:
        return False
    return all(layer is None or getattr(layer, "ndim", 0) == 4 for layer in given)


def _join_steps(steps: Sequence[Any], kind: str) -> NDArray[np.float32] | None:
    """Join the steps of one layer into [head, query, key]; return None for a layer without weights."""
    if all(step is None for step in steps):
        return None
    arrays = [as_array(step) for step in steps if step is not None]
    if len(arrays) < len(steps) or {(len(each), each.shape[1]) for each in arrays} != {
        (1, arrays[0].shape[1])
    }:
        raise _not_one_text(kind)
    # The last row of each step is new: without a cache, a step repeats the earlier rows.
    rows = [arrays[0][0], *(each[0, :, -1:] for each in arrays[1:])]
    if kind == "cross":
        if len({row.shape[2] for row in rows}) > 1:
            raise _not_one_text(kind)
        return np.concatenate(rows, axis=1)
    count = sum(row.shape[1] for row in rows)
    found = np.zeros((len(rows[0]), count, count), np.float32)
    end = 0
    for row in rows:
        start, end = end, end + row.shape[1]
        first = max(end - row.shape[2], 0)  # a sliding window keeps only the last keys
        found[:, start:end, first:end] = row[:, :, : end - first]  # a static cache also has unused keys
    return found


def _not_one_text(kind: str) -> InvalidTrace:
    return InvalidTrace(
        f"The steps of the {kind} attention do not belong to a single text. Call generate with one text, "
        "num_beams=1 and num_return_sequences=1, and pass its complete output."
    )


def _bytes_of(tokens: Sequence[str]) -> list[bytes]:
    """Return each token as UTF-8, including its leading or trailing space."""
    plain = [token for token in tokens if not _SPECIAL.fullmatch(token)]
    if any("▁" in token for token in plain):
        parts = [_sentencepiece(token) for token in tokens]
        return [parts[0].removeprefix(b" "), *parts[1:]]
    if _byte_level(plain):
        return [
            _encoded(token) if _SPECIAL.fullmatch(token) else spelled_bytes(token) or b"" for token in tokens
        ]
    if any(token.startswith(" ") for token in plain):  # as from TransformerLens' to_str_tokens
        return [_encoded(token) for token in tokens]
    if any(token.endswith("</w>") for token in plain):
        return [_encoded(token.removesuffix("</w>") + " " * token.endswith("</w>")) for token in tokens]
    inside = [token.startswith("##") and len(token) > 2 for token in tokens]
    return [
        _encoded(token.removeprefix("##") if inner else f" {token}" if number else token)
        for number, (token, inner) in enumerate(zip(tokens, inside, strict=True))
    ]


def _sentencepiece(token: str) -> bytes:
    if re.fullmatch(r"<0x[\dA-F]{2}>", token):
        return bytes.fromhex(token[3:5])
    return _encoded(token if _SPECIAL.fullmatch(token) else token.replace("▁", " "))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _byte_level(tokens: Sequence[str]) -> bool:
    """Return whether tokens are bytes in the spelling of GPT-2; other tokens do not decode to valid UTF-8."""
    if all(map(str.isascii, tokens)):
        return False
    parts = [spelled_bytes(token) for token in tokens]
    if None in parts:
        return False
    text = b"".join(part for part in parts if part).decode("utf-8", "replace").strip(BROKEN)
    return text.count(BROKEN) <= _MAX_BROKEN * len(text)


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a span without the space around it; a span of only space is unchanged."""
    typed = text[start:end]
    if not typed.strip():
        return start, end
    return end - len(typed.lstrip()), start + len(typed.rstrip())


def _begins_word(text: str, end: int, start: int) -> bool:
    """Return whether a token begins a word, given its start and the end of the token before it."""
    if start < end:
        return False  # both tokens are parts of one character
    around = text[max(end - 1, 0) : start + 1]
    return any(unicodedata.category(character)[0] not in "LNM" for character in around)
