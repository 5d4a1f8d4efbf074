"""What each head does: looks at the previous token, at the next, at itself, at a separator, or widely."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from attnviz.analysis.sentence import percent
from attnviz.analysis.shown import Group, Shown, merged_weights, only, rescaled
from attnviz.trace import Floats, Mask


@dataclass(frozen=True, eq=False)
class Behaviour:
    """One thing a head can do, and which heads do it.

    Attributes:
        name: "previous", "next", "itself", "first", "separator", "focused" or "broad".
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
_SHARE = "at least {least} of its attention, and at least twice an even share,"

# Set on a dozen sentences so that each finds some heads of the bundled BERT, but not half of all.
# An even share enters because 40 % of three tokens is next to nothing. The separator's rule has nothing
# else: in this BERT [CLS], not [SEP], is where attention rests.
_RULES = (
    _Rule("previous", 0.40, 2.0, f"gives the token before it {_SHARE} {_LEFT_OUT}", positional=True),
    _Rule("next", 0.40, 2.0, f"gives the token after it {_SHARE} {_LEFT_OUT}", positional=True),
    _Rule("itself", 0.40, 2.0, f"gives itself {_SHARE} {_LEFT_OUT}", positional=True),
    _Rule("first", 0.60, 2.0, f"gives {{first}} {_SHARE} special tokens counted"),
    _Rule("separator", 0.0, 1.5, "gives {separator} at least 1.5 times an even share of its attention"),
    _Rule("focused", 0.60, 2.0, f"gives a single token {_SHARE} {_LEFT_OUT}"),
    _Rule("broad", 0.90, 0.0, f"has {{least}} of the largest possible entropy or more, {_LEFT_OUT}"),
)

NAMES = tuple(rule.name for rule in _RULES)
_COUNTED = ("first", "separator")


def behaviours(weights: Floats, queries: Shown, keys: Shown | None = None) -> tuple[Behaviour, ...]:
    """Every behaviour with the heads that show it, in the order of `NAMES`.

    All but "first" and "separator" are computed with special tokens left out and the rows rescaled, since
    [CLS] and [SEP] otherwise drown everything (Clark et al. 2019, §3); hiding them in the picture
    changes nothing here. Where word pieces are merged, "token" means word.

    Args:
        weights: [layer, head, query, key], the model's.
        queries: the tokens that look.
        keys: the tokens that are looked at; None means the same (self-attention). Between two different
            texts (cross-attention) "previous", "next" and "itself" mean nothing and are not returned.
    """
    own = keys is None
    keys = queries if keys is None else keys
    ordinary = [
        tuple(index for index, group in enumerate(shown.all_groups) if not group.special)
        for shown in (queries, keys)
    ]
    separators = [index for index, group in enumerate(keys.all_groups) if group.special and index > 0]
    merged = merged_weights(weights, queries, keys)
    kept = rescaled(only(merged, *ordinary))
    to_key = only(merged, ordinary[0], tuple(range(len(keys.all_groups)))).mean(axis=2)
    scores: dict[str, Callable[[], Floats]] = {
        "previous": lambda: _beside(kept, -1),
        "next": lambda: _beside(kept, 1),
        "itself": lambda: _beside(kept, 0),
        "first": lambda: to_key[..., 0],
        "separator": lambda: to_key[..., separators].sum(axis=-1),
        "focused": lambda: kept.max(axis=-1).mean(axis=-1),
        "broad": lambda: _evenness(*_entropy(kept)),
    }
    first = keys.all_groups[0].label if keys.all_groups[0].special else "the first token"
    separator = " and ".join(dict.fromkeys(keys.all_groups[i].label for i in separators)) or "a separator"
    found = []
    for rule in _RULES:
        if rule.positional and not own:
            continue
        score = scores[rule.name]().astype(np.float32)
        places = len(separators) if rule.name == "separator" else 1
        even = rule.even * places / (merged if rule.name in _COUNTED else kept).shape[-1]
        words = rule.words.format(least=percent(rule.least), first=first, separator=separator)
        sentence = f"On average a {'word' if queries.merges else 'token'} {words}."
        # A model without separators gives them 0, which is not more than their share of nothing.
        satisfied = (score >= max(rule.least, even)) & (score > 0)
        found.append(Behaviour(rule.name, sentence, score, satisfied))
    return tuple(found)


def facts(weights: Floats, queries: Shown, keys: Shown | None = None) -> tuple[str, ...]:
    """One short description per head, layer by layer, of what the picture shows of it.

    Args:
        weights: [layer, head, shown query, shown key], as shown: a hidden token is never named.
        queries: which queries are shown.
        keys: which keys are shown; None means the same as `queries` (self-attention).

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
    named += _places(weights.mean(axis=2), keys.groups)
    shares = np.stack([share for _, share in named])
    strongest, best = shares.argmax(axis=0), shares.max(axis=0)
    entropy, largest = _entropy(weights)
    # An entropy of H bits is that of 2^H tokens with equal shares: the perplexity of the row.
    equal, of_all = (np.exp2(bits.mean(axis=-1)) for bits in (entropy, largest))
    even = _evenness(entropy, largest)
    told = []
    for layer, head in np.ndindex(best.shape):
        here = layer, head
        if best[here] >= _NOTABLE:
            told.append(f"{named[strongest[here]][0]} ({percent(float(best[here]))})")
        else:
            how = "spreads widely" if even[here] >= _WIDE else "looks at no fixed place"
            told.append(f"{how} (like {equal[here]:.0f} of {of_all[here]:.0f} tokens sharing equally)")
    return tuple(told)


_NOTABLE = 0.3
_WIDE = 0.8


def _places(to_key: Floats, groups: Sequence[Group]) -> list[tuple[str, Floats]]:
    """Each special token by name, equal names together, and each other token by name and number."""
    places: dict[str, Floats] = {}
    for index, group in enumerate(groups):
        label = group.label if group.special else f"“{group.label}”, token {group.number}"
        here = to_key[..., index]
        places[label] = places[label] + here if label in places else here
    return [(f"looks at {label}", share) for label, share in places.items()]


def _beside(weights: Floats, offset: int) -> Floats:
    """The mean weight that queries give to the key `offset` places on; 0 if no query has one."""
    diagonal = np.diagonal(weights, offset, axis1=-2, axis2=-1)
    return diagonal.mean(axis=-1) if diagonal.shape[-1] else np.zeros(weights.shape[:-2], dtype=np.float32)


def _entropy(weights: Floats) -> tuple[Floats, Floats]:
    """−Σ w log₂ w of each row, and the most it could be: log₂ of how many cells of the row are not 0.

    Cells that a mask forbids are exactly 0, so they do not count as cells that attention could spread to.
    """
    entropy = np.empty(weights.shape[:-1], dtype=np.float32)
    cells = np.empty(weights.shape[:-1], dtype=np.float32)
    for layer, head in np.ndindex(weights.shape[:2]):
        # One head at a time stays in the processor's cache.
        here = weights[layer, head]
        open_cells = here > 0
        logarithms = np.log2(here, out=np.zeros_like(here), where=open_cells)
        entropy[layer, head] = -np.einsum("qk,qk->q", here, logarithms)
        cells[layer, head] = np.count_nonzero(open_cells, axis=-1)
    return entropy, np.log2(np.maximum(cells, 1))


def _evenness(entropy: Floats, largest: Floats) -> Floats:
    """Mean entropy over the largest possible, [layer, head]; 0 where there is no choice at all."""
    most = largest.mean(axis=-1)
    return np.asarray(entropy.mean(axis=-1) / np.where(most > 0, most, 1), dtype=np.float32)
