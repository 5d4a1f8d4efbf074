"""From a text to tokens that know where they stand in it."""

from __future__ import annotations

import unicodedata
from functools import cache
from pathlib import Path

from attnviz.errors import EmptyText, TextTooLong, UnreadableText
from attnviz.trace import Token


class Reader:
    """A model's tokenizer, with the checks that a visitor's text needs.

    It reads `tokenizer.json` by the `tokenizers` library alone: without torch or transformers, and without
    the state that transformers' wrapper changes on every call, so any number of threads may share one.
    """

    def __init__(self, folder: Path, token_limit: int) -> None:
        from tokenizers import Tokenizer  # importing attnviz does without

        self.token_limit = token_limit
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        # The published file truncates and pads for its training batches; here nothing is cut in silence.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def tokens(self, text: str) -> tuple[Token, ...]:
        """The text's tokens, special tokens included.

        Raises:
            EmptyText: the tokenizer keeps nothing of the text.
            TextTooLong: there are more tokens than the model reads.
            UnreadableText: half a surrogate pair, which stands for no character.
        """
        broken = next((place for place, letter in enumerate(text) if "\ud800" <= letter <= "\udfff"), None)
        if broken is not None:
            raise UnreadableText(
                f"Character {broken + 1} of the text is half of a character (U+{ord(text[broken]):04X}), "
                "as damaged copying leaves behind. Delete it and try again."
            )
        encoding = self._tokenizer.encode(text)
        if len(encoding) > self.token_limit:
            raise TextTooLong(len(encoding), self.token_limit)
        special = [bool(flag) for flag in encoding.special_tokens_mask]
        if all(special):
            raise EmptyText(
                "There is nothing here for the model to read. Type a sentence, for example: The dog is tired."
            )
        ends = [_with_combining_marks(text, end) for _, end in encoding.offsets]
        return tuple(
            Token(text=piece, id=number, start=start, end=end, word=word, special=added)
            for piece, number, (start, _), end, word, added in zip(
                encoding.tokens, encoding.ids, encoding.offsets, ends, encoding.word_ids, special, strict=True
            )
        )


@cache
def reader(folder: Path, token_limit: int) -> Reader:
    """The reader of a model folder; read from disk once."""
    return Reader(folder, token_limit)


def _with_combining_marks(text: str, end: int) -> int:
    """Where a token ends with the accents that belong to its last letter.

    A tokenizer that strips accents leaves a decomposed one outside of its token's span: half a letter.
    """
    while 0 < end < len(text) and unicodedata.category(text[end]).startswith("M"):
        end += 1
    return end
