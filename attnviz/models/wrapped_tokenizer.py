"""A wrapper for transformers tokenizers, and for other Python tokenizers with token ids and spellings.

Fast tokenizers return each token's span in the text. For other tokenizers, spellings determine the spans.
"""

from __future__ import annotations

import copy
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from attnviz.errors import ModelNotSupported
from attnviz.spelling import BROKEN, SPACES

Span = tuple[int, int]

_MARKERS = ("##", "@@", "</w>", *SPACES)
"""Tokenizers' markers for a piece inside a word, the end of a word, and a space."""

_NO_LANGUAGE = (
    "This tokenizer has no target language, so the target would begin with the code of the source language. "
    'Set the target language: tokenizer.tgt_lang = "…".'
)


@dataclass(frozen=True)
class Encoded:
    """Token ids of a text or a pair, with the attributes of an `Encoding` in the `tokenizers` library.

    If there are too many tokens, a worker process returns only the ids.
    """

    ids: list[int]
    type_ids: list[int] = field(default_factory=list)
    offsets: list[Span] = field(default_factory=list)
    word_ids: list[int | None] = field(default_factory=list)
    sequence_ids: list[int | None] = field(default_factory=list)
    special_tokens_mask: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)


def is_tokenizer(wrapper: object) -> bool:
    """Return whether an object converts text to token ids and ids to spellings."""
    return callable(wrapper) and hasattr(wrapper, "convert_ids_to_tokens")


class WrappedTokenizer:
    """A transformers tokenizer with the methods of `tokenizers.Tokenizer` that `TextTokenizer` calls.

    Args:
        wrapper: accepted by `is_tokenizer`; it is not changed.
    """

    def __init__(self, wrapper: Any) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a warning of Marian's recommends a package
                self._wrapper = copy.deepcopy(wrapper)
        except Exception:  # noqa: BLE001 - it contains an object that cannot be copied
            self._wrapper = wrapper
        self._lock = threading.Lock()  # transformers' tokenizers change their state on every call
        added = getattr(wrapper, "added_tokens_decoder", {}).items()
        self._special = {
            *getattr(wrapper, "all_special_ids", ()),
            *(each for each, token in added if token.special),
        }
        self._unknown = getattr(wrapper, "unk_token_id", None)

    def encode(self, *texts: str) -> Encoded:
        """Return the tokens of a text, special tokens included; for a fast tokenizer, also of a pair."""
        return self._encoded(self._wrapper, *texts)

    def encode_target(self, text: str) -> Encoded:
        """Return the tokens of a decoder's text.

        Raises:
            ModelNotSupported: it is the tokenizer of a translation model, and its target language is not set.
        """
        if getattr(self._wrapper, "tgt_lang", "") is None:
            raise ModelNotSupported(_NO_LANGUAGE)
        if not hasattr(self._wrapper, "_switch_to_target_mode"):
            return self.encode(text)
        return self._encoded(lambda text, **more: self._wrapper(text_target=text, **more), text)

    def _encoded(self, call: Callable[..., Any], *texts: str) -> Encoded:
        with self._lock:
            body = found = call(*texts)
            if not getattr(found, "encodings", None):
                with suppress(TypeError):  # a plain function lacks this argument
                    body = call(texts[0], add_special_tokens=False)
        found, body = (each if isinstance(each, Mapping) else {"input_ids": each} for each in (found, body))
        ids, inner = ([int(number) for number in each["input_ids"]] for each in (found, body))
        types = found.get("token_type_ids")
        types = [0] * len(ids) if types is None else [int(number) for number in types]
        for fast in getattr(found, "encodings", None) or ():
            if fast.ids == ids:
                return Encoded(
                    ids, types, fast.offsets, fast.word_ids, fast.sequence_ids, fast.special_tokens_mask
                )
        [text] = texts
        starts = (at for at in range(len(ids)) if ids[at : at + len(inner)] == inner)
        places = [*range(len(ids))][next(starts, 0) :][: len(inner)]
        spans = self._spans(text, [ids[place] for place in places])
        offsets: list[Span] = [(0, 0)] * len(ids)
        words: list[int | None] = list(range(len(ids)))
        sentences: list[int | None] = [None] * len(ids)
        for number, place in enumerate(places):
            sentences[place] = 0
            if spans is not None:
                offsets[place], words[place] = spans[number], 0  # one id: words are split later
        return Encoded(ids, types, offsets, words, sentences, [int(each is None) for each in sentences])

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        """Return the text of the tokens."""
        selected = [number for number in ids if not (skip_special_tokens and number in self._special)]
        if not hasattr(self._wrapper, "decode"):
            return " ".join(filter(None, map(self.id_to_token, selected)))
        try:
            return str(self._wrapper.decode(selected, clean_up_tokenization_spaces=False))
        except TypeError:
            return str(self._wrapper.decode(selected))

    def token_to_id(self, spelling: str) -> int | None:
        """Return the id of a token, or None if the vocabulary does not contain it."""
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
        """Return the special tokens by id."""
        return {number: SimpleNamespace(special=True) for number in self._special}

    def no_truncation(self) -> None:
        """Do nothing: the tokenizer truncates only on request."""

    def no_padding(self) -> None:
        """Do nothing: the tokenizer pads only on request."""

    def _spans(self, text: str, ids: Sequence[int]) -> list[Span] | None:
        """Return the spans of the tokens in the text, or None if the tokens do not match the text."""
        spellings = [None if number == self._unknown else self.id_to_token(number) for number in ids]
        lower = text.lower() if len(text.lower()) == len(text) else text
        for cased, change in ((text, str), (lower, str.lower)):
            spans = _aligned(cased, [None if each is None else change(each) for each in spellings])
            if spans is not None:
                return spans
        steps: list[str] = []
        for count in range(len(ids)):
            step = self.decode(ids[: count + 1]).rstrip(BROKEN)
            unfinished = step == (steps[-1].rstrip(BROKEN) if steps else "")
            steps.append(step + BROKEN * unfinished)  # a part of a character, as in ByT5
        return spans_of_steps(steps) if steps and steps[-1] == text else None


def spans_of_steps(steps: Sequence[str]) -> list[Span]:
    """Return the span of each token in the text of all tokens.

    Args:
        steps: the decoded text up to and including each token. Bytes of an incomplete character are
            replacement characters; once the character is complete, its span belongs to all its tokens.
    """
    spans: list[Span] = []
    incomplete: list[int] = []  # tokens with an incomplete last character
    known = broken = 0  # numbers of complete characters so far, and of replacement characters after them
    for place, text in enumerate(steps):
        complete = len(text.rstrip(BROKEN))
        if complete > known:
            start = known
            if text[known] == BROKEN:  # a character that remains incomplete
                run = len(text[known:]) - len(text[known:].lstrip(BROKEN))
                start += min(run, broken)
            else:
                for earlier in incomplete:
                    spans[earlier] = (min(spans[earlier][0], known), known + 1)
            spans.append((start, min(complete + 1, len(text))))
            known, incomplete = complete, []
        elif len(text) > known:
            spans.append((len(text) - 1, len(text)))
        else:
            spans.append((known, known))
        broken = len(text) - complete
        if broken:
            incomplete.append(place)
    return spans


def _aligned(text: str, spellings: Sequence[str | None]) -> list[Span] | None:
    """Return the consecutive spans of the spellings in the text, or None if the spellings do not match it.

    Args:
        spellings: None for an unknown token, whose span is the text between its neighbours.
    """
    spans: list[Span] = []
    unknown: list[int] = []
    end = 0
    for number, spelling in enumerate(spellings):
        spans.append((end, end))
        if spelling is None:
            unknown.append(number)
            continue
        found = _find_span(text, spelling, end, bool(unknown))
        if found is None:
            return None
        for place in unknown:
            spans[place] = (end, max(end, found[0]))
        unknown, spans[-1], end = [], found, found[1]
    for place in unknown:
        spans[place] = (end, len(text))
    return None if not unknown and text[end:].strip() else spans


def _find_span(text: str, spelling: str, end: int, after_unknown: bool) -> Span | None:
    """Return the span of a token at `end`, after white space or, if `after_unknown`, anywhere; or None."""
    bare = spelling
    for marker in _MARKERS:
        bare = bare.removeprefix(marker).removesuffix(marker)
    next_start = len(text) - len(text[end:].lstrip())
    for letters in (spelling, bare):
        if letters and text.startswith(letters, end):
            return end, end + len(letters)
        place = text.find(letters, end) if after_unknown and letters else next_start
        if place >= 0 and text.startswith(letters, place):
            return place, place + len(letters)
    return None
