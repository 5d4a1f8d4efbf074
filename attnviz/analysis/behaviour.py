"""What each head attends to: the previous token, the query itself, punctuation and so on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnviz.analysis.display_tokens import DisplayTokens, queries_and_keys, rescaled
from attnviz.analysis.entropy import bits
from attnviz.analysis.rules import NEAR_KEYS, RULES, Rule, near, rule_scores
from attnviz.text import isolated, percent
from attnviz.trace import Floats, Kind, Mask, Trace, checked_trace


@dataclass(frozen=True, eq=False)
class Behaviour:
    """A behaviour of heads, and the heads that show it.

    Attributes:
        rule: The rule, with Explore's bounds.
        score: float32 [layer, head], the scores that are compared with the bounds.
        raw: float32 [layer, head], the scores without rescaling; see `Rule.amount`.
        uniform: float32 [layer], score of a head with uniform attention.
        found: bool [layer, head], the heads that satisfy the rule.
    """

    rule: Rule
    score: Floats
    raw: Floats
    uniform: Floats
    found: Mask

    @property
    def name(self) -> str:
        """Name of the rule."""
        return self.rule.name

    @property
    def sentence(self) -> str:
        """The rule in words, with its bounds."""
        return f"{self.rule.condition}."

    def formatted_scores(self) -> list[str]:
        """Return the formatted score of each head, layer by layer."""
        scores = zip(self.score.ravel().tolist(), self.raw.ravel().tolist(), strict=True)
        return [self.rule.amount(score, raw) for score, raw in scores]


def behaviour(trace: Trace, kind: Kind | None = None) -> tuple[Behaviour, ...]:
    """Measure the behaviour of heads in one text: attention to the previous token, to punctuation and so on.

    Each result has the `name` and `sentence` of a rule that applies to the text, the `score` of every head
    [layer, head] and of `uniform` attention [layer], and the heads `found` by Explore's filter [layer, head].
    Compare Clark et al. 2019, section 3.

    Args:
        trace: A trace of any model.
        kind: "encoder", "decoder" or "cross"; None if the model has only one.

    Raises:
        InvalidTrace: there is no such attention, or `kind` is None and there are several.
        TypeError: `trace` is not a trace.
    """
    blocks = checked_trace(trace).of_kind(kind)
    shown = queries_and_keys(trace, blocks[0].kind)
    return behaviours(trace.stack(blocks[0].kind), *shown, mask=np.stack([block.mask for block in blocks]))


def behaviours(
    weights: Floats, queries: DisplayTokens, keys: DisplayTokens | None = None, *, mask: Mask | None = None
) -> tuple[Behaviour, ...]:
    """Return every applicable behaviour, with the heads that show it, in the order of `RULES`.

    Hidden special tokens do not affect the result. If word pieces are merged, "token" means word.

    Args:
        weights: [layer, head, query, key], the model's weights.
        queries: Query tokens.
        keys: Key tokens; None for self-attention.
        mask: [layer, query, key] or [query, key], True where not masked; None without a mask. Rules about
            cells that are all masked, or for tokens that the text does not have, are not returned.
    """
    if mask is None:
        mask = np.ones(weights.shape[-2:], dtype=np.bool_)
    masks = np.broadcast_to(mask, (len(weights), *mask.shape[-2:]))
    found = []
    for rule, counts, *each in zip(RULES, *rule_scores(RULES, weights, masks, queries, keys), strict=True):
        if counts.any():
            score, raw, uniform = (np.asarray(numbers, dtype=np.float32) for numbers in each)
            bound = np.maximum(rule.minimum, rule.uniform_ratio * uniform[:, None])
            found.append(Behaviour(rule, score, raw, uniform, (score >= bound) & counts[:, None]))
    return tuple(found)


def facts(
    weights: Floats, queries: DisplayTokens, keys: DisplayTokens | None = None, *, shown: Floats | None = None
) -> tuple[str, ...]:
    """Return one short description per head, layer by layer, of the displayed weights.

    Args:
        weights: [layer, head, shown query, shown key], as displayed; hidden tokens are never named.
        queries, keys: Shown queries and keys; `keys` is None for self-attention.
        shown: [layer, head, shown query], fraction of each row's weight on shown tokens, if rows were
            rescaled. The description then has two percentages: of all attention, and of the shown part.

    Returns:
        layer × head strings: "attends to the previous token (87 %)", "attends to [CLS] (54 %)",
        "attends to itself (8 %; 61 % without hidden tokens)", "attends broadly (like uniform attention to 9
        of 15 tokens)", …; percentages are means over the queries with such a key.
    """
    places = _places(weights, queries, keys, np.ones(weights.shape[:-1], dtype=np.float32))
    of_all = places if shown is None else _places(weights, queries, keys, shown)
    names, shares = list(places), np.stack(list(places.values()))
    strongest, best = shares.argmax(axis=0), shares.max(axis=0)
    spread, largest = _spread(weights)
    # The entropy of a row is H bits if 2^H tokens (the perplexity) have equal weights.
    equal, possible = (np.exp2(bits.mean(axis=-1)) for bits in (spread, largest))
    mean = largest.mean(axis=-1)
    relative = spread.mean(axis=-1) / np.where(mean > 0, mean, 1)
    described = []
    for layer, head in np.ndindex(best.shape):
        at = layer, head
        if best[at] >= _MIN_NAMED_SHARE:
            name, share = names[strongest[at]], percent(float(best[at]))
            if shown is not None:
                share = f"{percent(float(of_all[name][at]))}; {share} without hidden tokens"
            described.append(f"{name} ({share})")
        else:
            how = "attends broadly" if relative[at] >= _MIN_BROAD_ENTROPY else "attends to no fixed position"
            # With a mask, a query can attend to fewer tokens than there are columns.
            unmasked = "" if round(float(possible[at])) == weights.shape[-1] else "unmasked "
            described.append(
                f"{how} (like uniform attention to {equal[at]:.0f} of {possible[at]:.0f} {unmasked}tokens)"
            )
    return tuple(described)


_MIN_NAMED_SHARE = 0.3
_MIN_BROAD_ENTROPY = 0.8


def _places(
    weights: Floats, queries: DisplayTokens, keys: DisplayTokens | None, shown: Floats
) -> dict[str, Floats]:
    """Return the mean attention, [layer, head], by description, such as "attends to itself"."""
    places: dict[str, Floats] = {}
    if keys is None:
        token = "word" if queries.has_merged else "token"
        for offset, name in ((-1, f"the previous {token}"), (1, f"the next {token}"), (0, "itself")):
            diagonal = np.diagonal(weights, offset, axis1=-2, axis2=-1)
            queried = shown[..., 1:] if offset == -1 else shown[..., : diagonal.shape[-1]]
            places[f"attends to {name}"] = (diagonal * queried).sum(axis=-1) / max(diagonal.shape[-1], 1)
    else:
        nearby = np.einsum("lhqk,qk->lhq", weights, near(*weights.shape[-2:]))
        clear = nearby.mean(axis=-1) >= 2 * NEAR_KEYS / weights.shape[-1]
        places["attends near the query’s position in the other text"] = clear * (nearby * shown).mean(axis=-1)
    to_key = np.einsum("lhqk,lhq->lhk", weights, shown) / weights.shape[-2]
    for index, group in enumerate((queries if keys is None else keys).groups):
        label = group.label if group.special else f"“{isolated(group.label)}”, token {group.number}"
        places[f"attends to {label}"] = places.get(f"attends to {label}", 0) + to_key[..., index]
    return places


def _spread(weights: Floats) -> tuple[Floats, Floats]:
    """Return the entropy of each row, [layer, head, query], and log₂ of the number of unmasked cells.

    The latter is the maximum of the entropy. Masked cells are exactly 0; the weight of a sink is excluded.
    """
    # One head at a time fits in the processor's cache.
    spread = np.array([[bits(rescaled(head)) for head in layer] for layer in weights], dtype=np.float32)
    return spread, np.log2(np.maximum(np.count_nonzero(weights, axis=-1), 1)).astype(np.float32)
