"""Displayed tokens and their labels, optionally with special tokens hidden and word pieces merged.

`keys=None` means self-attention: the key tokens are the query tokens.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import AttnvizError
from attnviz.spelling import BROKEN, SPACES, byte_numbers, complete_text, spelled_bytes
from attnviz.text import isolated, joined, percent
from attnviz.trace import Floats, Kind, Mask, Token, Trace

UNKNOWN = ("[UNK]", "<unk>")
"""The spellings of unknown tokens."""

_MAX_QUOTED = 12
_SENTENCES = ("first sentence", "second sentence")
_SPACE_SIGNS = str.maketrans({"\n": "⏎", "\t": "⇥"})

MIN_SHOWN_SHARE = 0.1
"""Minimum fraction of a row's weight on displayed tokens; rows below it are drawn faintly.

Rescaling multiplies their weights by more than ten.
"""

Index = slice | NDArray[np.intp]
Value = TypeVar("Value", bound=np.generic)


@dataclass(frozen=True, slots=True)
class DisplayToken:
    """One displayed row or column: a token, or the pieces of one word.

    Attributes:
        label: Readable label. A piece inside a word begins with ##, as in BERT's tokenizer; tokens that share
            a character are numbered ("😀 1/3"); the label of an unknown token includes the typed text. The
            label of merged pieces is their word.
        title: One line of plain text: the position, the typed text and its character range, and the
            tokenizer's spelling if it differs from the label.
        special: True if the tokenizer added it.
        number: Position of the first token, from 1.
        positions: Positions of the group's tokens, from 0.
        characters: Start and end in the text; (0, 0) for special tokens, and for a group from two texts.
    """

    label: str
    title: str
    special: bool
    number: int
    positions: tuple[int, ...]
    characters: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class DisplayTokens:
    """The displayed tokens of one text, or of a pair of sentences.

    Args:
        tokens: All tokens, in order.
        text: The typed text followed by the generated text; a token's characters are `text[start:end]`.
        hide_special: Hide the tokens that the tokenizer added.
        merge_words: Merge the pieces of a word.
        second: The second sentence of a pair.
        only_sentence: Show the tokens of one sentence only, 0 or 1; None shows both. BERT's [CLS] and first
            [SEP] belong to the first sentence, its last [SEP] to the second.
        written: Number of generated tokens at the end.
        sink: True if heads have a sink: part of each row's weight is on no token (`Block.sinks`).

    Attributes:
        groups: Displayed groups, in order.
        all_groups: All groups, including hidden ones.

    Raises:
        AttnvizError: there is no token to show, or the second sentence is missing.
    """

    tokens: tuple[Token, ...]
    text: str
    hide_special: bool = False
    merge_words: bool = False
    second: str | None = None
    only_sentence: int | None = None
    written: int = 0
    sink: bool = False
    all_groups: tuple[DisplayToken, ...] = field(init=False, repr=False, compare=False)
    groups: tuple[DisplayToken, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.second is None and any(token.sentence for token in self.tokens):
            raise AttnvizError("These are the tokens of two sentences, but the second sentence is missing.")
        all_groups = tuple(self._group(positions) for positions in self._position_groups())
        object.__setattr__(self, "all_groups", all_groups)
        object.__setattr__(self, "groups", tuple(all_groups[index] for index in self.visible))
        if not any(self._is_selected(group) for group in all_groups):
            raise AttnvizError("There is no second sentence. Enter one, or show all tokens.")
        if not self.groups:
            raise AttnvizError("All tokens are special tokens. Show special tokens, or enter another text.")

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the displayed groups."""
        return tuple(group.label for group in self.groups)

    @property
    def visible(self) -> tuple[int, ...]:
        """The indices of `groups` in `all_groups`."""
        return tuple(
            index
            for index, group in enumerate(self.all_groups)
            if self._is_selected(group) and not (self.hide_special and group.special)
        )

    @property
    def has_hidden(self) -> bool:
        """True if a token is hidden."""
        return len(self.groups) < len(self.all_groups)

    @property
    def hidden(self) -> str:
        """The hidden tokens, and the sink if there is one: "[CLS] and [SEP]"; "" if no token is hidden."""
        shown = set(self.visible)
        omitted = [group for index, group in enumerate(self.all_groups) if index not in shown]
        names = list(dict.fromkeys(group.label for group in omitted))
        if not all(group.special for group in omitted):
            names = ["tokens that are not shown"]
        return joined([*names, "the sink"] if self.sink and self.has_hidden else names)

    @property
    def has_merged(self) -> bool:
        """True if a group has several pieces."""
        return any(len(group.positions) > 1 for group in self.all_groups)

    @property
    def explanation(self) -> str:
        """How the displayed weights were computed from the model's weights, in words."""
        rescaling = "part of each row’s weight is on the head’s sink, not on a token" if self.sink else ""
        if self.has_hidden:
            rescaling = "each row rescaled to sum to 100 %" + (", without the sink" if self.sink else "")
        return "; ".join(filter(None, (*self._notes(), rescaling))) or "nothing hidden, merged or rescaled"

    @property
    def explanation_of_scores(self) -> str:
        """The explanation of displayed scores, which are never rescaled or merged."""
        return "; ".join(self._notes()) or "nothing hidden, merged or rescaled"

    def index_of(self, position: int) -> int | None:
        """Return the index of the group with the token at `position`, from 0; None if hidden or missing."""
        for index, group in enumerate(self.groups):
            if position in group.positions:
                return index
        return None

    def _is_selected(self, group: DisplayToken) -> bool:
        return self.only_sentence in (None, self.tokens[group.positions[0]].sentence)

    def _notes(self) -> tuple[str, ...]:
        choices = []
        if self.has_merged:
            choices.append("word pieces merged (sum of the weights to a word, mean of those from a word)")
        special = [group.label for group in self.all_groups if group.special and self._is_selected(group)]
        names = list(dict.fromkeys(special))
        listed = joined(names)
        if self.only_sentence is not None:
            with_special = f" with its {listed}" if names and not self.hide_special else ""
            choices.append(f"only the {_SENTENCES[self.only_sentence]}{with_special}")
        if self.hide_special and names:
            choices.append(f"without {listed}")
        return tuple(choices)

    def _position_groups(self) -> list[tuple[int, ...]]:
        """Return groups of positions; the pieces of a word form one group if words are merged."""

        def group_key(position: int) -> object:
            word = self.tokens[position].word
            alone = not self.merge_words or word is None or self.tokens[position].special
            return ("alone", position) if alone else ("word", word)

        return [tuple(run) for _, run in groupby(range(len(self.tokens)), key=group_key)]

    def _group(self, positions: tuple[int, ...]) -> DisplayToken:
        special = self.tokens[positions[0]].special
        label = self._word(positions) if self.merge_words and not special else self._label(positions[0])
        first, last = positions[0] + 1, positions[-1] + 1
        number = f"token {first}" if first == last else f"tokens {first}–{last}"
        characters = self.tokens[positions[0]].start, self.tokens[positions[-1]].end
        title = f"{number}: {self._description(positions, label)}"
        return DisplayToken(label, title, special, first, positions, characters)

    def _description(self, positions: tuple[int, ...], label: str) -> str:
        """Return the part of the title that follows the number."""
        pieces = [self.tokens[position] for position in positions]
        spelling, start, end = pieces[0].text, pieces[0].start, pieces[-1].end
        sentence = "" if self.second is None else _SENTENCES[pieces[0].sentence]
        author = ", generated by the model" if positions[-1] >= len(self.tokens) - self.written else ""
        if start == end:
            added = f", added by the tokenizer{sentence and f' to the {sentence}'}"
            return f"{isolated(visible_text(spelling))}{author or (added if pieces[0].special else '')}"
        typed = self._typed_text(positions)
        where = f"character {end}" if end == start + 1 else f"characters {start + 1}–{end}"
        where += sentence and f" of the {sentence}"
        read = ""
        if len(pieces) == 1 and spelling not in (label, typed, *UNKNOWN):
            read = f", spelled {isolated(visible_text(spelling))}"
        elif typed.casefold() != (spelled := _spelled(pieces)).casefold() and label != _shown_text(typed):
            read = f", read as {isolated(visible_text(spelled))}"
        return f'"{isolated(visible_text(typed))}", {where}{read}{author}'

    def _typed_text(self, positions: Sequence[int]) -> str:
        """Return the typed text of adjacent tokens."""
        first, last = self.tokens[positions[0]], self.tokens[positions[-1]]
        return (self.text, self.second or "")[first.sentence][first.start : last.end]

    def _word(self, positions: tuple[int, ...]) -> str:
        """Return the label of a merged word."""
        pieces = [self.tokens[position] for position in positions]
        if any(piece.text in UNKNOWN for piece in pieces):
            return self._quoted(_spelled(pieces), positions)
        exact = all(
            len(self._bytes_around(position)) > 1 or _spells(piece.text, self._typed_text([position]))
            for position, piece in zip(positions, pieces, strict=True)
        )
        return _shown_text(self._typed_text(positions)) if exact else _spelled(pieces)

    def _label(self, position: int) -> str:
        """Return the label of one token."""
        token = self.tokens[position]
        if token.special or token.text.startswith("##") or token.start == token.end:
            return token.text
        if token.text in UNKNOWN:
            return self._quoted(token.text, [position])
        typed = self._typed_text([position])
        run = self._bytes_around(position)
        if len(run) > 1:
            return f"{_shown_text(typed)} {run.index(position) + 1}/{len(run)}"
        if (parts := _part(token.text)) and BROKEN in typed:  # generated bytes that are not a character
            return byte_numbers(parts)
        label = _shown_text(typed) if _spells(token.text, typed) else _spelled([token])
        return f"##{label}" if typed.strip() and self._continues_word(position) else label

    def _quoted(self, label: str, positions: Sequence[int]) -> str:
        typed = visible_text(self._typed_text(positions))
        return f"{label} {typed if len(typed) <= _MAX_QUOTED else f'{typed[:_MAX_QUOTED]}…'}".rstrip()

    def _continues_word(self, position: int) -> bool:
        """Return whether the token continues the word of the previous token."""
        before = self.tokens[position - 1] if position else None
        word = self.tokens[position].word
        return before is not None and word is not None and before.word == word and before.start < before.end

    def _bytes_around(self, position: int) -> range:
        """Return the positions of the adjacent tokens that share a character with this one."""
        first = last = position
        while first > 0 and self._share_a_character(first - 1, first):
            first -= 1
        while last + 1 < len(self.tokens) and self._share_a_character(last, last + 1):
            last += 1
        return range(first, last + 1)

    def _share_a_character(self, one: int, other: int) -> bool:
        pair = self.tokens[one], self.tokens[other]
        overlap = pair[0].sentence == pair[1].sentence and pair[1].start < pair[0].end
        return overlap and all(_part(token.text) and not token.special for token in pair)


def _part(spelling: str) -> bytes | None:
    """Return the bytes of a token that is only part of a character; None for other tokens."""
    spelled = spelled_bytes(spelling)
    return None if spelled is None or complete_text(spelled) is not None else spelled


def _spells(spelling: str, typed: str) -> bool:
    """Return whether the tokenizer's spelling equals the typed text, ignoring surrounding space."""
    if spelling.strip(SPACES) == typed.strip():
        return True
    if _part(spelling) and BROKEN in typed:
        return True
    spelled = spelled_bytes(spelling)
    decoded = None if spelled is None else complete_text(spelled)
    return decoded is not None and decoded.strip() == typed.strip()


def _shown_text(typed: str) -> str:
    """Return typed text as a label: white space as a symbol, a combining mark on a dotted circle."""
    signs = typed.translate(_SPACE_SIGNS)
    if unicodedata.category(signs[0]).startswith("M"):
        signs = f"◌{signs}"
    return visible_text(signs if signs.strip() else signs.replace(" ", "␣"))


def queries_and_keys(
    trace: Trace,
    kind: Kind,
    *,
    between: tuple[int | None, int | None] = (None, None),
    hide_special: bool = False,
    merge_words: bool = False,
) -> tuple[DisplayTokens, ...]:
    """Return the displayed query and key tokens; a single item if both are the same.

    In an encoder–decoder, the decoder's tokens are the tokens of the target text.

    Args:
        between: In a pair, the sentence of the queries and of the keys, 0 or 1; None for both sentences.
        hide_special, merge_words: as for `DisplayTokens`.

    Raises:
        AttnvizError: as for `DisplayTokens`.
    """
    block = trace.of_kind(kind)[0]
    query_sentence, key_sentence = between
    sink = any(block.sinks is not None for block in trace.of_kind(kind))
    queries = DisplayTokens(
        block.query_tokens,
        trace.text if trace.target is None or kind == "encoder" else trace.target,
        hide_special,
        merge_words,
        trace.second,
        query_sentence,
        0 if kind == "encoder" else trace.written,
        sink,
    )
    if kind != "cross" and query_sentence == key_sentence:
        return (queries,)
    return queries, DisplayTokens(
        block.key_tokens, trace.text, hide_special, merge_words, trace.second, key_sentence, sink=sink
    )


def shown_weights(weights: Floats, queries: DisplayTokens, keys: DisplayTokens | None = None) -> Floats:
    """Return the displayed weights: pieces merged, then special tokens hidden, then rows rescaled.

    Attention *to* a word is the sum over its pieces, attention *from* a word the mean (Clark et al.
    2019). If tokens are hidden, each row is divided by its remaining sum, so that it sums to 1; a row of
    zeros stays 0.

    Args:
        weights: [..., query, key], the model's weights.
        queries, keys: Shown queries and keys.

    Returns:
        float32 [..., shown query, shown key].
    """
    keys = queries if keys is None else keys
    shown = select_cells(merged_weights(weights, queries, keys), queries.visible, keys.visible)
    return np.ascontiguousarray(rescaled(shown) if keys.has_hidden else shown, dtype=np.float32)


def shown_share(weights: Floats, queries: DisplayTokens, keys: DisplayTokens | None = None) -> Floats:
    """Return the fraction of each displayed row's weight that is on displayed tokens.

    `shown_weights` divides the row by it.

    Returns:
        float32 [..., shown query], 0 to 1; exactly 1 where no token is hidden.
    """
    keys = queries if keys is None else keys
    shown = select_cells(merged_weights(weights, queries, keys), queries.visible, keys.visible)
    return _sum(shown) if keys.has_hidden else np.ones(shown.shape[:-1], dtype=np.float32)


def hidden_note(share: float, hidden: str) -> str:
    """Return the note "97.3 % of this row’s weight is on [CLS]"; "" if the row is not faint."""
    return f"{percent(1 - share, 1)} of this row’s weight is on {hidden}" if share < MIN_SHOWN_SHARE else ""


def faint_note(hidden: str) -> str:
    """Return the note on the faint rows of a picture; "" if nothing is hidden."""
    most = percent(1 - MIN_SHOWN_SHARE)
    return f"; faint, with *: more than {most} of the row’s weight is on {hidden}" if hidden else ""


def faint(weights: Floats, shares: Floats) -> Floats:
    """Undo the rescaling of rows below `MIN_SHOWN_SHARE`, for drawing.

    Returns the same array if there are no such rows.

    Args:
        weights: [..., shown query, shown key], rescaled.
        shares: [..., shown query], from `shown_share`.
    """
    hidden = shares < MIN_SHOWN_SHARE
    return weights * np.where(hidden, shares, np.float32(1))[..., None] if hidden.any() else weights


def merged_weights(weights: Floats, queries: DisplayTokens, keys: DisplayTokens | None = None) -> Floats:
    """Return the weights, [..., all groups, all groups]: pieces merged if requested, nothing hidden."""
    keys = queries if keys is None else keys
    _check(weights.shape, queries, keys)
    merged = weights
    if queries.has_merged:
        lengths = np.array([len(group.positions) for group in queries.all_groups], dtype=np.float32)
        merged = _summed(merged, queries, axis=-2) / lengths[:, None]
    if keys.has_merged:
        merged = _summed(merged, keys, axis=-1)
    return merged


def rescaled(rows: Floats) -> Floats:
    """Divide each row by its sum; a row of zeros stays 0."""
    sums = _sum(rows)[..., None]
    sums[sums == 0] = 1
    return rows / sums


def select_cells(array: NDArray[Value], queries: Sequence[int], keys: Sequence[int]) -> NDArray[Value]:
    """Select rows and columns of [..., query, key]."""
    return array[..., index_of_places(queries), :][..., index_of_places(keys)]


def shown_scores(scores: Floats, queries: DisplayTokens, keys: DisplayTokens | None = None) -> Floats:
    """Return the displayed scores (of any stage before the softmax), without hidden rows and columns.

    Args:
        scores: [..., query, key].
        queries, keys: Shown queries and keys.

    Raises:
        AttnvizError: word pieces are merged; a merged word has no score.
    """
    keys = queries if keys is None else keys
    if queries.has_merged or keys.has_merged:
        raise AttnvizError(
            "Only weights can be merged into words, not scores. Show word pieces, or choose the weights."
        )
    _check(scores.shape, queries, keys)
    return np.ascontiguousarray(select_cells(scores, queries.visible, keys.visible), dtype=np.float32)


def shown_mask(mask: Mask, queries: DisplayTokens, keys: DisplayTokens | None = None) -> Mask:
    """Return the displayed mask, [shown query, shown key]; a word is unmasked if any of its pieces is."""
    keys = queries if keys is None else keys
    return select_cells(merged_mask(mask, queries, keys), queries.visible, keys.visible)


def merged_mask(mask: Mask, queries: DisplayTokens, keys: DisplayTokens | None = None) -> Mask:
    """Return the mask, [all groups, all groups]: pieces merged if requested, nothing hidden."""
    keys = queries if keys is None else keys
    _check(mask.shape, queries, keys)
    to_words = np.logical_or.reduceat(mask, _starts(keys), axis=-1)
    return np.asarray(np.logical_or.reduceat(to_words, _starts(queries), axis=-2), dtype=np.bool_)


def visible_text(text: str) -> str:
    """Return the text on one line, with control characters replaced with symbols (␀, ␊)."""
    return "".join(_sign(character) for character in text)


def _sign(character: str) -> str:
    if character == "\x7f":
        return "␡"
    if character < " ":
        return chr(0x2400 + ord(character))
    return "�" if unicodedata.category(character) in ("Cc", "Zl", "Zp") else character


def _spelled(pieces: list[Token]) -> str:
    """Return the pieces as one word, without the tokenizer's markers ##, Ġ and ▁."""
    joined = ""
    for piece in pieces:
        text = piece.text
        if text.startswith("##"):
            text = text[2:]
        elif not joined:
            text = text.lstrip(SPACES)
        joined += text
    return joined or pieces[0].text


def _sum(rows: Floats) -> Floats:
    return np.asarray(rows.sum(axis=-1), dtype=np.float32)


def index_of_places(wanted: Sequence[int] | NDArray[np.intp]) -> Index:
    """Convert ascending positions to an index: a slice if they are contiguous, which avoids a copy."""
    if len(wanted) and wanted[-1] - wanted[0] == len(wanted) - 1:
        return slice(int(wanted[0]), int(wanted[-1]) + 1)
    return np.array(wanted, dtype=np.intp)


def _starts(shown: DisplayTokens) -> NDArray[np.intp]:
    return np.array([group.positions[0] for group in shown.all_groups])


def _summed(weights: Floats, shown: DisplayTokens, axis: Literal[-1, -2]) -> Floats:
    """Sum the weights of each group's pieces: take the first pieces, then add the second, and so on.

    Most words have one piece, so this is several times as fast as `np.add.reduceat`.
    """
    summed = weights.take(_starts(shown), axis=axis)
    longest = max(len(group.positions) for group in shown.all_groups)
    for nth in range(1, longest):
        longer = [i for i, group in enumerate(shown.all_groups) if len(group.positions) > nth]
        pieces = weights.take([shown.all_groups[i].positions[nth] for i in longer], axis=axis)
        if axis == -1:
            summed[..., longer] += pieces
        else:
            summed[..., longer, :] += pieces
    return summed


def _check(shape: tuple[int, ...], queries: DisplayTokens, keys: DisplayTokens) -> None:
    expected = (len(queries.tokens), len(keys.tokens))
    if shape[-2:] != expected:
        raise AttnvizError(
            f"The array has {shape[-2]} rows and {shape[-1]} columns; the texts have "
            f"{expected[0]} queries and {expected[1]} keys."
        )
