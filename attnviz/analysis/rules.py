"""Rules that describe what heads attend to, and how heads score by these rules in one text.

Attention is measured twice: as a fraction of a token's total attention, and as a fraction of its attention to
words, without special tokens, because [CLS] and [SEP] otherwise dominate (Clark et al. 2019, §3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnviz.analysis.display_tokens import DisplayTokens, index_of_places, merged_mask, merged_weights
from attnviz.analysis.entropy import bits
from attnviz.analysis.words import punctuation, same_word
from attnviz.text import percent
from attnviz.trace import Doubles, Floats, Mask

Places = NDArray[np.intp]

_CHUNK_WEIGHTS = 2**22  # weights per step, to limit memory in long texts


@dataclass(frozen=True, eq=False)
class _TextWeights:
    """The weights of one text; "token" means word if pieces are merged.

    Attributes:
        self_attention: True for self-attention; otherwise positions cannot be compared.
        open: bool [layer, query, key], True where not masked, for ordinary queries and keys.
        rows: float32 [layer, head, query, key], weights from ordinary queries to all keys.
        words: float32 [layer, head, query, key], weights from ordinary queries to ordinary keys.
        queries: [query], positions of ordinary tokens among all queries.
        size: Number of all queries, including special ones.
        separators: [n], positions of special keys after the first token.
        marks: bool [key], whether an ordinary key is punctuation.
        repeated: bool [query, key], whether a key is another occurrence of the query's word.
        other_sentence: bool [query, key], whether query and key are in different sentences of a pair.
    """

    self_attention: bool
    open: Mask
    rows: Floats
    words: Floats
    queries: Places
    size: int
    separators: Places
    marks: Mask
    repeated: Mask
    other_sentence: Mask


Rows = tuple[Floats, Mask]
"""The measure of each query, [layer, head, query], and which queries count, [layer or 1, query]."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A property of heads, measured by one number: the score, a mean over queries.

    Attributes:
        name: One or two words.
        target: End of the definition “Mean weight of a token on …”, or “Mean …” if not `is_attention`.
        measure: Returns the value of each query, before `_means` averages and rescales these values.
        words: True to exclude special tokens and rescale rows; False to count special tokens as keys.
        minimum, uniform_ratio: Explore's filter finds heads that score at least `minimum` and at least
            `uniform_ratio` times the score of uniform attention.
        is_attention: True if the score is a fraction of attention; False for an entropy or a distance.
        single: True if it applies to a single sentence, False if only to a pair or to two texts.
    """

    name: str
    target: str
    measure: Callable[[_TextWeights], Rows]
    words: bool = True
    minimum: float = 0.0
    uniform_ratio: float = 2.0
    is_attention: bool = True
    single: bool = True

    def amount(self, score: float, raw: float) -> str:
        """Format a score: "17 % (64 % without special tokens)".

        If both percentages are equal, because no attention is on special tokens, the second is omitted.
        """
        if not self.is_attention or not self.words or percent(raw) == percent(score):
            return percent(score)
        return f"{percent(raw)} ({percent(score)} without special tokens)"

    @property
    def definition(self) -> str:
        """Definition of the score, without a full stop."""
        return self._description()

    @property
    def condition(self) -> str:
        """Condition of the filter, without a full stop."""
        bounds = [f"at least {percent(self.minimum)}"] if self.minimum else []
        if self.uniform_ratio:
            bounds.append(f"at least {self.uniform_ratio:g} times that of uniform attention")
        return self._description(f": {', and '.join(bounds)}")

    def _description(self, bounds: str = "") -> str:
        treatment = "excluded, rows rescaled" if self.words else "excluded as queries, counted as keys"
        subject = "Mean weight of a token on" if self.is_attention else "Mean"
        return f"{subject} {self.target}{bounds} (special tokens {treatment})"


def _attention_to(cells: Mask, weights: Floats, open_cells: Mask) -> Rows:
    """Sum the attention in `cells`, [query, key]; a query counts if one of its cells is not masked."""
    counts = np.asarray((cells & open_cells).any(axis=-1), dtype=np.bool_)
    return np.einsum("lhqk,qk->lhq", weights, cells.astype(np.float32)), counts


def _all_count(amounts: Floats, possible: bool = True) -> Rows:
    return amounts, np.full((1, amounts.shape[-1]), possible)


def _at_offset(text: _TextWeights, offset: int) -> Rows:
    """Measure attention to the key at an offset from the query."""
    *_, queries, keys = text.open.shape
    places = np.arange(queries)
    target = (places + offset).clip(0, keys - 1)
    counts = text.self_attention & (target == places + offset) & text.open[:, places, target]
    return text.words[..., places, target], np.asarray(counts, dtype=np.bool_)


def _near(text: _TextWeights) -> Rows:
    keys = text.rows.shape[-1]
    cells = near(text.size, keys)[text.queries] & (not text.self_attention)
    return _attention_to(cells, text.rows, np.ones((1, 1, keys), dtype=np.bool_))


def _separators(text: _TextWeights) -> Rows:
    return _all_count(text.rows[..., text.separators].sum(axis=-1), len(text.separators) > 0)


def _marks(text: _TextWeights) -> Rows:
    return _attention_to(np.broadcast_to(text.marks, text.open.shape[1:]), text.words, text.open)


def _repeated(text: _TextWeights) -> Rows:
    return _attention_to(text.repeated & text.self_attention, text.words, text.open)


def _bits(text: _TextWeights) -> Rows:
    """Measure the entropy of each row, relative to the mean maximum entropy.

    With s = Σ w, the entropy of w / s is log s − Σ w log w / s. Return this times s: `_means` divides by s.
    """
    sums = text.words.sum(axis=-1, dtype=np.float64)
    entropies = bits(text.words) + sums * np.log2(np.maximum(sums, 1e-30))
    possible = np.log2(np.maximum(text.open.sum(axis=-1), 1)).mean(axis=-1)
    relative = entropies / np.where(possible, possible, 1)[:, None, None]
    return _all_count(np.asarray(relative, dtype=np.float32))


def _distance(text: _TextWeights) -> Rows:
    """Measure the mean distance to the keys, relative to the longest distance in the text."""
    queries, keys = (np.arange(n, dtype=np.float32) for n in text.open.shape[1:])
    away = np.abs(np.subtract.outer(queries, keys)) / max(len(queries) - 1, 1)
    return _all_count(np.einsum("lhqk,qk->lhq", text.words, away), text.self_attention)


# The bounds were chosen with a dozen sentences so that each filter finds some heads of the bundled BERT, but
# fewer than half. They include the score of uniform attention because 40 % is not much in a text of three
# tokens. Separators have no other bound: this BERT attends to [CLS] by default, not to [SEP].
RULES = (
    Rule("previous", "the token before it", partial(_at_offset, offset=-1), minimum=0.40),
    Rule("next", "the token after it", partial(_at_offset, offset=1), minimum=0.40),
    Rule("itself", "itself", partial(_at_offset, offset=0), minimum=0.40),
    Rule(
        "same place",
        "the three tokens around the same place in the other text",
        _near,
        words=False,
        minimum=0.40,
        single=False,
    ),
    Rule(
        "other sentence",
        "the other sentence",
        lambda text: _attention_to(text.other_sentence, text.words, text.open),
        minimum=0.50,
        uniform_ratio=1.1,
        single=False,
    ),
    Rule("first", "the first token", lambda text: _all_count(text.rows[..., 0]), words=False, minimum=0.60),
    Rule("separator", "special tokens after the first token", _separators, words=False, uniform_ratio=1.5),
    Rule("punctuation", "punctuation", _marks, minimum=0.20),
    Rule("same word", "other occurrences of its word", _repeated, minimum=0.20),
    Rule(
        "focused",
        "the token that it attends to most",
        lambda text: _all_count(text.words.max(axis=-1)),
        minimum=0.60,
    ),
    Rule(
        "broad",
        "entropy of a token’s attention, relative to the maximum",
        _bits,
        minimum=0.90,
        uniform_ratio=0,
        is_attention=False,
    ),
    Rule(
        "far away",
        "distance to the attended tokens, relative to the longest distance in the text",
        _distance,
        minimum=0.35,
        uniform_ratio=1.05,
        is_attention=False,
    ),
)
"""All rules. To add a rule, add a row here and its function above."""

SINGLE_RULES = tuple(rule for rule in RULES if rule.single)
"""The rules that apply to a single sentence."""


class RuleScores(NamedTuple):
    """The scores of the rules in one text; undefined where a rule does not apply.

    Attributes:
        counts: bool [rule, layer], whether the rule applies.
        score: float64 [rule, layer, head], scores.
        raw: float64 [rule, layer, head], scores without rescaling.
        uniform: float64 [rule, layer], the score of uniform attention over unmasked cells.
    """

    counts: Mask
    score: Doubles
    raw: Doubles
    uniform: Doubles


def rule_scores(
    rules: Sequence[Rule], weights: Floats, mask: Mask, queries: DisplayTokens, keys: DisplayTokens | None
) -> RuleScores:
    """Return the scores of these rules; hiding special tokens does not change the scores.

    Args:
        rules: Some of `RULES`.
        weights: [layer, head, query, key], the model's weights.
        mask: [layer, query, key], True where not masked.
        queries: Query tokens.
        keys: Key tokens; None for self-attention.
    """
    own = keys is None
    keys = queries if keys is None else keys
    mask = merged_mask(mask, queries, keys)
    uniform = (mask / np.maximum(mask.sum(axis=-1, keepdims=True), 1))[:, None].astype(np.float32)
    rows, columns = _ordinary(queries), _ordinary(keys)
    separators = np.array([at for at, each in enumerate(keys.all_groups) if each.special and at], np.intp)
    marks = _marks_of(keys)[columns]
    cells = np.ix_(rows, columns)
    repeated = _repeated_of(queries)[cells] if own else np.zeros((len(rows), len(columns)), dtype=np.bool_)
    other_sentence = _sentences(queries)[rows][:, None] != _sentences(keys)[columns]

    row_index, column_index = index_of_places(rows), index_of_places(columns)
    open_cells = mask[:, row_index][..., column_index]

    def scores(weights: Floats, layers: slice) -> tuple[Mask, Doubles, Doubles]:
        from_words = weights[layers, :, row_index]
        text = _TextWeights(
            self_attention=own,
            open=open_cells[layers],
            rows=from_words,
            words=from_words[..., column_index],
            queries=rows,
            size=mask.shape[-2],
            separators=separators,
            marks=marks,
            repeated=repeated,
            other_sentence=other_sentence,
        )
        return _means(rules, text)

    merged = merged_weights(weights, queries, keys)
    step = max(1, _CHUNK_WEIGHTS // merged[0].size)
    parts = [scores(merged, slice(first, first + step)) for first in range(0, len(merged), step)]
    counts, score, raw = (np.concatenate(each, axis=1) for each in zip(*parts, strict=True))
    return RuleScores(counts, score, raw, scores(uniform, slice(None))[1][..., 0])


def _means(rules: Sequence[Rule], text: _TextWeights) -> tuple[Mask, Doubles, Doubles]:
    """Return which rules apply, their scores, and their scores without rescaling."""
    to_words = text.words.sum(axis=-1)
    to_words[to_words == 0] = 1
    measures, counting = zip(*(rule.measure(text) for rule in rules), strict=True)
    amounts = np.stack(measures)
    counted = np.stack([np.broadcast_to(each, (len(to_words), to_words.shape[-1])) for each in counting])
    mean = (counted / np.maximum(counted.sum(axis=-1, keepdims=True), 1))[..., None]
    words = np.array([rule.words for rule in rules])[:, None, None]
    raw = (amounts @ mean)[..., 0]
    score = np.where(words, ((amounts / to_words) @ mean)[..., 0], raw)
    counts = counted.any(axis=-1) & (~words[..., 0] | (text.words.shape[-1] > 1))
    return np.asarray(counts, dtype=np.bool_), score, raw


def _ordinary(shown: DisplayTokens) -> Places:
    return np.array([at for at, group in enumerate(shown.all_groups) if not group.special], dtype=np.intp)


def _sentences(shown: DisplayTokens) -> NDArray[np.intp]:
    """Return [group], the sentence of each group: 0, or 1 for the second sentence of a pair."""
    return np.array([shown.tokens[group.positions[0]].sentence for group in shown.all_groups], dtype=np.intp)


def _marks_of(shown: DisplayTokens) -> Mask:
    """Return [group], True for groups that consist of punctuation only."""
    marks = punctuation(shown.tokens, (shown.text, shown.second or ""))
    return np.array([marks[list(group.positions)].all() for group in shown.all_groups], dtype=np.bool_)


def _repeated_of(shown: DisplayTokens) -> Mask:
    """Return [group, group], True where two groups belong to different words with the same spelling."""
    first = [group.positions[0] for group in shown.all_groups]
    return same_word(shown.tokens, (shown.text, shown.second or ""))[np.ix_(first, first)]


NEAR_KEYS = 3  # the key at the same position, and one on each side


def near(queries: int, keys: int) -> Mask:
    """Return [query, key], True for the keys around a query's relative position in the other text."""
    place = np.linspace(0, keys - 1, queries)[:, None]
    return np.asarray(np.abs(np.arange(keys) - place) < NEAR_KEYS / 2)
