"""What to expect when a teacher asks in class: computed, on the sentences that pages open with."""

from __future__ import annotations

from itertools import pairwise
from math import inf

import numpy as np

from attnviz.analysis.sentence import strongest_keys
from attnviz.app import markdown, traces
from attnviz.app.examples import OPENING
from attnviz.app.lessons import choosing, compute, english
from attnviz.app.lessons.cause import compute as causes
from attnviz.app.lessons.computed import MODEL, computed, translated
from attnviz.app.lessons.induction.page import measured
from attnviz.app.lessons.many_heads import values as heads
from attnviz.app.lessons.masks import values as masks
from attnviz.app.lessons.positions import values as positions
from attnviz.app.lessons.scale import values as scales
from attnviz.app.lessons.translate import values as translations
from attnviz.app.lessons.weighted_average import values as averages
from attnviz.app.lessons.write.page import PROMPTS
from attnviz.app.models import lookup
from attnviz.capture.model import ModelInput, Writing
from attnviz.interventions.edit import Edit
from attnviz.models import catalogue
from attnviz.text import decimal, head_name, joined, percent, signed_percent
from attnviz.trained import snapshots
from attnviz.trained.translator import grammar, variants

_average, _row, _shares = computed(averages.average), computed(scales.row), computed(heads.at_token)
_shuffled = computed(positions.shuffle)
_translate, _experiment = translated(translations.translate), translated(causes.experiment)
_effects = translated(causes.effects)

_TEXT = OPENING.text
_LAYER, _HEAD = 3, 1  # from 0
_NAME = head_name(_LAYER, _HEAD)
_LARGE_D, _KEYS, _DRAW = 1024, 8, 8  # as the page on √d has them
_ORDERED = "Dog bites man."
_TRANSLATOR = catalogue.TRANSLATOR
_DOG, _ROAD, _IT = 1, 6, 8  # words of the English sentence
_MOVED = Edit("encoder", 1, 0, _IT, _DOG, _ROAD)
_WRITTEN = 8  # words


def weighted_average() -> str:
    """What the two ends of the temperature lose."""
    found = _average(_TEXT, "Dot product", 0.0)
    query = [token.label for token in found.tokens].index("it")
    best = int(found.weights[query].argmax())
    even = float(_average(_TEXT, "Dot product", inf).weights[query, best])
    return (
        f"At 0, *it* takes {percent(float(found.weights[query, best]))} from "
        f"{markdown.token(best, found.tokens)}: every other word is lost. At ∞ it takes {percent(even, 1)} "
        f"from each of the {len(found.tokens)} tokens: which one fits is lost."
    )


def scale() -> str:
    """What the softmax of large scores can still learn."""
    row = _row(_LARGE_D, _LARGE_D, _KEYS, _DRAW)
    plain, scaled = (
        f"{percent(float(softmax.weights.max()), 1)}, and the gradient {decimal(softmax.gradient, 4)}"
        for softmax in (row.plain, row.scaled)
    )
    return f"Hardly. In draw {_DRAW}, the largest weight is {plain}, without the root; with it, {scaled}."


def query_key_value() -> str:
    """Where learned numbers are."""
    entry = catalogue.entry(MODEL)
    return (
        "Step 2 alone: there :blue[$W_Q$], :red[$W_K$] and :green[$W_V$] are learned, with "
        f"{entry.d_model} × {entry.d_head} numbers each, and a bias each. Steps 3 to 6 are arithmetic."
    )


@computed
def _it_to_dog(*, closed: bool) -> tuple[tuple[str, float], ...]:
    """What "it" looks at most in head 4-2, if its cell of "dog" is closed or open."""
    groups = choosing.tokens(_TEXT)
    labels = [group.label for group in groups]
    query, key = labels.index("it"), labels.index("dog")
    mask = np.ones((len(groups), len(groups)), dtype=bool)
    mask[query, key] = not closed
    return strongest_keys(masks.weights(compute.tokens(_TEXT), mask, _HEAD)[_LAYER], query, groups).keys


def closed_cell() -> str:
    """Where the weight of a closed cell goes."""
    before, after = (markdown.shares(_it_to_dog(closed=closed)) for closed in (False, True))
    return f"To the others: in head {_NAME}, *it* looks at {before}; with the cell closed, at {after}."


def without_positions() -> str:
    """What becomes of an output in another order, without positions."""
    found = _shuffled(_ORDERED, 1)
    return (
        f"The same of both. In another order of “{_ORDERED}”, no number of any output differs by more than "
        f"{decimal(float(found.without.differences.max()), 7)}, which is rounding; with positions, by up to "
        f"{decimal(float(found.with_positions.differences.max()))}."
    )


def translation() -> str:
    """Which row chooses the pronoun, and what it reads."""
    found = _translate(_TRANSLATOR, english.NARROW)
    choice = found.pronouns[0]
    row = found.trace.block("cross", 0).weights[variants.GUIDED_CROSS_HEAD, choice.step]
    read = int(row.argmax())
    return (
        f"The row that has just read *{found.target[choice.step].text}*: its cross-attention head "
        f"{variants.GUIDED_CROSS_HEAD + 1} reads *{found.source[read].text}* ({percent(float(row[read]))}), "
        f"and it writes *{found.words[choice.step]}*, with *il* {percent(choice.il, 1)} and *elle* "
        f"{percent(choice.elle, 1)}."
    )


def cause() -> str:
    """Which arrow turns the pronoun."""
    found = _experiment(
        _TRANSLATOR, english.OPENING, _MOVED.kind, _MOVED.layer, _MOVED.head, _IT, (str(_MOVED),)
    )
    ablated = _effects(_TRANSLATOR, english.OPENING)
    assert ablated is not None  # noqa: S101 - its French has a pronoun
    by_size = np.argsort(-np.abs(ablated.rows), axis=None)[:2]
    largest = [
        f"that of *{ablated.words[query]}* in {head_name(layer, head)}, {points}"
        for layer, head, query in zip(*map(list, np.unravel_index(by_size, ablated.rows.shape)), strict=True)
        if (points := signed_percent(float(ablated.rows[layer, head, query]))) != signed_percent(0)
    ]
    return (
        f"That of *{found.queries[_IT]}* in encoder head {head_name(_MOVED.layer, _MOVED.head)}, from "
        f"*{found.keys[_DOG]}* to *{found.keys[_ROAD]}*: then it writes "
        f"*{grammar.written(found.words_now)}* Is there another? Of the encoder's {ablated.rows.size} rows, "
        f"ablated one by one, what changes *{ablated.written}* most is: {'; and '.join(largest)}."
    )


def many_heads() -> str:
    """Which head adds most to "it", and what it looks at."""
    groups = choosing.tokens(_TEXT)
    query = [group.label for group in groups].index("it")
    found = _shares(_TEXT, _LAYER, query, catalogue.entry(MODEL).heads)
    head = int(found.shares.argmax())
    looked_at = markdown.shares(strongest_keys(found.weights[head : head + 1], 0, groups).keys)
    return (
        f"For *it* in layer {_LAYER + 1} it is head {head + 1}, with {percent(float(found.shares[head]))} of "
        f"what the layer's attention adds; it looks at {looked_at}. For another word it can be another head."
    )


def write() -> str:
    """What the storyteller writes with and without chance."""
    begun = PROMPTS["two_friends"]

    def written(temperature: float, seed: int) -> str:
        how = Writing(_WRITTEN, temperature=temperature, seed=seed)
        text = traces.trace(lookup.entry(catalogue.STORYTELLER), ModelInput(begun, writing=how)).text
        return f"*{text.removeprefix(begun).strip()}*"

    return (
        f"Behind “{begun}” it writes, with temperature 0, {written(0, 1)} each time; with 1, {written(1, 1)} "
        f"(seed 1) and {written(1, 2)} (seed 2)."
    )


def induction() -> str:
    """How much is copied without the induction heads, and without as many others."""
    roles = measured()
    ablated = [head_name(*head) for head in roles.induction_heads]
    taken = {*roles.induction_heads, *roles.previous_word_heads}
    free = np.ndindex(roles.prefix_matching.shape)
    others = [head_name(*head) for head in free if head not in taken][: len(ablated)]
    return (
        f"Of the words said again it copies {percent(roles.right)}. Without {joined(ablated)}: "
        f"{percent(measured(tuple(ablated)).right)}; without {joined(others)} instead: "
        f"{percent(measured(tuple(others)).right)}."
    )


def circuit() -> str:
    """When the copying comes, and what comes with it."""
    stored = snapshots.stored(catalogue.STORYTELLER).snapshots
    before, after = max(pairwise(stored), key=lambda two: two[1].measures["right"] - two[0].measures["right"])

    def grew(of: str) -> str:
        return " to ".join(percent(each.value(of)) for each in (before, after))

    return (
        f"Between {before.step:,} and {after.step:,} steps: of the words said again, what is copied goes "
        f"from {grew('right')}, the highest prefix-matching score from "
        f"{grew('prefix_matching')}, and the highest score on the word before from "
        f"{grew('previous_word')}."
    )
