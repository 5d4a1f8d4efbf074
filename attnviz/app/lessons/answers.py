"""Values of the expected answers in plan.md, computed on the sentences that the lessons open with."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import inf

import numpy as np

from attnviz.analysis.sentence import strongest_keys
from attnviz.app import markdown, traces
from attnviz.app.examples import OPENING
from attnviz.app.lessons import choosing, compute, english
from attnviz.app.lessons.cause import values as causes
from attnviz.app.lessons.computed import MODEL, cached_bert, cached_translator
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
from attnviz.text import head_name, joined
from attnviz.trained import snapshots
from attnviz.trained.translator import grammar, variants

_average, _row, _shares = cached_bert(averages.average), cached_bert(scales.row), cached_bert(heads.at_token)
_shuffled = cached_bert(positions.shuffle)
_translate, _experiment = cached_translator(translations.translate), cached_translator(causes.experiment)

_TEXT = OPENING.text
_LAYER, _HEAD = 3, 1  # from 0
_LARGE_D, _KEYS, _DRAW = 1024, 8, 8  # as in the lesson on √d
_ORDERED = "Dog bites man."
_DOG, _ROAD, _IT = 1, 6, 8  # words of the English sentence
_MOVED = Edit("encoder", 1, 0, _IT, _DOG, _ROAD)
_NUM_WORDS = 8

Values = dict[str, object]


def _weighted_average() -> Values:
    """Return the weights of "it" at both ends of the temperature."""
    found = _average(_TEXT, "Dot product", 0.0)
    query = [token.label for token in found.tokens].index("it")
    best = int(found.weights[query].argmax())
    uniform = _average(_TEXT, "Dot product", inf).weights[query, best]
    return {
        "weight": float(found.weights[query, best]),
        "key": markdown.token(best, found.tokens),
        "uniform": float(uniform),
        "tokens": len(found.tokens),
    }


def _scale() -> Values:
    """Return what the softmax of large scores can still learn."""
    row = _row(_LARGE_D, _LARGE_D, _KEYS, _DRAW)
    return {
        "seed": _DRAW,
        "unscaled": float(row.plain.weights.max()),
        "unscaled_gradient": row.plain.gradient,
        "scaled": float(row.scaled.weights.max()),
        "scaled_gradient": row.scaled.gradient,
    }


def _query_key_value() -> Values:
    """Return the size of one head's matrices."""
    entry = catalogue.entry(MODEL)
    return {"d_model": entry.d_model, "d_head": entry.d_head}


@cached_bert
def _it_to_dog(*, masked: bool) -> tuple[tuple[str, float], ...]:
    """Return the largest weights of "it" in head 4-2, with "dog" masked or not."""
    groups = choosing.tokens(_TEXT)
    labels = [group.label for group in groups]
    query, key = labels.index("it"), labels.index("dog")
    mask = np.ones((len(groups), len(groups)), dtype=bool)
    mask[query, key] = not masked
    return strongest_keys(masks.weights(compute.tokens(_TEXT), mask, _HEAD)[_LAYER], query, groups).keys


def _masks() -> Values:
    """Return where the weight of a masked cell goes."""
    before, after = (markdown.shares(_it_to_dog(masked=masked)) for masked in (False, True))
    return {"head": head_name(_LAYER, _HEAD), "before": before, "after": after}


def _positions() -> Values:
    """Return how much an output depends on the order, without and with positions."""
    found = _shuffled(_ORDERED, 1)
    return {
        "text": _ORDERED,
        "without": float(found.without.differences.max()),
        "with_positions": float(found.with_positions.differences.max()),
    }


def _translation() -> Values:
    """Return which row chooses the pronoun, and what it reads."""
    found = _translate(catalogue.TRANSLATOR, english.NARROW)
    choice = found.pronouns[0]
    row = found.trace.block("cross", 0).weights[variants.GUIDED_CROSS_HEAD, choice.step]
    read = int(row.argmax())
    return {
        "row": found.target[choice.step].text,
        "head": variants.GUIDED_CROSS_HEAD + 1,
        "read": found.source[read].text,
        "weight": float(row[read]),
        "written": found.words[choice.step],
        "il": choice.il,
        "elle": choice.elle,
    }


def _cause() -> Values:
    """Return which moved weight changes the pronoun."""
    row = causes.Row(_MOVED.kind, _MOVED.layer, _MOVED.head, _IT)
    found = _experiment(catalogue.TRANSLATOR, english.OPENING, row, (str(_MOVED),))
    return {
        "query": found.queries[_IT],
        "head": head_name(row.layer, row.head),
        "source": found.keys[_DOG],
        "target": found.keys[_ROAD],
        "french": grammar.written(found.words_now),
    }


def _many_heads() -> Values:
    """Return which head adds most to "it", and what it attends to."""
    groups = choosing.tokens(_TEXT)
    query = [group.label for group in groups].index("it")
    found = _shares(_TEXT, _LAYER, query, catalogue.entry(MODEL).heads)
    head = int(found.shares.argmax())
    return {
        "layer": _LAYER + 1,
        "head": head + 1,
        "part": float(found.shares[head]),
        "keys": markdown.shares(strongest_keys(found.weights[head : head + 1], 0, groups).keys),
    }


def _write() -> Values:
    """Return what the storyteller writes with temperature 0 and with two seeds."""
    begun = PROMPTS["two_friends"]

    def written(temperature: float, seed: int) -> str:
        how = Writing(_NUM_WORDS, temperature=temperature, seed=seed)
        text = traces.trace(lookup.entry(catalogue.STORYTELLER), ModelInput(begun, writing=how)).text
        return str(text.removeprefix(begun).strip())

    return {"prompt": begun, "greedy": written(0, 1), "first": written(1, 1), "second": written(1, 2)}


def _induction() -> Values:
    """Return how much is copied without the induction heads, and without as many others."""
    roles = measured()
    ablated = [head_name(*head) for head in roles.induction_heads]
    excluded = {*roles.induction_heads, *roles.previous_word_heads}
    free = np.ndindex(roles.prefix_matching.shape)
    others = [head_name(*head) for head in free if head not in excluded][: len(ablated)]
    return {
        "all": roles.right,
        "heads": joined(ablated),
        "without": measured(tuple(ablated)).right,
        "others": joined(others),
        "without_others": measured(tuple(others)).right,
    }


def _watch_it_learn() -> Values:
    """Return between which stored steps the copying grows most, and what grows with it."""
    stored = snapshots.stored(catalogue.STORYTELLER).snapshots
    before, after = max(pairwise(stored), key=lambda two: two[1].measures["right"] - two[0].measures["right"])
    return {
        "steps": [f"{each.step:,}" for each in (before, after)],
        **{of: [each.value(of) for each in (before, after)] for of in ("right", "prefix_matching")},
        "previous": [each.value("previous_word") for each in (before, after)],
    }


EXPECTED: dict[str, Callable[[], Values]] = {
    "weighted_average": _weighted_average,
    "query_key_value": _query_key_value,
    "scale": _scale,
    "many_heads": _many_heads,
    "masks": _masks,
    "positions": _positions,
    "translate": _translation,
    "cause": _cause,
    "write": _write,
    "induction": _induction,
    "watch_it_learn": _watch_it_learn,
}
"""By lesson, the values of its expected answer."""
