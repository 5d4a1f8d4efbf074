"""What each head does over many sentences: sums that can be added in any order, and what they mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnviz.analysis import rules
from attnviz.analysis.rules import OF_ALL, Layout, Rule, measured
from attnviz.analysis.table import Cells
from attnviz.analysis.words import punctuation, same_word
from attnviz.trace import Counts, Doubles, Floats, Mask, Token

POINTS = 21
"""How many points a distribution has: 0, 5 %, 10 %, … 100 % of the rule's `most`."""


RULES = tuple(rule for rule in rules.RULES if rule.single)
"""What is measured of every head in every sentence, in the order of the arrays of a `Tally`."""

NAMES = tuple(rule.name for rule in RULES)

OF_PLACES = tuple(rule for rule in RULES if rule.of and rule.name != "focused")
"""Those that tell at what a head looks: by them heads are named."""


@dataclass(frozen=True, eq=False)
class Figures:
    """What a `Tally` says of one rule. Where no sentence counted, the numbers are not a number (nan).

    Attributes:
        rule: the rule.
        count: int64 [layer], how many sentences counted; layers differ only where their masks do.
        mean: float64 [layer, head], the mean score over those sentences.
        deviation: float64 [layer, head], the scores' standard deviation (over n, not n − 1).
        raw: float64 [layer, head], of a share, the mean share of all attention, on the same sentences; it is
            the mean itself where the rule counts special tokens.
        baseline, raw_baseline: float64 [layer], the mean score, and share of all attention, of a head that
            shares its attention evenly among all tokens that the mask allows, on the same sentences.
        points: float64 [point], the scores that the points of the distribution stand for, from 0 to the
            rule's `most`.
        distribution: float64 [layer, head, point], which share of the sentences scored about so much; sums
            to 1. A score between two points counts to both, to the nearer one more.
    """

    rule: Rule
    count: Counts
    mean: Doubles
    deviation: Doubles
    raw: Doubles
    baseline: Doubles
    raw_baseline: Doubles
    points: Doubles
    distribution: Doubles


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
        raw: float64 [rule, layer, head], the sum of the scores without rescaling; of a share, of that of all
            attention.
        even, raw_even: float64 [rule, layer], the same sums of a head with even attention.
        spread: float64 [rule, layer, head, point], how many sentences scored about so much; see `Figures`.
    """

    sentences: Counts
    tokens: Counts
    count: Counts
    total: Doubles
    squares: Doubles
    raw: Doubles
    even: Doubles
    raw_even: Doubles
    spread: Doubles

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
        shares = np.where(rule.unit == "attention", among, np.nan)
        mean = self.total[number] / among[:, None]
        variance = self.squares[number] / among[:, None] - mean**2
        return Figures(
            rule=rule,
            count=count,
            mean=mean,
            deviation=np.sqrt(np.maximum(variance, 0)),
            raw=self.raw[number] / shares[:, None],
            baseline=self.even[number] / among,
            raw_baseline=self.raw_even[number] / shares,
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


def labels(tally: Tally) -> list[list[Rule | None]]:
    """By which rule each head is named, [layer][head]; None where it stands out by none.

    A head stands out by a rule if it scores `rule.even` times what even attention does, or more. Of such
    rules it is the one with the most above even attention; about words, if there is one: in most heads
    special tokens get much, whatever else stands out.
    """
    figures = [tally.of(rule.name) for rule in OF_PLACES]
    named: list[list[Rule | None]] = []
    for layer in range(tally.shape[0]):
        named.append([])
        for head in range(tally.shape[1]):
            known = [
                (each.rule.words, each.mean[layer, head] - each.baseline[layer], each.rule)
                for each in figures
                if each.mean[layer, head] >= each.rule.even * each.baseline[layer]
            ]
            named[-1].append(max(known, key=lambda each: each[:2])[2] if known else None)
    return named


COLUMNS = (
    *("layer", "head", "rule", "unit", "sentences", "mean", "deviation", "even attention"),
    *(f"share {OF_ALL}", f"even share {OF_ALL}"),
)
"""What the columns of `rows` are called."""


def rows(tally: Tally) -> Iterator[Cells]:
    """The table of all heads, rule by rule and in each layer by layer; cells without a number are empty.

    Layers and heads count from 1, shares are 0 to 1, and the unit says what the mean is.
    """
    for rule in RULES:
        figures = tally.of(rule.name)
        for layer, head in np.ndindex(figures.mean.shape):
            of_head = (array[layer, head] for array in (figures.mean, figures.deviation))
            numbers = (
                *of_head,
                figures.baseline[layer],
                figures.raw[layer, head],
                figures.raw_baseline[layer],
            )
            cells = ("" if np.isnan(number) else float(number) for number in numbers)
            yield (layer + 1, head + 1, rule.name, rule.kind, int(figures.count[layer]), *cells)


def tally(
    texts: Sequence[str],
    tokens: Sequence[Sequence[Token]],
    weights: Sequence[Floats],
    masks: Sequence[Mask],
) -> Tally:
    """Count sentences of equal length, whose special tokens stand in the same places.

    Args:
        weights: of each layer, [sentence, head, query, key], as the model computed them.
        masks: of each layer, [query, key], True where a query may look.

    Raises:
        ValueError: the sentences' lengths or special tokens differ.
    """
    layout = layout_of(texts, tokens)
    found = Tally.nothing(len(weights), weights[0].shape[1])
    for layer, here in enumerate(measured(RULES, layout, weights, masks)):
        counts = here.counts[..., None]
        scores = np.where(counts, here.score, 0)
        found.count[:, layer] = here.counts.sum(axis=-1)
        found.total[:, layer] = scores.sum(axis=1)
        found.squares[:, layer] = (scores**2).sum(axis=1)
        found.raw[:, layer] = np.where(counts, here.raw, 0).sum(axis=1)
        found.even[:, layer] = np.where(here.counts, here.even, 0).sum(axis=-1)
        found.raw_even[:, layer] = np.where(here.counts, here.raw_even, 0).sum(axis=-1)
        found.spread[:, layer] = _spread(scores, here.counts)
    found.sentences[...] = len(texts)
    found.tokens[...] = sum(map(len, tokens))
    return found


def layout_of(texts: Sequence[str], tokens: Sequence[Sequence[Token]]) -> Layout:
    """Where what stands in such sentences; arguments and errors as for `tally`."""
    places = {tuple(token.special for token in sentence) for sentence in tokens}
    if len(places) != 1:
        raise ValueError("Only sentences of equal length, with special tokens in the same places, together.")
    special = np.array(places.pop(), dtype=np.bool_)
    ordinary = np.flatnonzero(~special)
    both = list(zip(tokens, texts, strict=True))
    return Layout(
        queries=ordinary,
        keys=ordinary,
        separators=np.flatnonzero(special[1:]) + 1,
        marks=np.stack([punctuation(each, [text])[ordinary] for each, text in both]),
        alike=np.stack([same_word(each, [text])[np.ix_(ordinary, ordinary)] for each, text in both]),
        apart=np.zeros((len(ordinary), len(ordinary)), dtype=np.bool_),
    )


def _spread(scores: Doubles, counts: Mask) -> Doubles:
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
        "raw": ((*each, heads), np.float64),
        "even": (each, np.float64),
        "raw_even": (each, np.float64),
        "spread": ((*each, heads, POINTS), np.float64),
    }
