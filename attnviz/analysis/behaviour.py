"""What each head does: looks at the token before, at itself, at the same place of another text, or widely."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from attnviz.analysis.display_tokens import (
    DisplayToken,
    DisplayTokens,
    merged_mask,
    merged_weights,
    only,
    rescaled,
)
from attnviz.analysis.entropy import entropy
from attnviz.analysis.words import punctuation, same_word
from attnviz.text import joined, percent
from attnviz.trace import Floats, Mask


@dataclass(frozen=True, eq=False)
class Behaviour:
    """One thing a head can do, and which heads do it.

    Attributes:
        name: "previous", "next", "itself", "same place", "other sentence", "first", "separator",
            "punctuation", "same word", "far away", "focused" or "broad".
        rule: the rule in words, with its threshold.
        score: float32 [layer, head], 0 to 1: what the rule compares with the threshold.
        found: bool [layer, head], the heads that satisfy the rule.
    """

    name: str
    rule: str
    score: Floats
    found: Mask


@dataclass(frozen=True, slots=True)
class _Rule:
    """A head is found where its score reaches `least`, and `even` times an even share (1 / keys)."""

    name: str
    least: float
    even: float
    words: str
    positional: bool = False


_LEFT_OUT = "with special tokens left out"
_WITH = "special tokens counted"
_LOOKED_AT = "special tokens left out where they look, counted where they are looked at"
_SHARE = "at least {least} of its attention, and at least twice an even share,"

# Set on a dozen sentences so that each finds some heads of the bundled BERT, but not half of all.
# An even share enters because 40 % of three tokens is next to nothing. The separator's rule has nothing
# else: in this BERT [CLS], not [SEP], is where attention rests.
_RULES = (
    _Rule("previous", 0.40, 2.0, f"gives the token before it {_SHARE} {_LEFT_OUT}", positional=True),
    _Rule("next", 0.40, 2.0, f"gives the token after it {_SHARE} {_LEFT_OUT}", positional=True),
    _Rule("itself", 0.40, 2.0, f"gives itself {_SHARE} {_LEFT_OUT}", positional=True),
    _Rule(
        "same place",
        0.40,
        2.0,
        f"gives the three tokens around its own place in the other text {_SHARE} {_WITH}",
    ),
    _Rule(
        "other sentence",
        0.50,
        1.1,
        f"gives the other sentence {{least}} or more, and at least 1.1 times an even share, {_LEFT_OUT}",
    ),
    _Rule("first", 0.60, 2.0, f"gives {{first}} {_SHARE} {_LOOKED_AT}"),
    _Rule(
        "separator",
        0.0,
        1.5,
        f"gives {{separator}} at least 1.5 times an even share of its attention, {_LOOKED_AT}",
    ),
    _Rule("punctuation", 0.20, 2.0, f"gives punctuation marks {_SHARE} {_LEFT_OUT}"),
    _Rule(
        "same word",
        0.20,
        2.0,
        f"whose word stands here more than once gives its other occurrences, capitals or not, {_SHARE} "
        f"{_LEFT_OUT}",
        positional=True,
    ),
    _Rule(
        "far away",
        0.35,
        1.05,
        "looks at least {least} of the longest distance away, each distance counted by its weight, and at "
        f"least 1.05 times as far as with even attention, {_LEFT_OUT}",
        positional=True,
    ),
    _Rule("focused", 0.60, 2.0, f"gives a single token {_SHARE} {_LEFT_OUT}"),
    _Rule("broad", 0.90, 0.0, f"has {{least}} of the largest possible entropy or more, {_LEFT_OUT}"),
)

NAMES = tuple(rule.name for rule in _RULES)
COUNTED = ("same place", "first", "separator")
"""The behaviours that count what special tokens get, as the picture shows it before any are hidden."""


def behaviours(
    weights: Floats, queries: DisplayTokens, keys: DisplayTokens | None = None, *, mask: Mask | None = None
) -> tuple[Behaviour, ...]:
    """Every behaviour that is possible, with the heads that show it, in the order of `NAMES`.

    All but "same place", "first" and "separator" are computed with special tokens left out and the rows
    rescaled, since [CLS] and [SEP] otherwise drown everything (Clark et al. 2019, §3); hiding them in the
    picture changes nothing here. "first" and "separator" count what special tokens get, and leave out what
    they give. Where word pieces are merged, "token" means word.

    Args:
        weights: [layer, head, query, key], the model's.
        queries: the tokens that look.
        keys: the tokens that are looked at; None means the same (self-attention). Between two different
            texts (cross-attention) "previous", "next", "itself", "same word" and "far away" mean nothing and
            are not returned, "same place" only there. Nor is what cannot be: "separator" where there is none,
            "other sentence" where there is no pair, "punctuation" and "same word" where no such token is.
        mask: [query, key], the model's: True where a query may look; None if everywhere. What it forbids
            everywhere is not returned: "next", where nobody may look ahead.
    """
    own = keys is None
    keys = queries if keys is None else keys
    ordinary = [
        tuple(index for index, group in enumerate(shown.all_groups) if not group.special)
        for shown in (queries, keys)
    ]
    separators = [index for index, group in enumerate(keys.all_groups) if group.special and index > 0]
    counted = ordinary[0], tuple(range(len(keys.all_groups)))
    looking, looked_at = (
        np.array([shown.tokens[shown.all_groups[index].positions[0]].sentence for index in indices])
        for shown, indices in zip((queries, keys), ordinary, strict=True)
    )
    elsewhere = looking[:, None] != looked_at  # of different sentences of a pair
    merged = merged_weights(weights, queries, keys)
    kept, to_key = rescaled(only(merged, *ordinary)), only(merged, *counted).mean(axis=2)
    if mask is None:
        mask = np.ones(weights.shape[-2:], dtype=np.bool_)
    allowed = merged_mask(mask, queries, keys)
    among, among_all = only(allowed, *ordinary), only(allowed, *counted)
    cells = {"punctuation": _marks(keys)[list(ordinary[1])] & among}
    if own:
        cells["same word"] = _alike(queries)[np.ix_(*ordinary)] & among
    # What these rules measure of a head, they also measure of one with even attention.
    compared: dict[str, Callable[[Floats], Floats]] = {
        name: partial(_to_cells, cells=here) for name, here in cells.items() if here.any()
    }
    if own:
        compared["far away"] = _relative_distance
    scores: dict[str, Callable[[], Floats]] = {
        "previous": lambda: _beside(kept, -1),
        "next": lambda: _beside(kept, 1),
        "itself": lambda: _beside(kept, 0),
        "same place": lambda: _near(merged),
        "other sentence": lambda: (kept * elsewhere).sum(axis=-1).mean(axis=-1),
        "first": lambda: to_key[..., 0],
        "separator": lambda: to_key[..., separators].sum(axis=-1),
        "focused": lambda: kept.max(axis=-1).mean(axis=-1),
        "broad": lambda: _evenness(*_spread(kept)),
        **{name: partial(measure, kept) for name, measure in compared.items()},
    }
    evenly = rescaled(among.astype(np.float32))
    ahead = np.diagonal(among, 1)
    impossible = {
        *(["same place"] if own else [rule.name for rule in _RULES if rule.positional]),
        *(["next"] if ahead.size and not ahead.any() else []),
        *([] if separators else ["separator"]),
        *([] if elsewhere.any() else ["other sentence"]),
        *({"punctuation", "same word"} - compared.keys()),
    }
    first = keys.all_groups[0].label if keys.all_groups[0].special else "the first token"
    separator = joined([*dict.fromkeys(keys.all_groups[i].label for i in separators)])
    found = []
    for rule in _RULES:
        if rule.name in impossible:
            continue
        score = scores[rule.name]().astype(np.float32)
        places = {
            "separator": len(separators),
            "same place": _BESIDE,
            "other sentence": float(elsewhere.sum(axis=-1).mean()),
        }.get(rule.name, 1)
        even = rule.even * places * _even_share(among_all if rule.name in COUNTED else among)
        if rule.name in compared:
            even = rule.even * float(compared[rule.name](evenly))
        words = rule.words.format(least=percent(rule.least), first=first, separator=separator)
        sentence = f"On average a {'word' if queries.merges else 'token'} {words}."
        found.append(Behaviour(rule.name, sentence, score, score >= max(rule.least, even)))
    return tuple(found)


def facts(weights: Floats, queries: DisplayTokens, keys: DisplayTokens | None = None) -> tuple[str, ...]:
    """One short description per head, layer by layer, of what the picture shows of it.

    Args:
        weights: [layer, head, shown query, shown key], as shown: a hidden token is never named.
        queries, keys: which of them are shown; no keys: the same (self-attention).

    Returns:
        layer × head strings: "looks at the previous token (87 %)", "looks at [CLS] (54 %)",
        "looks at itself (61 %)", "spreads widely (like 9 of 15 tokens sharing equally)", …; each
        share is the mean over all shown queries.
    """
    named: list[tuple[str, Floats]] = []
    if keys is None:
        token = "word" if queries.merges else "token"
        named += [
            (f"looks at the previous {token}", _beside(weights, -1)),
            (f"looks at the next {token}", _beside(weights, 1)),
            ("looks at itself", _beside(weights, 0)),
        ]
        keys = queries
    else:
        near = _near(weights)
        clear = near >= 2 * _BESIDE / weights.shape[-1]
        named.append(("looks around its own place in the other text", np.where(clear, near, 0)))
    named += _places(weights.mean(axis=2), keys.groups)
    shares = np.stack([share for _, share in named])
    strongest, best = shares.argmax(axis=0), shares.max(axis=0)
    spread, largest = _spread(weights)
    # An entropy of H bits is that of 2^H tokens with equal shares: the perplexity of the row.
    equal, of_all = (np.exp2(bits.mean(axis=-1)) for bits in (spread, largest))
    even = _evenness(spread, largest)
    told = []
    for layer, head in np.ndindex(best.shape):
        here = layer, head
        if best[here] >= _NOTABLE:
            told.append(f"{named[strongest[here]][0]} ({percent(float(best[here]))})")
        else:
            how = "spreads widely" if even[here] >= _WIDE else "looks at no fixed place"
            # Where a mask closes cells, a row has fewer tokens to look at than the picture has columns.
            reach = "" if round(float(of_all[here])) == weights.shape[-1] else " within reach"
            told.append(f"{how} (like {equal[here]:.0f} of {of_all[here]:.0f} tokens{reach} sharing equally)")
    return tuple(told)


_NOTABLE = 0.3
_WIDE = 0.8


def _places(to_key: Floats, groups: Sequence[DisplayToken]) -> list[tuple[str, Floats]]:
    """Each special token by name, equal names together, and each other token by name and number."""
    places: dict[str, Floats] = {}
    for index, group in enumerate(groups):
        label = group.label if group.special else f"“{group.label}”, token {group.number}"
        here = to_key[..., index]
        places[label] = places[label] + here if label in places else here
    return [(f"looks at {label}", share) for label, share in places.items()]


def _even_share(allowed: Mask) -> float:
    """What a key gets on average where every row is shared out evenly: 1 / keys, and more behind a mask."""
    return float((1 / np.maximum(allowed.sum(axis=-1), 1)).mean())


def _beside(weights: Floats, offset: int) -> Floats:
    """The mean weight that queries give to the key `offset` places on; 0 if no query has one."""
    diagonal = np.diagonal(weights, offset, axis1=-2, axis2=-1)
    return diagonal.mean(axis=-1) if diagonal.shape[-1] else np.zeros(weights.shape[:-2], dtype=np.float32)


def _marks(shown: DisplayTokens) -> Mask:
    """[group], True where all its tokens are punctuation."""
    marks = punctuation(shown.tokens, (shown.text, shown.second or ""))
    return np.array([marks[list(group.positions)].all() for group in shown.all_groups], dtype=np.bool_)


def _alike(shown: DisplayTokens) -> Mask:
    """[group, group], True where both belong to words that are spelled alike; a word is not its own twin."""
    first = [group.positions[0] for group in shown.all_groups]
    return same_word(shown.tokens, (shown.text, shown.second or ""))[np.ix_(first, first)]


def _to_cells(rows: Floats, cells: Mask) -> Floats:
    """The mean weight that the rows which have such cells give to them, [...]."""
    having = cells.any(axis=-1)
    return np.asarray(np.einsum("...qk,qk->...", rows, cells.astype(np.float32)) / having.sum())


def _relative_distance(rows: Floats) -> Floats:
    """The mean of Σ w |i − j| over the longest distance there is, [...]; 0 to 1."""
    size = rows.shape[-1]
    places = np.arange(size, dtype=np.float32)
    away = np.abs(np.subtract.outer(places, places)) / max(size - 1, 1)
    return np.asarray(np.einsum("...qk,qk->...", rows, away) / size)


_BESIDE = 3  # keys: the one at the same place, and one on each side


def _near(weights: Floats) -> Floats:
    """The mean weight that queries give to the three keys around their own place, from first to last."""
    queries, keys = weights.shape[-2:]
    place = np.linspace(0, keys - 1, queries)[:, None]
    near = np.abs(np.arange(keys) - place) < _BESIDE / 2
    return np.asarray((weights * near).sum(axis=-1).mean(axis=-1), dtype=np.float32)


def _spread(weights: Floats) -> tuple[Floats, Floats]:
    """The entropy of each row, [layer, head, query], and the most that it could be: log₂ of its open cells.

    Cells that a mask forbids are exactly 0, so they do not count as cells that attention could spread to.
    """
    # One head at a time stays in the processor's cache.
    spread = np.array([[entropy(head) for head in layer] for layer in weights], dtype=np.float32)
    return spread, np.log2(np.maximum(np.count_nonzero(weights, axis=-1), 1)).astype(np.float32)


def _evenness(spread: Floats, largest: Floats) -> Floats:
    """Mean entropy over the largest possible, [layer, head]; 0 where there is no choice at all."""
    most = largest.mean(axis=-1)
    return np.asarray(spread.mean(axis=-1) / np.where(most > 0, most, 1), dtype=np.float32)
