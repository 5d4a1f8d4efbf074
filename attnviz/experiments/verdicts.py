"""Whether it matters that a head looks where it looks: what that does to the output, with and without it.

Each head is named by what it looks at on one half of the sentences. All else is measured on the other half:
who chooses the best of many rules, and measures it on the same sentences, measures too much.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from attnviz.analysis.intervals import CONFIDENCE, Ratios
from attnviz.analysis.rules import Layout, Rule, Special, pointed_at
from attnviz.analysis.table import Cells
from attnviz.analysis.tally import OF_PLACES, Tally, labels, layout_of
from attnviz.capture import loading
from attnviz.errors import AttnvizError
from attnviz.experiments.ablation import turned
from attnviz.experiments.behaviour import measure_corpus
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.progress import Progress
from attnviz.experiments.sentences import CANNOT_READ, reader, self_attention
from attnviz.interventions.edit import Edit, Edits, HeadOutput
from attnviz.models import resolve
from attnviz.text import decimal, head_name, percent, plural, signed_share
from attnviz.trace import Block, Doubles, Floats, Kind, Mask

Named = Sequence[Sequence[Rule | None]]
"""By which rule each head is named, [layer][head]."""

MOST = 100
"""On how many sentences the effect of a label is measured, at most."""

LEAST = 20
"""On how many at least: an interval of fewer sentences is not worth its name."""

LEAST_LOST = 0.01
"""A head without which less is lost is not called needed, however sure that little is."""

HALF = 0.5
"""A head alone is sufficient for what it looks at if it keeps so much of what its whole layer adds."""

METHOD_STEPS = {
    "Label": "On one half of our sentences a head is named by what gets clearly more in it than even "
    "attention would give: of what goes to words, or where nothing stands out there, of all. All numbers are "
    "of the other half.",
    "Effect": f"In up to {MOST} of these a token is drawn, the tokens that the label points it at are "
    "replaced, and it is measured how far the drawn token’s output turns.",
    "Replaced": "[MASK]’s vector takes their place (the mean of all word vectors where there is none). "
    "Their positions stay: [CLS] is known by its position, so this changes it little, and heads go on "
    "resting there. Other ways, such as to forbid looking there, can give other verdicts.",
    "Control": "One token is replaced instead that the label does not point at, drawn too: no special one "
    "for labels about words, a special one for labels about these, if there is another.",
    "Needed": f"Without the head, {percent(LEAST_LOST)} of the label’s effect or more is lost, the whole "
    "interval lies above 0 and above the median of the other heads of its layer, and surely more is lost "
    "of it than of the control’s.",
    "Sufficient": "Of what the layer adds to the label’s effect, the head alone keeps half, with its whole "
    "interval.",
    "Both ways": "Each must hold for silent heads and for heads that put out their mean.",
    "Picture only": "In neither way is it sure that anything is lost or won, or it is less than "
    f"{percent(LEAST_LOST)}.",
    "Undecided": "All else.",
    "Intervals": f"By linearization over sentences, so wide that with {percent(CONFIDENCE)} neither word is "
    "wrong for any head (Bonferroni). Near a limit, other sentences or other drawn tokens can change a "
    "word.",
}
"""How a verdict comes about: a heading and what is done."""

METHOD = " ".join(f"{heading}: {said}" for heading, said in METHOD_STEPS.items())
"""The same in one paragraph."""

_TOLD = {
    "needed": "without the head, the output changes less when that is replaced",
    "sufficient": "of what its layer adds to the effect of replacing that, the head alone keeps half",
    "needed and sufficient": "without the head, the output changes less when that is replaced, and of what "
    "its layer adds to this, the head alone keeps half",
    "undecided": "the head has some effect here, but not in every test we make",
    "picture only": "that the output depends on this could not be shown",
    "": "what that does to the output was not measured",
}
"""What each stamp says of what a head looks at, as the end of a sentence."""

_SEED = 0


@dataclass(frozen=True)
class Part:
    """A part of an effect, 0 to 1 if the model does nothing odd, with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Removed:
    """What one way to remove heads does to the effect of a label.

    Attributes:
        lost: what is lost of it without the head.
        others: the median of that over the other heads of the layer, each removed alone.
        beyond: how much larger it is than what is lost, without the head, of the control’s effect: of a token
            that the label does not point at.
        kept: of what is lost without any head of the layer, how much is not where this head is the only one
            that is left; None: it is not sure that anything is lost without them.
    """

    lost: Part
    others: float
    beyond: Part
    kept: Part | None

    @property
    def needed(self) -> bool:
        """Whether surely something is lost, no trifle, and more than without most heads or of the control."""
        more = self.lost.low > max(0.0, self.others) and self.beyond.low > 0
        return more and self.lost.value >= LEAST_LOST

    @property
    def sure(self) -> bool:
        """Whether surely something changes without the head, and no trifle."""
        return not self.lost.low <= 0 <= self.lost.high and abs(self.lost.value) >= LEAST_LOST

    @property
    def sufficient(self) -> bool:
        """Whether surely the layer adds something to the effect, and the head alone at least half of that."""
        return self.kept is not None and self.kept.low >= HALF


@dataclass(frozen=True)
class Verdict:
    """What was found of one head.

    Attributes:
        layer, head: from 0.
        label: the rule that it is named by; None: no rule was clearly above even attention.
        score, raw: what it scores by that rule, and the share of all attention; see `Rule.amount`.
        read: in how many sentences.
        sentences: on how many of those the effect was measured.
        effect: how far a token's output turns on average if what the label points it at is left out.
        silenced: if the heads' weights are 0.
        averaged: if the heads put out their mean over the sentences by which they were named.
    """

    layer: int
    head: int
    label: Rule | None = None
    score: float = float("nan")
    raw: float = float("nan")
    read: int = 0
    sentences: int = 0
    effect: float = float("nan")
    silenced: Removed | None = None
    averaged: Removed | None = None

    @property
    def needed(self) -> bool:
        """Whether it is so however the head is removed."""
        return all(way is not None and way.needed for way in (self.silenced, self.averaged))

    @property
    def sufficient(self) -> bool:
        """Whether it is so however the others are removed."""
        return all(way is not None and way.sufficient for way in (self.silenced, self.averaged))

    @property
    def stamp(self) -> str:
        """The verdict in a word or a few; "" where there is none: no label, or too few sentences."""
        if self.silenced is None or self.averaged is None:
            return ""
        words = [word for word in ("needed", "sufficient") if getattr(self, word)]
        otherwise = "undecided" if self.silenced.sure or self.averaged.sure else "picture only"
        return " and ".join(words) or otherwise


@dataclass(frozen=True)
class HeadVerdicts:
    """The verdicts on a model's heads.

    Attributes:
        special: the tokens that the model adds to each sentence.
        heads: layer by layer; empty until all is measured.
        per_layer: how many there are in each layer.
    """

    special: Special
    heads: tuple[Verdict, ...] = ()
    per_layer: int = 0

    def of(self, layer: int, head: int) -> Verdict:
        """That on one head, from 0."""
        return self.heads[layer * self.per_layer + head]

    def told(self, layer: int, head: int) -> str:
        """The verdict on one head (from 0) in a sentence, as Markdown."""
        verdict = self.of(layer, head)
        name, rule = f"**{head_name(layer, head)}**", verdict.label
        if rule is None:
            looked_for = "; ".join(self.special.fill(each.short) for each in OF_PLACES)
            return (
                f"No label: over our sentences, head {name} gives to none of these clearly more than even "
                f"attention would ({looked_for})."
            )
        read = plural(verdict.read, "sentence")
        does = self.special.fill(rule.does, f"**{rule.amount(verdict.score, verdict.raw)}**")
        stamp = verdict.stamp
        told = f"Over {read} of ours, in head {name} a token on average {does}"
        return f"{told}. **{stamp.capitalize()}:** {_TOLD[stamp]}." if stamp else f"{told}; {_TOLD[stamp]}."

    def evidence(self, layer: int, head: int) -> str:
        """What was measured of one head (from 0), as Markdown; "" where it has no label."""
        verdict = self.of(layer, head)
        if (rule := verdict.label) is None:
            return ""
        silenced, averaged = verdict.silenced, verdict.averaged
        if silenced is None or averaged is None:
            had = plural(verdict.sentences, "sentence")
            return f"Only {had} had such a token, and it takes {LEAST}."
        rows = [
            ("without the head", *(_written(way.lost) for way in (silenced, averaged))),
            ("– more than of the control’s effect", *(_written(way.beyond) for way in (silenced, averaged))),
            (
                "without another head of its layer (median)",
                signed_share(silenced.others),
                signed_share(averaged.others),
            ),
        ]
        if silenced.kept and averaged.kept:
            kept = _written(silenced.kept), _written(averaged.kept)
            rows.append(("*kept* by the head alone, of what its layer adds", *kept))
        table = "".join(f"\n| {' | '.join(row)} |" for row in rows)
        below = " Below 0: it turns further." if min(silenced.lost.value, averaged.lost.value) < 0 else ""
        return (
            f"If {self.special.fill(rule.short)} is replaced, a token’s output turns (1 − cosine: "
            f"{verdict.effect:.3f}, {plural(verdict.sentences, 'sentence')}). Of that is lost:{below}\n\n"
            f"| | head silent | its mean instead |\n|---|---|---|{table}"
        )


_PARTS = ("lost", "beyond", "kept")
_OF_A_WAY = (*(f"{part}{end}" for part in _PARTS for end in ("", " from", " to")), "lost without others")

COLUMNS = (
    *("layer", "head", "label", "verdict", "share", "share of all attention", "sentences read"),
    *("sentences measured", "effect"),
    *(f"{way}: {name}" for way in ("silent", "mean") for name in _OF_A_WAY),
)
"""What the columns of `table_rows` are called."""


def table_rows(found: HeadVerdicts) -> Iterator[Cells]:
    """The table of all heads: layers and heads count from 1; cells without a number are empty."""
    for each in found.heads:
        numbers = [each.score, each.raw, each.read, each.sentences, each.effect]
        for way in (each.silenced, each.averaged):
            for name in _PARTS:
                part = getattr(way, name, None)
                numbers += [np.nan] * 3 if part is None else [part.value, part.low, part.high]
            numbers.append(np.nan if way is None else way.others)
        cells = ("" if np.isnan(number) else number for number in numbers)
        yield each.layer + 1, each.head + 1, each.label.name if each.label else "", each.stamp, *cells


def _written(part: Part) -> str:
    return f"{signed_share(part.value)} ({decimal(100 * part.low, 1)} to {signed_share(part.high)})"


class Removal(NamedTuple):
    """Heads of one layer that are removed together; from 0."""

    layer: int
    heads: tuple[int, ...]


@dataclass(eq=False)
class Effects:
    """What the tokens do that one label points at, sentence by sentence.

    Attributes:
        rule: the label.
        named: by which rule each head is named, [layer][head].
        distances: for each sentence [1 + 2 removals], how far one token's output turns if the tokens that the
            label points it at are left out: in the model as it is; without heads, silenced; without them,
            their mean in their place. See `ablation.turned`.
        elsewhere: the same with a token left out that the label does not point it at, and only for `alone`.
    """

    rule: Rule
    named: Named
    distances: list[Doubles] = field(default_factory=list)
    elsewhere: list[Doubles] = field(default_factory=list)

    @cached_property
    def alone(self) -> list[Removal]:
        """Each head that has the label."""
        cells = ((layer, head) for layer, row in enumerate(self.named) for head in range(len(row)))
        return [Removal(layer, (head,)) for layer, head in cells if self.named[layer][head] is self.rule]

    @cached_property
    def removals(self) -> list[Removal]:
        """What is removed in each layer that has such heads: each head; all but each of them; all."""
        found = []
        for layer, row in enumerate(self.named):
            if self.rule in row:
                every = tuple(range(len(row)))
                heads = [head for head in every if row[head] is self.rule]
                found += [Removal(layer, (head,)) for head in every]
                found += [Removal(layer, _without(every, head)) for head in heads]
                found.append(Removal(layer, every))
        return list(dict.fromkeys(found))

    def removed(self, confidence: float) -> dict[tuple[int, int], tuple[Removed, Removed]]:
        """What each head with this label does, silenced and with its mean in its place, by (layer, head).

        Empty where there were fewer than `LEAST` sentences.
        """
        if len(self.distances) < LEAST:
            return {}
        normal, *without = np.array(self.distances).T
        ways = np.reshape(without, (2, len(self.removals), -1))
        losses = Ratios.of(normal - ways, normal)
        own = [self.removals.index(removal) for removal in self.alone]
        before, *after = np.array(self.elsewhere).T
        control = Ratios.of(before - np.reshape(after, (2, len(own), -1)), before)
        lost = _parts(losses, confidence)
        beyond = _parts(Ratios.of(normal - ways[:, own], normal) - control, confidence)
        found = {}
        for number, (layer, (head,)) in enumerate(self.alone):
            every = tuple(range(len(self.named[layer])))
            rest = self.removals.index(Removal(layer, _without(every, head)))
            whole = self.removals.index(Removal(layer, every))
            kept = _parts(
                Ratios.of(ways[:, [rest]] - ways[:, [whole]], normal - ways[:, [whole]]), confidence
            )
            others = [self.removals.index(Removal(layer, (other,))) for other in _without(every, head)]
            silenced, averaged = (
                Removed(
                    lost[way][own[number]],
                    float(np.median(losses.values[way, others])) if others else 0.0,
                    beyond[way][number],
                    kept[way][0] if lost[way][whole].low > 0 else None,
                )
                for way in range(2)
            )
            found[layer, head] = silenced, averaged
        return found


def _without(every: tuple[int, ...], head: int) -> tuple[int, ...]:
    return tuple(other for other in every if other != head)


def _parts(found: Ratios, confidence: float) -> list[list[Part]]:
    """[way][removal]."""
    numbers = np.stack([found.values, *found.intervals(confidence)], axis=-1)
    return [[Part(*part) for part in way] for way in numbers.tolist()]


def halves(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """The sentences by which heads are named, and those on which all else is measured; each is in one.

    They take turns. A sentence that occurs several times counts once, and a line without one not at all.
    """
    once = [line for line in dict.fromkeys(lines) if line.strip()]
    return once[::2], once[1::2]


def measure(model: str, lines: Sequence[str], most: int = MOST) -> Iterator[Progress[HeadVerdicts]]:
    """A verdict on every head of a model's self-attention, layer by layer.

    Args:
        lines: sentences. Those that the model cannot read count for nothing.
        most: on how many of them the effect of each label is measured.

    Yields:
        Nothing is found before the last step, as intervals are of all sentences.

    Raises:
        AttnvizError: the model cannot be used, or can read too little.
        ModelNotSupported: its heads cannot be removed, or its words cannot be left out.
    """
    entry = resolve.entry(model)
    kind = self_attention(entry)
    naming, measuring = halves(lines)
    total, done = 2 * len(naming) + 2 * len(measuring) + 1, 0
    nothing = HeadVerdicts(Special("", ()))
    tallies = []
    for half in (naming, measuring):
        for step in measure_corpus(Corpus.from_text("\n".join(half)), model):
            yield Progress(done + step.done, total, nothing)
        done += len(half)
        tallies.append(step.found.tally)
        if not step.found.tally.sentences:
            raise AttnvizError(f"The model can read too few of the sentences. {step.found.named[0].why}")
    named = labels(tallies[0])
    read = reader(entry, loading.load(model))
    sums: Doubles = np.zeros(())
    rows = 0
    for text in naming:
        with suppress(*CANNOT_READ):
            blocks = read(text).of_kind(kind)
            outputs = [block.output for block in blocks]
            sums = sums + np.stack([each.sum(axis=1, dtype=np.float64) for each in outputs])
            rows += outputs[0].shape[1]
        done += 1
        yield Progress(done, total, nothing)
    means = np.asarray(sums / rows, dtype=np.float32)
    effects = {rule: Effects(rule, named) for rule in OF_PLACES if any(rule in row for row in named)}
    for number, text in enumerate(measuring):
        if wanted := [each for each in effects.values() if len(each.distances) < most]:
            with suppress(*CANNOT_READ):
                _measure(model, read(text).of_kind(kind), text, number, wanted, means)
        done += 1
        yield Progress(done, total, nothing)
    heads = verdicts(named, tallies[1], effects)
    found = HeadVerdicts(Special.of(blocks[0].query_tokens), heads, entry.heads)
    yield Progress(total, total, found)


def _measure(
    model: str, blocks: Sequence[Block], text: str, number: int, effects: Sequence[Effects], means: Floats
) -> None:
    """Add what the tokens do that each label points one token at; the token is drawn among all that have any.

    Args:
        number: the sentence's, by which the token is drawn.
        means: [layer, head, d_head], what heads put out on average.
    """
    from attnviz.capture.attribution import outputs_without
    from attnviz.capture.stack import stack_of

    stack = stack_of(loading.load(model), text)
    layout = layout_of([text], [stack.tokens])
    mask = np.logical_and.reduce([block.mask for block in blocks])
    removals = list(dict.fromkeys(removal for each in effects for removal in each.removals))
    kind = blocks[0].kind
    as_it_is = outputs_without(stack, (), _variants(removals, kind, means))

    def distances(place: int, left_out: Mask, removed: Sequence[Removal]) -> Doubles:
        at = [removals.index(removal) for removal in removed]
        before = as_it_is[[0, *(1 + each for each in at), *(1 + len(removals) + each for each in at)]]
        without = outputs_without(stack, np.flatnonzero(left_out).tolist(), _variants(removed, kind, means))
        return turned(before[:, place], without[:, place])

    for effect in effects:
        drawn = draw(
            effect.rule, layout, mask, np.random.default_rng([_SEED, number, OF_PLACES.index(effect.rule)])
        )
        if drawn is not None:
            place, looked_at, another = drawn
            effect.distances.append(distances(place, looked_at, effect.removals))
            effect.elsewhere.append(distances(place, another, effect.alone))


def draw(rule: Rule, layout: Layout, mask: Mask, draws: np.random.Generator) -> tuple[int, Mask, Mask] | None:
    """A token, the tokens that a label points it at, and one that it does not, as a control.

    The control is one that the mask allows, not the token itself: a word where the label is about words, and
    a special token where it is about these, if there is such a one.

    Args:
        mask: [query, key] of all tokens, True where a query may look.

    Returns:
        Its place, and bool [key] twice; None where no token has both.
    """
    cells = pointed_at(rule, layout, mask)[0]
    itself = np.arange(mask.shape[1]) == layout.queries[:, None]
    others = mask[layout.queries] & ~cells & ~itself
    words = np.isin(np.arange(mask.shape[1]), layout.keys)
    alike = others & (words == words[cells.any(axis=0)].all())
    others = alike if alike.any() else others
    # What a token does to itself is another question, unless it is the label's.
    cells = cells & ~itself if (cells & ~itself).any() else cells
    can = np.flatnonzero(cells.any(axis=1) & others.any(axis=1))
    if not can.size:
        return None
    query = draws.choice(can)
    another = draws.choice(np.flatnonzero(others[query]))
    return int(layout.queries[query]), cells[query], np.arange(mask.shape[1]) == another


def _variants(removals: Sequence[Removal], kind: Kind, means: Floats) -> list[Edits]:
    """The model as it is, then without these heads in one way, then in the other."""
    silenced = [tuple(Edit(kind, layer, head) for head in heads) for layer, heads in removals]
    averaged = [
        tuple(HeadOutput(kind, layer, head, means[layer, head][None]) for head in heads)
        for layer, heads in removals
    ]
    return [(), *silenced, *averaged]


def verdicts(named: Named, tally: Tally, effects: Mapping[Rule, Effects]) -> tuple[Verdict, ...]:
    """What follows from the effects of all labels.

    Args:
        named: by which rule each head is named, [layer][head].
        tally: of the sentences on which the effects were measured.
        effects: of each rule by which a head is named.
    """
    # Bonferroni: with 95 % no interval of any head is wrong, whichever of the two words it decides.
    confidence = 1 - (1 - CONFIDENCE) / (2 * sum(map(len, named)))
    removed = {rule: effect.removed(confidence) for rule, effect in effects.items()}
    found = []
    for layer, row in enumerate(named):
        for head, rule in enumerate(row):
            if rule is None:
                found.append(Verdict(layer, head))
                continue
            figures = tally.of(rule.name)
            silenced, averaged = removed[rule].get((layer, head), (None, None))
            found.append(
                Verdict(
                    layer,
                    head,
                    rule,
                    float(figures.mean[layer, head]),
                    float(figures.raw[layer, head]),
                    int(figures.count[layer]),
                    len(effects[rule].distances),
                    float(np.mean([each[0] for each in effects[rule].distances] or [np.nan])),
                    silenced,
                    averaged,
                )
            )
    return tuple(found)
