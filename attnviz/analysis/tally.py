"""What each head does over many sentences: sums that can be added in any order, and what they mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnviz.analysis.display_tokens import index_of_places, rescaled
from attnviz.analysis.entropy import entropy
from attnviz.analysis.words import punctuation, same_word
from attnviz.trace import Floats, Mask, Token

Sums = NDArray[np.float64]
Counts = NDArray[np.int64]

POINTS = 21
"""How many points a distribution has: 0, 5 %, 10 %, … 100 % of the rule's `most`."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that is measured of every head in every sentence, as one number, the score.

    Attributes:
        name: one word or two; as in `analysis.behaviour`, where that has the same rule.
        words: the rule in words, as the end of the sentence “On average a token …”.
        meaning: in which sentences it means something; the others do not count for it.
        unit: "share": 0 to 1, to be shown in per cent; "tokens": 0 or more.
        most: where the axis of its distribution ends; what is beyond counts there.
    """

    name: str
    words: str
    meaning: str
    unit: Literal["share", "tokens"] = "share"
    most: float = 1.0


_LEFT_OUT = "special tokens left out, rows rescaled"
_COUNTED = "special tokens left out where they look, counted where they are looked at"
_ANY = "every sentence"
_TWO = "sentences of two tokens or more"

RULES = (
    Rule("previous", f"gives the token before it this share of its attention ({_LEFT_OUT})", _TWO),
    Rule(
        "next",
        f"gives the token after it this share of its attention ({_LEFT_OUT})",
        f"{_TWO}, where a mask lets a token look ahead",
    ),
    Rule("itself", f"gives itself this share of its attention ({_LEFT_OUT})", _TWO),
    Rule(
        "first",
        f"gives the first token, [CLS] where the model has it, this share of its attention ({_COUNTED})",
        _ANY,
    ),
    Rule(
        "separator",
        f"gives the special tokens behind the first, such as [SEP], this share of its attention ({_COUNTED})",
        "sentences that have such a token",
    ),
    Rule(
        "punctuation",
        f"gives punctuation this share of its attention, where it may look at any ({_LEFT_OUT})",
        "sentences with punctuation",
    ),
    Rule(
        "same word",
        "gives other occurrences of its own word this share of its attention, if there are any where it may "
        f"look (capitals do not matter; {_LEFT_OUT})",
        "sentences with a word that occurs twice",
    ),
    Rule("focused", f"gives a single token, the one it looks at most, this share ({_LEFT_OUT})", _TWO),
    Rule("broad", f"has this share of the largest possible entropy ({_LEFT_OUT})", _TWO),
    Rule(
        "distance",
        f"looks this many tokens away, each distance counted by its weight ({_LEFT_OUT})",
        _TWO,
        unit="tokens",
        most=20.0,
    ),
    Rule(
        "relative distance",
        f"looks this share of the longest distance in the sentence away ({_LEFT_OUT})",
        _TWO,
    ),
)
"""Every rule, in the order of the arrays of a `Tally`."""

NAMES = tuple(rule.name for rule in RULES)


@dataclass(frozen=True, eq=False)
class Figures:
    """What a `Tally` says of one rule. Where no sentence counted, the numbers are not a number (nan).

    Attributes:
        rule: the rule.
        count: int64 [layer], how many sentences counted; layers differ only where their masks do.
        mean: float64 [layer, head], the mean score over those sentences.
        deviation: float64 [layer, head], the scores' standard deviation (over n, not n − 1).
        baseline: float64 [layer], the mean score of a head that shares its attention evenly among all tokens
            that the mask allows, on the same sentences.
        points: float64 [point], the scores that the points of the distribution stand for, from 0 to the
            rule's `most`.
        distribution: float64 [layer, head, point], which share of the sentences scored about so much; sums
            to 1. A score between two points counts to both, to the nearer one more.
    """

    rule: Rule
    count: Counts
    mean: Sums
    deviation: Sums
    baseline: Sums
    points: Sums
    distribution: Sums


@dataclass(frozen=True, eq=False)
class Tally:
    """Sums over sentences, for every rule and every head; `a + b` is the tally of both texts together.

    Adding is associative and commutative but for the last bits of float64, so that parts may be counted
    anywhere, in any order.

    Attributes:
        sentences: int64 [], how many.
        tokens: int64 [], how many, special tokens included.
        count: int64 [rule, layer], how many sentences counted for a rule.
        total: float64 [rule, layer, head], the scores' sum.
        squares: float64 [rule, layer, head], the sum of their squares.
        even: float64 [rule, layer], the sum of what a head with even attention scores.
        spread: float64 [rule, layer, head, point], how many sentences scored about so much; see `Figures`.
    """

    sentences: Counts
    tokens: Counts
    count: Counts
    total: Sums
    squares: Sums
    even: Sums
    spread: Sums

    def __add__(self, other: Tally) -> Tally:
        """The tally of both.

        Raises:
            ValueError: they are of models with other layers or heads.
        """
        if self.total.shape != other.total.shape:
            raise ValueError(f"Tallies of other layers or heads: {self.total.shape}, {other.total.shape}.")
        mine, its = self.arrays(), other.arrays()
        return Tally(**{name: mine[name] + its[name] for name in mine})

    @classmethod
    def nothing(cls, layers: int, heads: int) -> Tally:
        """The tally of no sentence at all; what it is added to stays what it is."""
        return cls(**{name: np.zeros(shape, kind) for name, (shape, kind) in _sizes(layers, heads).items()})

    @property
    def shape(self) -> tuple[int, int]:
        """How many layers, and how many heads in each."""
        return self.total.shape[1], self.total.shape[2]

    def of(self, name: str) -> Figures:
        """What is known of one rule, one of `NAMES`."""
        number = NAMES.index(name)
        rule, count, spread = RULES[number], self.count[number], self.spread[number]
        among = np.where(count > 0, count, np.nan)
        mean = self.total[number] / among[:, None]
        variance = self.squares[number] / among[:, None] - mean**2
        return Figures(
            rule=rule,
            count=count,
            mean=mean,
            deviation=np.sqrt(np.maximum(variance, 0)),
            baseline=self.even[number] / among,
            points=np.linspace(0, rule.most, POINTS),
            distribution=spread / among[:, None, None],
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Every field by its name, as for an NPZ file; `from_arrays` takes them again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], layers: int, heads: int) -> Tally:
        """What `arrays` gave, of a model of so many layers and heads; other arrays are passed over.

        Raises:
            ValueError: an array is missing, or has another shape or type.
        """
        expected = _sizes(layers, heads)
        for name, (shape, kind) in expected.items():
            if name not in arrays or arrays[name].shape != shape or arrays[name].dtype != kind:
                raise ValueError(f"These are no sums of {layers} layers of {heads} heads: {name} is not.")
        return cls(**{name: arrays[name] for name in expected})


class Row(NamedTuple):
    """What is known of one head by one rule, as a table's row; a number is nan where no sentence counted.

    Attributes:
        layer, head: from 1, as in everything that a person reads.
        rule: the rule, whose unit the numbers have.
        sentences: how many counted.
        mean, deviation, even: its `Figures.mean` and `deviation`, and the layer's `baseline`.
    """

    layer: int
    head: int
    rule: Rule
    sentences: int
    mean: float
    deviation: float
    even: float


def rows(tally: Tally) -> Iterator[Row]:
    """All of them: rule by rule, and in each layer by layer."""
    for rule in RULES:
        figures = tally.of(rule.name)
        for layer, head in np.ndindex(figures.mean.shape):
            yield Row(
                layer + 1,
                head + 1,
                rule,
                int(figures.count[layer]),
                float(figures.mean[layer, head]),
                float(figures.deviation[layer, head]),
                float(figures.baseline[layer]),
            )


def tally(
    texts: Sequence[str],
    tokens: Sequence[Sequence[Token]],
    weights: Sequence[Floats],
    masks: Sequence[Mask],
) -> Tally:
    """Count sentences of equal length, whose special tokens stand in the same places.

    Args:
        texts: the sentences.
        tokens: each one's tokens.
        weights: of each layer, [sentence, head, query, key], as the model computed them.
        masks: of each layer, [query, key], True where a query may look.

    Raises:
        ValueError: the sentences' lengths or special tokens differ.
    """
    places = {tuple(token.special for token in sentence) for sentence in tokens}
    if len(places) != 1:
        raise ValueError("Only sentences of equal length, with special tokens in the same places, together.")
    patterns = _Patterns.of(texts, tokens, np.array(places.pop(), dtype=np.bool_))
    found = Tally.nothing(len(weights), weights[0].shape[1])
    evens: dict[bytes, NDArray[np.float64]] = {}  # most models have the same mask in all layers
    for layer, (here, mask) in enumerate(zip(weights, masks, strict=True)):
        closed = patterns.within(mask)
        scores = closed.scores(here)
        if (known := mask.tobytes()) not in evens:
            even = np.asarray(mask / mask.sum(axis=-1, keepdims=True), dtype=np.float32)
            evens[known] = closed.scores(np.broadcast_to(even, (len(texts), 1, *even.shape)))
        counts = closed.counts
        found.count[:, layer] = counts.sum(axis=-1)
        found.even[:, layer] = np.where(counts, evens[known][..., 0], 0).sum(axis=-1)
        scores = np.where(counts[..., None], scores, 0)
        found.total[:, layer] = scores.sum(axis=1)
        found.squares[:, layer] = (scores**2).sum(axis=1)
        found.spread[:, layer] = _spread(scores, counts)
    found.sentences[...] = len(texts)
    found.tokens[...] = sum(map(len, tokens))
    return found


@dataclass(frozen=True, eq=False)
class _Patterns:
    """Which cells each rule is about, in sentences of equal length.

    Attributes:
        ordinary: [token], the places of the tokens that nobody but the text has set.
        separators: [token], the places of special tokens behind the first.
        mask: bool [query, key], among the ordinary ones.
        shared: bool [rule, query, key], the cells of “previous”, “next” and “itself”.
        own: bool [rule, sentence, query, key], those of “punctuation” and “same word”.
    """

    ordinary: NDArray[np.intp]
    separators: NDArray[np.intp]
    mask: Mask
    shared: Mask
    own: Mask

    @classmethod
    def of(cls, texts: Sequence[str], tokens: Sequence[Sequence[Token]], special: Mask) -> _Patterns:
        """Those of these sentences, before any mask."""
        ordinary = np.flatnonzero(~special)
        among = np.ix_(ordinary, ordinary)
        size = len(ordinary)
        marks = np.stack(
            [punctuation(each, [text])[ordinary] for each, text in zip(tokens, texts, strict=True)]
        )
        alike = np.stack([same_word(each, [text])[among] for each, text in zip(tokens, texts, strict=True)])
        return cls(
            ordinary=ordinary,
            separators=np.flatnonzero(special[1:]) + 1,
            mask=np.ones((size, size), dtype=np.bool_),
            shared=np.stack([np.eye(size, k=offset, dtype=np.bool_) for offset in (-1, 1, 0)]),
            own=np.stack([np.broadcast_to(marks[:, None, :], alike.shape), alike]),
        )

    def within(self, mask: Mask) -> _Patterns:
        """The cells that this mask, [query, key] of all tokens, lets be looked at."""
        among = mask[np.ix_(self.ordinary, self.ordinary)]
        return replace(self, mask=among, shared=self.shared & among, own=self.own & among)

    @cached_property
    def counts(self) -> Mask:
        """For each [rule, sentence], whether the rule means something in the sentence."""
        sentences, size = self.own.shape[1], len(self.ordinary)
        two = np.full(sentences, size > 1)
        previous, following, itself = (two & cells.any() for cells in self.shared)
        marks, alike = (two & cells.any(axis=(-2, -1)) for cells in self.own)
        everywhere = np.full(sentences, True)
        by_name = {
            "previous": previous,
            "next": following,
            "itself": itself,
            "first": everywhere,
            "separator": np.full(sentences, len(self.separators) > 0),
            "punctuation": marks,
            "same word": alike,
        }
        return np.stack([by_name.get(name, two) for name in NAMES])

    def scores(self, weights: Floats) -> NDArray[np.float64]:
        """[rule, sentence, head], for weights [sentence, head, query, key] of all tokens."""
        sentences, heads = weights.shape[:2]
        size = len(self.ordinary)
        ordinary = index_of_places(self.ordinary)
        rows = weights[:, :, ordinary]
        kept = rescaled(rows[..., ordinary]).reshape(sentences, heads, size * size)
        away = np.abs(np.subtract.outer(np.arange(size), np.arange(size))) / max(size, 1)
        shared = np.stack([*map(_averaging, self.shared), away]).reshape(-1, size * size)
        own = _averaging(self.own).reshape(2, sentences, size * size)
        previous, following, itself, distance = np.moveaxis(kept @ shared.astype(np.float32).T, -1, 0)
        marks, alike = np.moveaxis(kept @ own.transpose(1, 2, 0), -1, 0)
        cells = kept.reshape(sentences, heads, size, size)
        possible = np.log2(np.maximum(self.mask.sum(axis=-1), 1)).mean()
        scores = {
            "previous": previous,
            "next": following,
            "itself": itself,
            "first": rows[..., 0].mean(axis=-1),
            "separator": rows[..., self.separators].sum(axis=-1).mean(axis=-1),
            "punctuation": marks,
            "same word": alike,
            "focused": cells.max(axis=-1).mean(axis=-1),
            "broad": entropy(kept) / size / (possible or 1),
            "distance": distance,
            "relative distance": distance / max(size - 1, 1),
        }
        return np.stack([scores[name].astype(np.float64) for name in NAMES])


def _averaging(cells: Mask) -> Floats:
    """[..., query, key]: weights times this, summed, are the mean over the rows that have a cell."""
    rows = cells.any(axis=-1).sum(axis=-1)
    return np.asarray(cells / np.maximum(rows, 1)[..., None, None], dtype=np.float32)


def _spread(scores: NDArray[np.float64], counts: Mask) -> Sums:
    """[rule, head, point], how many sentences scored about so much: each counts to the points around it.

    A histogram's steps would make a sentence count elsewhere for a change in the last bit of its score.

    Args:
        scores: [rule, sentence, head].
        counts: [rule, sentence].
    """
    rules, _, heads = scores.shape
    most = np.array([rule.most for rule in RULES])
    place = np.clip(scores / most[:, None, None], 0, 1) * (POINTS - 1)
    below = np.minimum(place.astype(np.intp), POINTS - 2)
    above = place - below
    cell = (np.arange(rules)[:, None, None] * heads + np.arange(heads)) * POINTS + below
    counted = np.broadcast_to(counts[..., None], scores.shape)
    size = rules * heads * POINTS
    found = np.zeros(size)
    found += np.bincount(cell[counted], (1 - above)[counted], size)
    found += np.bincount(cell[counted] + 1, above[counted], size)
    return found.reshape(rules, heads, POINTS)


def _sizes(layers: int, heads: int) -> dict[str, tuple[tuple[int, ...], type[np.generic]]]:
    """Of each array of a `Tally`, its shape and its type."""
    each = (len(RULES), layers)
    return {
        "sentences": ((), np.int64),
        "tokens": ((), np.int64),
        "count": (each, np.int64),
        "total": ((*each, heads), np.float64),
        "squares": ((*each, heads), np.float64),
        "even": (each, np.float64),
        "spread": ((*each, heads, POINTS), np.float64),
    }
