"""Which tokens a picture shows: special tokens hidden or not, word pieces merged into words or not."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from attnviz.errors import AttnvizError
from attnviz.trace import Floats, Mask, Token

_UNKNOWN = ("[UNK]", "<unk>")  # what tokenizers call letters that their model does not know
_MOST_QUOTED = 12

Index = slice | NDArray[np.intp]
Value = TypeVar("Value", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Group:
    """One row or column of a picture: a token, or the pieces of one word.

    Attributes:
        label: the token as the tokenizer spells it, and what was typed if it does not know that; for merged
            pieces, the word.
        title: one line of plain text: which token it is, what was typed, and where.
        special: True if the tokenizer added it.
        number: the position of its first token, from 1.
        positions: the tokens it stands for, from 0.
    """

    label: str
    title: str
    special: bool
    number: int
    positions: tuple[int, ...]


@dataclass(frozen=True)
class Shown:
    """The tokens of one text as a picture shows them.

    Args:
        tokens: all tokens of the text, in order.
        text: what was typed; a token's characters are `text[start:end]`.
        hide_special: leave out the tokens that the tokenizer added.
        merge_words: show the pieces of a word as one.

    Attributes:
        groups: what is shown, in order.
        all_groups: the same, before hiding.

    Raises:
        AttnvizError: nothing is left to show.
    """

    tokens: tuple[Token, ...]
    text: str
    hide_special: bool = False
    merge_words: bool = False
    all_groups: tuple[Group, ...] = field(init=False, repr=False, compare=False)
    groups: tuple[Group, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        everything = tuple(self._group(positions) for positions in self._runs())
        object.__setattr__(self, "all_groups", everything)
        object.__setattr__(self, "groups", tuple(everything[index] for index in self.visible))
        if not self.groups:
            raise AttnvizError("Every token here is a special one. Show the special tokens to see a picture.")

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of what is shown."""
        return tuple(group.label for group in self.groups)

    @property
    def titles(self) -> tuple[str, ...]:
        """The longer names: which token, what was typed, where."""
        return tuple(group.title for group in self.groups)

    @property
    def visible(self) -> tuple[int, ...]:
        """The indices of `groups` in `all_groups`."""
        return tuple(
            i for i, group in enumerate(self.all_groups) if not (self.hide_special and group.special)
        )

    @property
    def hides(self) -> bool:
        """True if a token is really left out."""
        return len(self.groups) < len(self.all_groups)

    @property
    def merges(self) -> bool:
        """True if a shown group really has several pieces."""
        return any(len(group.positions) > 1 for group in self.all_groups)

    @property
    def explanation(self) -> str:
        """How the weights in the picture were made from the model's, in words."""
        rescaled = ("each row rescaled to sum to 100 %",) if self.hides else ()
        return "; ".join((*self._choices(), *rescaled)) or "nothing hidden, merged or rescaled"

    @property
    def explanation_of_scores(self) -> str:
        """The same for scores, which are only left out, never rescaled or merged."""
        return "; ".join(self._choices()) or "nothing hidden, merged or rescaled"

    def index_of(self, position: int) -> int | None:
        """Where the token at `position` (from 0) is shown, from 0; None if it is hidden or does not exist."""
        for index, group in enumerate(self.groups):
            if position in group.positions:
                return index
        return None

    def _choices(self) -> tuple[str, ...]:
        choices = []
        if self.merges:
            choices.append("word pieces merged (to a word: the pieces' sum, from a word: their mean)")
        if self.hides:
            names = list(dict.fromkeys(group.label for group in self.all_groups if group.special))
            choices.append("without " + " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))))
        return tuple(choices)

    def _runs(self) -> list[tuple[int, ...]]:
        """Positions, grouped: neighbours of the same word together when words are merged."""

        def together(position: int) -> object:
            word = self.tokens[position].word
            alone = not self.merge_words or word is None or self.tokens[position].special
            return ("alone", position) if alone else ("word", word)

        return [tuple(run) for _, run in groupby(range(len(self.tokens)), key=together)]

    def _group(self, positions: tuple[int, ...]) -> Group:
        pieces = [self.tokens[position] for position in positions]
        spelled = _spelled(pieces)
        first, last = positions[0] + 1, positions[-1] + 1
        number = f"token {first}" if first == last else f"tokens {first}–{last}"
        start, end = pieces[0].start, pieces[-1].end
        if start == end:
            added = ", added by the tokenizer" if pieces[0].special else ""
            title = f"{number}: {visible_text(pieces[0].text)}{added}"
        else:
            typed = self.text[start:end]
            read = "" if typed.casefold() == spelled.casefold() else f", read as {visible_text(spelled)}"
            where = f"character {end}" if end == start + 1 else f"characters {start + 1}–{end}"
            title = f'{number}: "{visible_text(typed)}", {where}{read}'
        label = spelled if self.merge_words and not pieces[0].special else pieces[0].text
        if label in _UNKNOWN:
            label = f"{label} {_beginning(visible_text(self.text[start:end]))}".rstrip()
        return Group(label, title, pieces[0].special, first, positions)


def _beginning(text: str) -> str:
    return text if len(text) <= _MOST_QUOTED else f"{text[:_MOST_QUOTED]}…"


def shown_weights(weights: Floats, queries: Shown, keys: Shown | None = None) -> Floats:
    """The weights as the picture shows them: pieces merged, then special tokens left out, then rows rescaled.

    Attention *to* a word is the sum over its pieces, attention *from* a word their mean (Clark et al.
    2019). After special tokens are left out each row is divided by what is left of it, so that it sums
    to 1 again; a row of which nothing is left stays 0.

    Args:
        weights: [..., query, key], the model's.
        queries: which queries are shown.
        keys: which keys are shown; None means the same as `queries` (self-attention).

    Returns:
        float32 [..., shown query, shown key].
    """
    keys = queries if keys is None else keys
    kept = _left_over(merged_weights(weights, queries, keys), queries, keys)
    return np.ascontiguousarray(rescaled(kept) if keys.hides else kept, dtype=np.float32)


def left_share(weights: Floats, queries: Shown, keys: Shown | None = None) -> Floats:
    """How much of each shown row goes to tokens that are shown: what rescaling divides by.

    Returns:
        float32 [..., shown query], 0 to 1; exactly 1 where no token is hidden.
    """
    keys = queries if keys is None else keys
    kept = _left_over(merged_weights(weights, queries, keys), queries, keys)
    return _sum(kept) if keys.hides else np.ones(kept.shape[:-1], dtype=np.float32)


def hidden_share(weights: Floats, queries: Shown, keys: Shown | None = None) -> Floats:
    """How much of each shown row went to tokens that are not shown; float32 [..., shown query], 0 to 1."""
    keys = queries if keys is None else keys
    rows = merged_weights(weights, queries, keys)[..., _index(queries.visible), :]
    hidden = sorted(set(range(len(keys.all_groups))) - set(keys.visible))
    return _sum(rows[..., hidden])


def merged_weights(weights: Floats, queries: Shown, keys: Shown | None = None) -> Floats:
    """The weights with pieces merged where asked for, nothing left out: [..., all groups, all groups]."""
    keys = queries if keys is None else keys
    _check(weights.shape, queries, keys)
    merged = weights
    if queries.merges:
        lengths = np.array([len(group.positions) for group in queries.all_groups], dtype=np.float32)
        merged = _summed(merged, queries, axis=-2) / lengths[:, None]
    if keys.merges:
        merged = _summed(merged, keys, axis=-1)
    return merged


def rescaled(rows: Floats) -> Floats:
    """Each row divided by its sum, so that it sums to 1; a row of zeros stays 0."""
    left = _sum(rows)[..., None]
    left[left == 0] = 1
    return rows / left


def only(array: NDArray[Value], queries: tuple[int, ...], keys: tuple[int, ...]) -> NDArray[Value]:
    """The wanted rows and columns of [..., query, key]."""
    return array[..., _index(queries), :][..., _index(keys)]


def shown_scores(scores: Floats, queries: Shown, keys: Shown | None = None) -> Floats:
    """Scores (of any stage before the softmax) as the picture shows them: rows and columns left out.

    Args:
        scores: [..., query, key].
        queries: which queries are shown.
        keys: which keys are shown; None means the same as `queries` (self-attention).

    Raises:
        AttnvizError: word pieces are to be merged; the score of a whole word does not exist.
    """
    keys = queries if keys is None else keys
    if queries.merges or keys.merges:
        raise AttnvizError(
            "Only weights can be merged into words: the softmax comes after the scores, piece by piece. "
            "Show the word pieces, or choose the weights."
        )
    _check(scores.shape, queries, keys)
    return np.ascontiguousarray(_left_over(scores, queries, keys), dtype=np.float32)


def shown_mask(mask: Mask, queries: Shown, keys: Shown | None = None) -> Mask:
    """Where a shown query may look, [shown query, shown key]; a word may look if one of its pieces may."""
    keys = queries if keys is None else keys
    return only(merged_mask(mask, queries, keys), queries.visible, keys.visible)


def merged_mask(mask: Mask, queries: Shown, keys: Shown | None = None) -> Mask:
    """The mask with pieces merged where asked for, nothing left out: [all groups, all groups]."""
    keys = queries if keys is None else keys
    _check(mask.shape, queries, keys)
    to_words = np.logical_or.reduceat(mask, _starts(keys), axis=-1)
    return np.asarray(np.logical_or.reduceat(to_words, _starts(queries), axis=-2), dtype=np.bool_)


def visible_text(text: str) -> str:
    """The text on one line, with every control character drawn as a sign (␀, ␊) instead of obeyed."""
    return "".join(_sign(character) for character in text)


def _sign(character: str) -> str:
    if character == "\x7f":
        return "␡"
    if character < " ":
        return chr(0x2400 + ord(character))
    return "�" if unicodedata.category(character) in ("Cc", "Zl", "Zp") else character


def _spelled(pieces: list[Token]) -> str:
    """The pieces as one word, without the marks that tokenizers add: ##, Ġ and ▁."""
    joined = ""
    for piece in pieces:
        text = piece.text
        if text.startswith("##"):
            text = text[2:]
        elif not joined:
            text = text.lstrip("Ġ▁")
        joined += text
    return joined or pieces[0].text


def _left_over(array: Floats, queries: Shown, keys: Shown) -> Floats:
    """[..., all groups, all groups] → [..., shown groups, shown groups]."""
    return only(array, queries.visible, keys.visible)


def _sum(rows: Floats) -> Floats:
    return np.asarray(rows.sum(axis=-1), dtype=np.float32)


def _index(wanted: tuple[int, ...]) -> Index:
    """A slice where one will do: it views, while a list of numbers copies."""
    if wanted == tuple(range(wanted[0], wanted[-1] + 1)):
        return slice(wanted[0], wanted[-1] + 1)
    return np.array(wanted)


def _starts(shown: Shown) -> NDArray[np.intp]:
    return np.array([group.positions[0] for group in shown.all_groups])


def _summed(weights: Floats, shown: Shown, axis: Literal[-1, -2]) -> Floats:
    """Sums the pieces of each group: takes every first piece, then adds second pieces to it, then third ones.

    Most words are one piece, so this touches little; `np.add.reduceat` takes several times as long.
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


def _check(shape: tuple[int, ...], queries: Shown, keys: Shown) -> None:
    expected = (len(queries.tokens), len(keys.tokens))
    if shape[-2:] != expected:
        raise AttnvizError(f"The array is for {shape[-2:]} tokens, but the texts have {expected}.")
