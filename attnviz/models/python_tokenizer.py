"""Tokenizers written in Python: token ids and their spellings are enough, positions in the text are found."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from attnviz.spelling import BROKEN, SPACES

Span = tuple[int, int]

_MARKS = ("##", "@@", "</w>", *SPACES)
"""How tokenizers mark a piece inside a word, the end of a word, and a space."""


@dataclass(frozen=True)
class Encoded:
    """Token ids of a text or a pair, with the attributes of an `Encoding` of the `tokenizers` library."""

    ids: list[int]
    type_ids: list[int]
    offsets: list[Span]
    word_ids: list[int | None]
    sequence_ids: list[int | None]
    special_tokens_mask: list[int]

    def __len__(self) -> int:
        return len(self.ids)


def is_tokenizer(wrapper: object) -> bool:
    """Return whether an object makes token ids of a text and spells them."""
    return callable(wrapper) and hasattr(wrapper, "convert_ids_to_tokens")


class PythonTokenizer:
    """A Python tokenizer with the methods of `tokenizers.Tokenizer` that `TextTokenizer` calls.

    Args:
        wrapper: as `is_tokenizer` accepts it; it is not changed.
        target: whether it reads the decoder's targets (`text_target`).
    """

    def __init__(self, wrapper: Any, *, target: bool = False) -> None:
        try:
            self._wrapper = copy.deepcopy(wrapper)
        except Exception:  # noqa: BLE001 - it holds something of its own that cannot be copied
            self._wrapper = wrapper
        self._argument = "text_target" if target else "text"
        self._lock = threading.Lock()  # translators' tokenizers switch languages on each call
        self._special = {*getattr(wrapper, "all_special_ids", ())}

    def encode(self, *texts: str) -> Encoded:
        """Return the tokens of a text or a pair, special tokens included."""
        found = self._ids(texts)
        ids = [int(number) for number in found["input_ids"]]
        bodies = [self._body(text) for text in texts]
        sentences = _sentences(ids, bodies, self._special - {getattr(self._wrapper, "unk_token_id", None)})
        offsets: list[Span] = [(0, 0)] * len(ids)
        words: list[int | None] = list(range(len(ids)))
        for number, text in enumerate(texts):
            places = [place for place, sentence in enumerate(sentences) if sentence == number]
            spans = self._spans(text, [ids[place] for place in places])
            for place, span in zip(places, spans or (), strict=False):
                offsets[place], words[place] = span, 0  # white space and punctuation separate the words
        types = found.get("token_type_ids")
        return Encoded(
            ids,
            [0] * len(ids) if types is None else [int(number) for number in types],
            offsets,
            words,
            sentences,
            [int(sentence is None) for sentence in sentences],
        )

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        """Return the text that the tokens make."""
        kept = [number for number in ids if not (skip_special_tokens and number in self._special)]
        if not hasattr(self._wrapper, "decode"):
            return " ".join(filter(None, map(self.id_to_token, kept)))
        try:
            return str(self._wrapper.decode(kept, clean_up_tokenization_spaces=False))
        except TypeError:
            return str(self._wrapper.decode(kept))

    def token_to_id(self, spelling: str) -> int | None:
        """Return the id of a token, or None if the vocabulary lacks it."""
        convert = getattr(self._wrapper, "convert_tokens_to_ids", None)
        number = None if convert is None else convert(spelling)
        return number if isinstance(number, int) and self.id_to_token(number) == spelling else None

    def id_to_token(self, number: int) -> str | None:
        """Return the spelling of a token, or None if it has none."""
        try:
            [spelling] = self._wrapper.convert_ids_to_tokens([number])
        except (IndexError, KeyError, OverflowError, TypeError, ValueError):
            return None
        if isinstance(spelling, bytes):
            return spelling.decode("utf-8", "backslashreplace")
        return None if spelling is None else str(spelling)

    def get_added_tokens_decoder(self) -> dict[int, Any]:
        """Return the special tokens by their ids."""
        return {number: SimpleNamespace(special=True) for number in self._special}

    def no_truncation(self) -> None:
        """Do nothing: it truncates only if it is asked to."""

    def no_padding(self) -> None:
        """Do nothing: it pads only if it is asked to."""

    def _ids(self, texts: Sequence[str], **more: Any) -> Mapping[str, Any]:
        with self._lock:
            if self._argument == "text_target":
                found = self._wrapper(text_target=texts[0], **more)
            else:
                found = self._wrapper(*texts, **more)
        return found if isinstance(found, Mapping) else {"input_ids": found}

    def _body(self, text: str) -> list[int]:
        """Return the tokens of a text without those that are added around it."""
        try:
            return [int(number) for number in self._ids([text], add_special_tokens=False)["input_ids"]]
        except TypeError:
            return [int(number) for number in self._ids([text])["input_ids"] if number not in self._special]

    def _spans(self, text: str, ids: Sequence[int]) -> list[Span] | None:
        """Return where the tokens are in the text, or None where they do not spell it."""
        unknown = getattr(self._wrapper, "unk_token_id", None)
        spellings = [None if number == unknown else self.id_to_token(number) for number in ids]
        lower = text.lower() if len(text.lower()) == len(text) else text
        for cased, change in ((text, str), (lower, str.lower)):
            tokens = [None if each is None else change(each) for each in spellings]
            for overlap in (False, True):
                spans = _aligned(cased, tokens, overlap=overlap)
                if spans is not None:
                    return spans
        steps: list[str] = []
        for count in range(len(ids)):
            step = self.decode(ids[: count + 1]).rstrip(BROKEN)
            unfinished = step == (steps[-1].rstrip(BROKEN) if steps else "")
            steps.append(step + BROKEN * unfinished)  # a part of a character, as ByT5's are
        return spans_of_steps(steps) if steps and steps[-1] == text else None


def spans_of_steps(steps: Sequence[str]) -> list[Span]:
    """Return the span of each token in the text that all of them make.

    Args:
        steps: the text after each token. Bytes that are not yet a whole character are the sign for broken
            ones; when the character is whole, all its tokens get its span.
    """
    spans: list[Span] = []
    waiting: list[int] = []  # tokens with an incomplete last character
    known = broken = 0  # characters that are whole before this token, and signs for broken ones behind them
    for place, text in enumerate(steps):
        whole = len(text.rstrip(BROKEN))
        if whole > known:
            start = known
            if text[known] == BROKEN:  # it will never be whole
                run = len(text[known:]) - len(text[known:].lstrip(BROKEN))
                start += min(run, broken)
            else:
                for earlier in waiting:
                    spans[earlier] = (min(spans[earlier][0], known), known + 1)
            spans.append((start, min(whole + 1, len(text))))
            known, waiting = whole, []
        elif len(text) > known:
            spans.append((len(text) - 1, len(text)))
        else:
            spans.append((known, known))
        broken = len(text) - whole
        if broken:
            waiting.append(place)
    return spans


def _sentences(ids: Sequence[int], bodies: Sequence[list[int]], special: Iterable[int]) -> list[int | None]:
    """Return the sentence that each token belongs to, or None for those that the tokenizer added."""
    found: list[int | None] = [None] * len(ids)
    at = 0
    for number, body in enumerate(bodies):
        starts = [start for start in range(at, len(ids) - len(body) + 1) if ids[start:][: len(body)] == body]
        if not starts or not body:
            break
        start = starts[-1] if number else starts[0]
        found[start : start + len(body)] = [number] * len(body)
        at = start + len(body)
    else:
        return found
    added = {*special}
    return [None if number in added else 0 for number in ids]


def _aligned(text: str, spellings: Sequence[str | None], *, overlap: bool) -> list[Span] | None:
    """Return where the spellings are in the text, one after another, or None where they are not.

    Args:
        spellings: None for a token that the vocabulary lacks: it is whatever is between its neighbours.
        overlap: whether each begins within the one before, as k-mers of DNA may.
    """
    spans: list[Span] = []
    unknown: list[int] = []
    start = end = 0
    for number, spelling in enumerate(spellings):
        if spelling is None:
            unknown.append(number)
            spans.append((end, end))
            continue
        found = _found(text, spelling, start + 1 if overlap and number else end, end, bool(unknown))
        if found is None:
            return None
        for place in unknown:
            spans[place] = (end, max(end, found[0]))
        unknown = []
        start, end = found
        spans.append(found)
    for place in unknown:
        spans[place] = (end, len(text))
    return None if not unknown and text[end:].strip() else spans


def _found(text: str, spelling: str, first: int, end: int, after_unknown: bool) -> Span | None:
    """Return where a token is, at `first` or behind the white space there; in an overlap up to `end`."""
    bare = spelling
    for mark in _MARKS:
        bare = bare.removeprefix(mark).removesuffix(mark)
    for letters in dict.fromkeys((spelling, bare)):
        if after_unknown and letters:
            place = text.find(letters, first)
            if place >= 0:
                return place, place + len(letters)
        for place in range(first, max(first, end) + 1):
            if text.startswith(letters, place) and letters:
                return place, place + len(letters)
        place = len(text) - len(text[end:].lstrip())
        if text.startswith(letters, place):
            return place, place + len(letters)
    return None
