"""The rules that describe heads, and their measurement in one text or many.

Attention is measured twice: as a fraction of a token's whole attention, and as a fraction of its attention to
words, without special tokens, because [CLS] and [SEP] otherwise dominate (Clark et al. 2019, §3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnviz.analysis.display_tokens import index_of_places
from attnviz.analysis.entropy import bits
from attnviz.analysis.words import punctuation, same_word
from attnviz.text import joined, percent
from attnviz.trace import Doubles, Floats, Mask, Token

Places = NDArray[np.intp]

OF_ALL, OF_WORDS = "of its attention", "of its attention to words"
"""The denominator of a fraction: all of a token's attention, or its attention to ordinary tokens."""


@dataclass(frozen=True)
class Special:
    """The tokens that the model's tokenizer adds to each text.

    Attributes:
        first: The first token, if it is special ("[CLS]"), else "".
        separators: The other special tokens, without duplicates ("[SEP]").
    """

    first: str
    separators: tuple[str, ...]

    def fill(self, words: str, amount: str = "") -> str:
        """Fill the special tokens and an amount into a rule's text."""
        first = f"the first token, {self.first}," if self.first else "the first token"
        separators = joined(self.separators) or "special tokens behind the first"
        return words.format(amount, first=first, separators=separators).rstrip(",")


@dataclass(frozen=True, eq=False)
class Layout:
    """The positions of tokens in texts of equal length, with special tokens at the same positions.

    Attributes:
        queries, keys: [n], positions of ordinary tokens among queries and among keys.
        separators: [n], positions of special keys after the first token.
        marks: bool [text, key], whether an ordinary key is punctuation.
        alike: bool [text, query, key], whether a key is another occurrence of the query's word.
        apart: bool [query, key], whether both are in different sentences of a pair.
        own: True for self-attention; otherwise positions cannot be compared.
    """

    queries: Places
    keys: Places
    separators: Places
    marks: Mask
    alike: Mask
    apart: Mask
    own: bool = True


class _Weights(NamedTuple):
    """The weights of one layer.

    Attributes:
        layout: Layout of the texts.
        open: bool [query, key], True where not masked, for ordinary queries and keys.
        rows: float32 [text, head, query, key], weights from ordinary queries to all keys.
        words: The same, to ordinary keys.
        size: Number of all queries, including special ones.
    """

    layout: Layout
    open: Mask
    rows: Floats
    words: Floats
    size: int


Rows = tuple[Floats, Mask]
"""The measure of each query, [text, head, query], and which queries count, [text or 1, query]."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A measure of heads with one number, the score: a mean over queries.

    Attributes:
        name: One or two words.
        does: End of the sentence “On average a token …”; {} is the amount.
        measure: Measure of each query. The score is its mean, for `words` divided by the attention to words.
        words: Exclude special tokens and rescale rows; otherwise special tokens count as keys.
        minimum, even: Explore's filter finds heads that score at least `minimum` and `even` times the score
            of uniform attention; without a `minimum` there is no filter.
        unit: "attention" (fraction of attention), "share" (another fraction) or "tokens" (0 or more).
        single: Applies to a single sentence; otherwise only to a pair, or to two texts.
    """

    name: str
    does: str
    measure: Callable[[_Weights], Rows]
    words: bool = True
    minimum: float | None = None
    even: float = 2.0
    unit: Literal["attention", "share", "tokens"] = "attention"
    single: bool = True

    @property
    def of(self) -> str:
        """Denominator of the score, `OF_WORDS` or `OF_ALL`; "" if it is not a fraction of attention."""
        return "" if self.unit != "attention" else OF_WORDS if self.words else OF_ALL

    @property
    def kind(self) -> str:
        """Kind of score: "share of what goes to words", "share of its attention", "share", "tokens"."""
        return f"share {self.of}" if self.of else self.unit

    @property
    def treatment(self) -> str:
        """Treatment of special tokens, in words."""
        if self.words:
            return "special tokens excluded, rows rescaled"
        return "special tokens excluded as queries, counted as keys"

    def amount(self, score: float, raw: float) -> str:
        """Format a score: "17 % of its attention, 64 % of what goes to words".

        If both are equal, because nothing goes to special tokens, only one is given.
        """
        if np.isnan(score):
            return "no value"
        if self.of == OF_WORDS and percent(raw) == percent(score):
            return f"{percent(raw)} {OF_ALL}"
        number = f"{score:.1f} tokens" if self.unit == "tokens" else percent(score)
        both = f"{percent(raw)} {OF_ALL}, " if self.of == OF_WORDS else ""
        return f"{both}{number} {self.of}".rstrip()

    def defined(self, special: Special) -> str:
        """Return the definition of the score, as the end of the sentence “On average a token …”."""
        this = "this many tokens" if self.unit == "tokens" else f"this {self.kind}"
        return f"{special.fill(self.does, this)} ({self.treatment})"

    def filtered(self, special: Special) -> str:
        """Return the condition of the filter, as the end of the same sentence."""
        bounds = [f"at least {percent(self.minimum)}{self.of and f' {self.of}'}"] if self.minimum else []
        if self.even:
            times = "twice" if self.even == 2 else f"{self.even:g} times"
            bounds.append(f"at least {times} the score of uniform attention")
        return f"{special.fill(self.does, ', and '.join(bounds))} ({self.treatment})"


def _to(cells: Mask, weights: Floats, open_cells: Mask) -> Rows:
    """Measure attention to some cells, [text or 1, query, key]; queries with an unmasked cell count."""
    counts = np.asarray((cells & open_cells).any(axis=-1), dtype=np.bool_)
    given = np.zeros(weights.shape[:-1], dtype=np.float32)
    some = np.broadcast_to(counts.any(axis=-1), len(weights))
    if some.any():
        patterns = np.broadcast_to(cells, (len(weights), *cells.shape[1:]))
        given[some] = np.einsum("thqk,tqk->thq", weights[some], patterns[some].astype(np.float32))
    return given, counts


def _all_count(given: Floats, possible: bool = True) -> Rows:
    return given, np.full((1, given.shape[-1]), possible)


def _beside(here: _Weights, offset: int) -> Rows:
    """Measure attention to the key at an offset."""
    queries, keys = here.open.shape
    places = np.arange(queries)
    there = (places + offset).clip(0, keys - 1)
    is_there = here.layout.own & (there == places + offset) & here.open[places, there]
    return here.words[..., places, there], np.asarray(is_there[None], dtype=np.bool_)


def _near(here: _Weights) -> Rows:
    keys = here.rows.shape[-1]
    cells = near(here.size, keys)[None, here.layout.queries]
    return _to(cells & (not here.layout.own), here.rows, np.ones(keys, dtype=np.bool_))


def _apart(here: _Weights) -> Rows:
    return _to(here.layout.apart[None], here.words, here.open)


def _first(here: _Weights) -> Rows:
    return _all_count(here.rows[..., 0])


def _focused(here: _Weights) -> Rows:
    return _all_count(here.words.max(axis=-1))


def _separators(here: _Weights) -> Rows:
    separators = here.layout.separators
    return _all_count(here.rows[..., separators].sum(axis=-1), len(separators) > 0)


def _marks(here: _Weights) -> Rows:
    marks = here.layout.marks
    given = here.words @ marks[:, None, :, None].astype(np.float32)
    return given[..., 0], np.asarray((marks[:, None] & here.open).any(axis=-1), dtype=np.bool_)


def _alike(here: _Weights) -> Rows:
    return _to(here.layout.alike & here.layout.own, here.words, here.open)


def _bits(here: _Weights) -> Rows:
    """Measure the entropy of each row, relative to the mean maximum entropy.

    The entropy of a row w / s with s = Σ w is log s − Σ w log w / s; the result is multiplied by s.
    """
    whole = here.words.sum(axis=-1, dtype=np.float64)
    found = bits(here.words) + whole * np.log2(np.maximum(whole, 1e-30))
    possible = np.log2(np.maximum(here.open.sum(axis=-1), 1)).mean()
    return _all_count(np.asarray(found / (possible or 1), dtype=np.float32))


def _distance(here: _Weights) -> Rows:
    queries, keys = (np.arange(n, dtype=np.float32) for n in here.open.shape)
    away = np.abs(np.subtract.outer(queries, keys))
    return _all_count(np.einsum("thqk,qk->thq", here.words, away), here.layout.own)


def _relative_distance(here: _Weights) -> Rows:
    given, counts = _distance(here)
    return np.asarray(given / max(len(here.open) - 1, 1), dtype=np.float32), counts


# The bounds were chosen on a dozen sentences so that each filter finds some heads of the bundled BERT, but
# fewer than half. They include uniform attention because 40 % is little with three tokens. The separator's
# filter has no other bound: in this BERT attention goes to [CLS] by default, not to [SEP].
RULES = (
    Rule("previous", "gives the token before it {}", partial(_beside, offset=-1), minimum=0.40),
    Rule("next", "gives the token after it {}", partial(_beside, offset=1), minimum=0.40),
    Rule("itself", "gives itself {}", partial(_beside, offset=0), minimum=0.40),
    Rule(
        "same place",
        "gives the three tokens around its own place in the other text {}",
        _near,
        words=False,
        minimum=0.40,
        single=False,
    ),
    Rule("other sentence", "gives the other sentence {}", _apart, minimum=0.50, even=1.1, single=False),
    Rule("first", "gives {first} {}", _first, words=False, minimum=0.60),
    Rule("separator", "gives {separators} {}", _separators, words=False, minimum=0, even=1.5),
    Rule("punctuation", "gives punctuation {}", _marks, minimum=0.20),
    Rule("same word", "gives its own word elsewhere in the text {}", _alike, minimum=0.20),
    Rule("focused", "gives the one token that it attends to most {}", _focused, minimum=0.60),
    Rule("broad", "has {} of the largest possible entropy", _bits, minimum=0.90, even=0.0, unit="share"),
    Rule("distance", "attends {} away", _distance, unit="tokens"),
    Rule(
        "far away",
        "attends {} of the longest distance in the text away",
        _relative_distance,
        minimum=0.35,
        even=1.05,
        unit="share",
    ),
)
"""Every rule; a new one is a row here, with its function above."""

SINGLE_RULES = tuple(rule for rule in RULES if rule.single)
"""The rules that apply to a single sentence."""


class Measured(NamedTuple):
    """The rules' scores in one layer; meaningless where a rule does not apply to a text.

    Attributes:
        counts: bool [rule, text], whether the rule applies.
        score: float64 [rule, text, head], scores.
        raw: float64 [rule, text, head], the same without rescaling.
        even, raw_even: float64 [rule, text], the same for uniform attention over unmasked cells.
    """

    counts: Mask
    score: Doubles
    raw: Doubles
    even: Doubles
    raw_even: Doubles


def measured(
    rules: Sequence[Rule], layout: Layout, weights: Iterable[Floats], masks: Sequence[Mask]
) -> Iterator[Measured]:
    """Yield the scores of these rules, layer by layer.

    Args:
        rules: Some of `RULES`.
        weights: Weights of each layer, [text, head, query, key], including special tokens.
        masks: Mask of each layer, [query, key], True where not masked.
    """
    evens: dict[bytes, tuple[Doubles, Doubles]] = {}  # usually one for all layers
    for here, mask in zip(weights, masks, strict=True):
        counts, score, raw = _scores(rules, layout, here, mask)
        if (known := mask.tobytes()) not in evens:
            even = even_weights(mask).astype(np.float32)
            both = _scores(rules, layout, np.broadcast_to(even, (len(here), 1, *even.shape)), mask)[1:]
            evens[known] = both[0][..., 0], both[1][..., 0]
        yield Measured(counts, score, raw, *evens[known])


def layout_of(texts: Sequence[str], tokens: Sequence[Sequence[Token]]) -> Layout:
    """Return the positions of tokens in sentences of equal length.

    Raises:
        ValueError: the sentences differ in length or in the positions of special tokens.
    """
    places = {tuple(token.special for token in sentence) for sentence in tokens}
    if len(places) != 1:
        raise ValueError("The sentences must have equal lengths, and special tokens at equal positions.")
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


def even_weights(mask: Mask) -> Doubles:
    """Return uniform attention over unmasked cells."""
    return np.asarray(mask / np.maximum(mask.sum(axis=-1, keepdims=True), 1), dtype=np.float64)


def _scores(
    rules: Sequence[Rule], layout: Layout, weights: Floats, mask: Mask
) -> tuple[Mask, Doubles, Doubles]:
    queries, keys = index_of_places(layout.queries), index_of_places(layout.keys)
    rows = weights[:, :, queries]
    here = _Weights(layout, mask[queries][:, keys], rows, rows[..., keys], len(mask))
    left = here.words.sum(axis=-1)
    left[left == 0] = 1
    rows_of, counted_of = zip(*(rule.measure(here) for rule in rules), strict=True)
    given = np.stack(rows_of)
    counted = np.stack([np.broadcast_to(each, (len(weights), len(here.open))) for each in counted_of])
    mean = (counted / np.maximum(counted.sum(axis=-1, keepdims=True), 1))[..., None]
    words = np.array([rule.words for rule in rules])[:, None, None]
    raw = (given @ mean)[..., 0]
    score = np.where(words, ((given / left) @ mean)[..., 0], raw)
    counts = counted.any(axis=-1) & (~words[..., 0] | (len(layout.keys) > 1))
    return np.asarray(counts, dtype=np.bool_), score, raw


BESIDE = 3  # keys: the one at the same position, and one on each side


def near(queries: int, keys: int) -> Mask:
    """Return [query, key], True for the keys around a query's relative position in the other text."""
    place = np.linspace(0, keys - 1, queries)[:, None]
    return np.asarray(np.abs(np.arange(keys) - place) < BESIDE / 2)
