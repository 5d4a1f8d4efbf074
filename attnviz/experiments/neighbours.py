"""Where else a head does what it does at one token: the nearest tokens of a text, and what they share.

After exBERT (Hoover et al. 2020), which searches a corpus in the same way. The search is exact: all tokens
are compared. Two libraries for approximate search (usearch, hnswlib) answer sooner, but take a quarter of a
minute to get ready for one head of 10,000 sentences, and find no more (`python -m benchmarks.find`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnviz.analysis.intervals import CONFIDENCE, chance_of_as_many
from attnviz.analysis.words import punctuation
from attnviz.errors import AttnvizError, quoted
from attnviz.experiments.text_index import VECTORS, Halves, TextIndex, patterns
from attnviz.text import joined, plural
from attnviz.trace import Block, Floats, Mask

BY = (*VECTORS, "pattern")
"""By what a token is found: one of its vectors, or what its row of weights in a head comes to."""

MOST = 50
"""How many neighbours are found."""

HALF = 0.5
"""A token of whose attention more goes to special tokens looks at them."""

Places = NDArray[np.intp]


class Neighbour(NamedTuple):
    """A token of the text of which the head does alike.

    Attributes:
        line: the number of its line in the index, from 0.
        place: which token of that line it is, from 0.
        reads: the token of that line that it looks at most, from 0; special ones are left out.
        weight: how much it looks there.
        to_special: how much it looks at special tokens.
        alike: how alike it is, see `Search`.
    """

    line: int
    place: int
    reads: int
    weight: float
    to_special: float
    alike: float


@dataclass(frozen=True)
class Common:
    """What many of the neighbours have in common, and how many tokens of the whole text have it.

    Attributes:
        name: one of `ATTRIBUTES`.
        value: which value of it.
        count, total: how many neighbours of the second half of the text have it, and of how many.
        base: the share of all tokens of that half.
        sure: whether so many would be improbable if neighbours were tokens like any.
    """

    name: str
    value: int
    count: int
    total: int
    base: float
    sure: bool


ATTRIBUTES = (
    *("offset", "read", "token", "position", "entropy"),
    *("class", "class read", "special", "special read"),
)
"""What is asked of the neighbours: how far away the token stands that they look at most, special ones left
out; which token that is; which token they are themselves, and at which place of their line, from 0; the whole
bits of their rows' entropy; the class of their word, and of the one that they look at most, from 1 in
`analysis.words.CLASSES`; and with value 1, whether they are special tokens, and whether special tokens get
more than `HALF` of their attention."""

_OF_THE_PATTERN = {"offset", "entropy", "class read", "special read"}


def nearest(
    vectors: NDArray[np.floating], vector: Floats, most: int = MOST, among: Mask | None = None
) -> tuple[Places, Floats]:
    """The vectors that point most nearly where one points, the nearest first; of equals, the first.

    Args:
        vectors: [token, d], a memory map too.
        vector: [d].
        most: how many are wanted.
        among: [token], which may be found; None: all.

    Returns:
        Their places and cosines, at most so many; the cosine of a vector of zeros is 0.
    """
    return _largest(_cosines(vectors, vector), most, among)


def _cosines(vectors: NDArray[np.floating], vector: Floats) -> Floats:
    from attnviz.capture.cosines import cosines  # torch loads with it, for which importing this does not wait

    return cosines(vectors, vector)


def _largest(cosines: Floats, most: int, among: Mask | None) -> tuple[Places, Floats]:
    places = np.arange(len(cosines)) if among is None else np.flatnonzero(among)
    if most < len(places):  # a whole sort would take longer than all products
        bound = np.partition(cosines[places], -most)[-most]
        places = places[cosines[places] >= bound]
    places = places[np.argsort(-cosines[places], kind="stable")][:most]
    return places, cosines[places]


@dataclass(frozen=True, eq=False)
class Search:
    """A token in one head or several, looked for in a text.

    Tokens are alike by the cosine of their vectors. By their pattern they are by the mean of three numbers
    from 0 to 1: whether what they look at most stands at the same offset; whether it is of the same class
    (special, if special tokens get more than `HALF`; else punctuation, or another token); and 1 / (1 + d),
    where d is by how many bits their entropies differ. In several heads, it is the mean over the heads.

    Attributes:
        index: of the text.
        layer: from 0.
        heads: of that layer, from 0; what a neighbour looks at is told of the first one.
        by: one of `BY`.
        sought: [head, number], the token's own vectors, or its offsets, classes and entropies; by its state,
            which is of no head, [1, d_model].
        text: the sentence that it stands in; the same line of the text is passed over.
    """

    index: TextIndex
    layer: int
    heads: tuple[int, ...]
    by: str
    sought: Floats
    text: str

    @classmethod
    def of(
        cls,
        index: TextIndex,
        layer: tuple[Block, Floats | None],
        heads: Sequence[int],
        place: int,
        by: str,
        text: str,
    ) -> Search:
        """A search for a token, from 0, in a layer as `text_index.block_of` returns it; by others no states.

        Raises:
            AttnvizError: there is no such head or vector, or the index has not this layer.
        """
        block, states = layer
        index.layer(block.layer)
        if not heads or not set(heads) <= set(range(len(block.query))):
            raise AttnvizError(f"The layer has {plural(len(block.query), 'head')}. Choose one of them.")
        if by not in BY:
            raise AttnvizError(f"Tokens are found by their {joined(BY)}, not by {quoted(by)}.")
        if by == "state":
            index.vectors(by)  # if there are any
            sought = np.zeros((1, 0), np.float32) if states is None else states[None, place]
        else:
            of_all = _patterns_of(block, text) if by == "pattern" else getattr(block, by)
            sought = of_all[list(heads), place]
        return cls(index, block.layer, tuple(heads[: len(sought)]), by, sought, text)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Which of `ATTRIBUTES` are asked: not those by which the neighbours were chosen."""
        return tuple(name for name in ATTRIBUTES if self.by != "pattern" or name not in _OF_THE_PATTERN)

    def neighbours(self, half: int | None = None, most: int = MOST) -> list[Neighbour]:
        """The nearest tokens of the lines that are read: of all, or of every second line, from `half`."""
        index, at = self.index, self._first
        places, alike = _largest(self._alike, most, self._half(half))
        found = []
        for token, likeness in zip(places.tolist(), alike.tolist(), strict=True):
            line, place = index.line_of(token)
            weights = float(index.weight[at][token]), float(index.to_special[at][token])
            found.append(Neighbour(line, place, int(index.reads[at][token]), *weights, likeness))
        return found

    def common(self) -> tuple[Common, ...]:
        """What the neighbours have in common, of each attribute the value that stands out most.

        Values are chosen on every second line, and counted on the others: who chooses and counts on the same
        lines finds too much. Surely more than at random is what a binomial test says so of, with Bonferroni's
        correction for all attributes that are asked.
        """
        codes = self._codes(self._first)
        halves = [self._half(half) for half in (0, 1)]
        near = [_largest(self._alike, MOST, half)[0] for half in halves]
        if not len(near[0]) or not len(near[1]):
            return ()
        found = []
        for name in self.attributes:
            values = codes[name]
            value = _standing_out(values[near[0]], values[halves[0]])
            if value is None:
                continue
            count, total = int((values[near[1]] == value).sum()), len(near[1])
            base = float((values[halves[1]] == value).mean())
            sure = 0 < base < 1 and count / total > base
            sure = sure and chance_of_as_many(count, total, base, len(self.attributes)) < 1 - CONFIDENCE
            found.append(Common(name, value, count, total, base, sure))
        return tuple(found)

    @property
    def _first(self) -> tuple[int, int]:
        """Where the first head stands in the index's arrays."""
        return self.index.layer(self.layer), self.heads[0]

    @cached_property
    def _alike(self) -> Floats:
        """[token], of the lines that are read: compared once for all neighbours and both halves."""
        layer, here = self.index.layer(self.layer), slice(self.index.tokens)
        if self.by == "pattern":
            of_each = [
                _alike_patterns(self._codes((layer, head)), self.index.entropy[layer, head, here], sought)
                for head, sought in zip(self.heads, self.sought, strict=True)
            ]
        else:
            vectors = self.index.vectors(self.by)[layer]
            heads = (0,) if self.by == "state" else self.heads
            of_each = [
                _cosines(vectors[head, here], sought) for head, sought in zip(heads, self.sought, strict=True)
            ]
        alike: Floats = np.mean(of_each, axis=0, dtype=np.float32)
        return alike

    def _half(self, half: int | None) -> Mask:
        """[token], which tokens of the lines that are read belong to this half; the same sentence to none."""
        index = self.index
        wanted = np.array(
            [
                line != self.text and half in (None, at % 2)
                for at, line in enumerate(index.lines[: index.done])
            ],
            dtype=np.bool_,
        )
        return np.repeat(wanted, np.diff(index.starts[: index.done + 1]))

    def _codes(self, at: tuple[int, int]) -> dict[str, NDArray[np.int64]]:
        """Of each of `ATTRIBUTES`, the value of every token in a head; `_NONE` where there is none."""
        index = self.index
        here = slice(index.tokens)
        starts = np.repeat(index.starts[: index.done], np.diff(index.starts[: index.done + 1]))
        place = np.arange(index.tokens) - starts
        reads = np.asarray(index.reads[at][here], np.int64)
        read = starts + reads
        ids = np.asarray(index.ids[here], np.int64)
        entropy = np.asarray(index.entropy[at][here], np.float32)
        rests = np.asarray(index.to_special[at][here]) > HALF
        kinds = np.asarray(index.classes[here], np.int64)
        flags = (kinds, kinds[read], index.special[here], rests)
        told = (reads - place, ids[read], ids, place, np.floor(entropy).astype(np.int64))
        return dict(zip(ATTRIBUTES, (*told, *(np.where(flag, flag, _NONE) for flag in flags)), strict=True))


_NONE = -(2**31)


def _patterns_of(block: Block, text: str) -> Floats:
    """[head, token, 3], each token's offset, class and entropy: what `Search` compares."""
    tokens = block.query_tokens
    reads, _, to_special, entropy = patterns(block, np.array([token.special for token in tokens]))
    classes = _classes(to_special > HALF, punctuation(tokens, [text])[reads])
    return np.stack([reads - np.arange(len(tokens)), classes, entropy], axis=-1).astype(np.float32)


def _alike_patterns(codes: Mapping[str, NDArray[np.int64]], entropy: Halves, sought: Floats) -> Floats:
    """[token], how alike each token's pattern in a head is to one; see `Search`."""
    offset, kind, its_entropy = sought
    classes = _classes(codes["special read"] == 1, codes["class read"] == 1)
    nearness = 1 / (1 + np.abs(np.asarray(entropy, np.float32) - its_entropy))
    alike: Floats = np.mean([codes["offset"] == offset, classes == kind, nearness], axis=0, dtype=np.float32)
    return alike


def _classes(special: Mask, marks: Mask) -> NDArray[np.int64]:
    """What each token reads: 2 is special, 1 is punctuation, 0 is another token."""
    return np.where(special, 2, marks.astype(np.int64))


def _standing_out(near: NDArray[np.int64], every: NDArray[np.int64]) -> int | None:
    """The value whose share among the neighbours is above its share of all by most; None: there is none."""
    values, counts = np.unique(near[near != _NONE], return_counts=True)
    if not len(values):
        return None
    base = np.array([(every == value).mean() for value in values])
    above = counts / len(near) - base
    best = int(above.argmax())
    return int(values[best]) if above[best] > 0 else None
