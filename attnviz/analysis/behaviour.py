"""What each head attends to: the token before, itself, the same place of another text, or many tokens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnviz.analysis.display_tokens import (
    DisplayTokens,
    merged_mask,
    merged_weights,
    queries_and_keys,
    rescaled,
)
from attnviz.analysis.entropy import bits
from attnviz.analysis.rules import BESIDE, OF_ALL, RULES, Layout, Rule, Special, measured, near
from attnviz.analysis.words import punctuation, same_word
from attnviz.text import isolated, percent
from attnviz.trace import Floats, Kind, Mask, Trace, checked_trace


@dataclass(frozen=True, eq=False)
class Behaviour:
    """One thing a head can do, and which heads do it.

    Attributes:
        rule: what is measured, and Explore's bounds for it.
        sentence: the rule in words, with its bounds.
        score: float32 [layer, head]: what is compared with the bounds.
        raw: float32 [layer, head], of a share, that of all attention; see `Rule.amount`.
        even: float32 [layer], what a head with even attention scores.
        raw_even: float32 [layer], of a share, that of all attention.
        found: bool [layer, head], the heads that satisfy the rule.
    """

    rule: Rule
    sentence: str
    score: Floats
    raw: Floats
    even: Floats
    raw_even: Floats
    found: Mask

    @property
    def name(self) -> str:
        """The rule's."""
        return self.rule.name

    def described(self) -> list[str]:
        """The amount of each head as it is read, layer by layer."""
        scores = zip(self.score.ravel().tolist(), self.raw.ravel().tolist(), strict=True)
        return [self.rule.amount(score, raw) for score, raw in scores]


FILTERS = tuple(rule for rule in RULES if rule.minimum is not None)
"""The rules by which Explore finds heads."""


def behaviour(trace: Trace, kind: Kind | None = None) -> tuple[Behaviour, ...]:
    """What heads do in one text, rule by rule: attend to the previous token, to punctuation and so on.

    Each rule that applies to this text has a `name`, the `sentence` that describes it
    measures, the `score` of every head [layer, head], what `even` attention would score [layer], and which
    heads are `found` by it, as on Explore, [layer, head]. Clark et al. (2019, section 3) count such things.

    Args:
        trace: of any model.
        kind: "encoder", "decoder" or "cross"; None: the only one that there is.

    Raises:
        InvalidTrace: there is no such attention, or several kinds and none is named.
        TypeError: it is no trace.
    """
    blocks = checked_trace(trace).of_kind(kind)
    shown = queries_and_keys(trace, blocks[0].kind)
    return behaviours(trace.stack(blocks[0].kind), *shown, mask=np.stack([block.mask for block in blocks]))


def behaviours(
    weights: Floats, queries: DisplayTokens, keys: DisplayTokens | None = None, *, mask: Mask | None = None
) -> tuple[Behaviour, ...]:
    """Every behaviour that is possible, with the heads that show it, in the order of `FILTERS`.

    Hiding special tokens in the picture changes nothing. Where word pieces are merged, "token" means word.

    Args:
        weights: [layer, head, query, key], the model's.
        queries: the tokens that look.
        keys: the key tokens; None means the same (self-attention).
        mask: [layer, query, key] or [query, key], the model's: True where a query may look; None if
            everywhere. A rule about what it forbids everywhere, or what the text has not, is not returned.
    """
    own = keys is None
    keys = queries if keys is None else keys
    ordinary = [
        np.array([index for index, group in enumerate(shown.all_groups) if not group.special], dtype=np.intp)
        for shown in (queries, keys)
    ]
    of_queries, of_keys = (
        np.array([shown.tokens[shown.all_groups[index].positions[0]].sentence for index in indices])
        for shown, indices in zip((queries, keys), ordinary, strict=True)
    )
    apart = of_queries[:, None] != of_keys
    special = [index for index, group in enumerate(keys.all_groups) if group.special]
    layout = Layout(
        queries=ordinary[0],
        keys=ordinary[1],
        separators=np.array([index for index in special if index], dtype=np.intp),
        marks=_marks(keys)[None, ordinary[1]],
        alike=_alike(queries)[np.ix_(*ordinary)][None]
        if own
        else np.zeros((1, *apart.shape), dtype=np.bool_),
        apart=apart,
        own=own,
    )
    mask = np.ones(weights.shape[-2:], dtype=np.bool_) if mask is None else mask
    masks = [
        merged_mask(each, queries, keys) for each in np.broadcast_to(mask, (len(weights), *mask.shape[-2:]))
    ]
    merged = merged_weights(weights, queries, keys)[:, None]
    names = [keys.all_groups[index].label for index in special]
    called = Special(names[0] if 0 in special else "", tuple(dict.fromkeys(names[0 in special :])))
    of_layers = zip(*measured(FILTERS, layout, merged, masks), strict=True)
    counts, *numbers = (np.stack(each, axis=1) for each in of_layers)
    found = []
    for at, rule in enumerate(FILTERS):
        if counts[at].any():
            score, raw, even, raw_even = (np.asarray(each[at, :, 0], dtype=np.float32) for each in numbers)
            bound = np.maximum(rule.minimum or 0, rule.even * even[:, None])
            who = f"On average a {'word' if queries.merges else 'token'}"
            sentence = f"{who} {rule.filtered(called)}."
            is_found = (score >= bound) & counts[at]
            found.append(Behaviour(rule, sentence, score, raw, even, raw_even, is_found))
    return tuple(found)


def facts(
    weights: Floats, queries: DisplayTokens, keys: DisplayTokens | None = None, *, left: Floats | None = None
) -> tuple[str, ...]:
    """One short description per head, layer by layer, of what the picture shows of it.

    Args:
        weights: [layer, head, shown query, shown key], as shown: a hidden token is never named.
        queries, keys: which of them are shown; no keys: the same (self-attention).
        left: [layer, head, shown query], the part of each row that goes to what is shown, where rows were
            rescaled; see `left_share`. Then there are two shares: of all attention, and of what goes there.

    Returns:
        layer × head strings: "attends to the previous token (87 %)", "attends to [CLS] (54 %)",
        "attends to itself (8 % of its attention, 61 % of what goes to tokens shown)", "spreads widely (like
        9 of 15 tokens sharing equally)", …; each share is the mean over all shown queries.
    """
    places = _places(weights, queries, keys, np.ones(weights.shape[:-1], dtype=np.float32))
    of_all = places if left is None else _places(weights, queries, keys, left)
    names, shares = list(places), np.stack(list(places.values()))
    strongest, best = shares.argmax(axis=0), shares.max(axis=0)
    spread, largest = _spread(weights)
    # An entropy of H bits is that of 2^H tokens with uniform attention: the perplexity of the row.
    equal, possible = (np.exp2(bits.mean(axis=-1)) for bits in (spread, largest))
    mean = largest.mean(axis=-1)
    even = spread.mean(axis=-1) / np.where(mean > 0, mean, 1)
    described = []
    for layer, head in np.ndindex(best.shape):
        here = layer, head
        if best[here] >= _NOTABLE:
            name, share = names[strongest[here]], percent(float(best[here]))
            if left is not None:
                share = f"{percent(float(of_all[name][here]))} {OF_ALL}, {share} of what goes to tokens shown"
            described.append(f"{name} ({share})")
        else:
            how = "spreads widely" if even[here] >= _WIDE else "attends to no fixed place"
            # With a mask, a row has fewer tokens to attend to than the picture has columns.
            reach = "" if round(float(possible[here])) == weights.shape[-1] else " within reach"
            described.append(
                f"{how} (like {equal[here]:.0f} of {possible[here]:.0f} tokens{reach} sharing equally)"
            )
    return tuple(described)


_NOTABLE = 0.3
_WIDE = 0.8


def _places(
    weights: Floats, queries: DisplayTokens, keys: DisplayTokens | None, left: Floats
) -> dict[str, Floats]:
    """What heads give, [layer, head], to neighbours or their own place, and to each token by its name."""
    places: dict[str, Floats] = {}
    if keys is None:
        token = "word" if queries.merges else "token"
        for offset, name in ((-1, f"the previous {token}"), (1, f"the next {token}"), (0, "itself")):
            beside = np.diagonal(weights, offset, axis1=-2, axis2=-1)
            whole = left[..., 1:] if offset == -1 else left[..., : beside.shape[-1]]
            places[f"attends to {name}"] = (beside * whole).sum(axis=-1) / max(beside.shape[-1], 1)
    else:
        around = np.einsum("lhqk,qk->lhq", weights, near(*weights.shape[-2:]))
        clear = around.mean(axis=-1) >= 2 * BESIDE / weights.shape[-1]
        places["looks around its own place in the other text"] = clear * (around * left).mean(axis=-1)
    to_key = np.einsum("lhqk,lhq->lhk", weights, left) / weights.shape[-2]
    for index, group in enumerate((queries if keys is None else keys).groups):
        label = group.label if group.special else f"“{isolated(group.label)}”, token {group.number}"
        places[f"attends to {label}"] = places.get(f"attends to {label}", 0) + to_key[..., index]
    return places


def _marks(shown: DisplayTokens) -> Mask:
    """[group], True where all its tokens are punctuation."""
    marks = punctuation(shown.tokens, (shown.text, shown.second or ""))
    return np.array([marks[list(group.positions)].all() for group in shown.all_groups], dtype=np.bool_)


def _alike(shown: DisplayTokens) -> Mask:
    """[group, group], True where both belong to words that are spelled alike; a word is not its own twin."""
    first = [group.positions[0] for group in shown.all_groups]
    return same_word(shown.tokens, (shown.text, shown.second or ""))[np.ix_(first, first)]


def _spread(weights: Floats) -> tuple[Floats, Floats]:
    """The entropy of each row, [layer, head, query], and its maximum: log₂ of the number of unmasked cells.

    Cells that a mask forbids are exactly 0, so they do not count as cells that attention could spread to.
    The weight of a sink is excluded.
    """
    # One head at a time stays in the processor's cache.
    spread = np.array([[bits(rescaled(head)) for head in layer] for layer in weights], dtype=np.float32)
    return spread, np.log2(np.maximum(np.count_nonzero(weights, axis=-1), 1)).astype(np.float32)
