"""How often a translator is right: measured of the weights that attnviz ships, on sentences new to them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import Any

from attnviz.app import markdown
from attnviz.app.learn.computed import translated
from attnviz.errors import ModelFilesDamaged
from attnviz.models import catalogue
from attnviz.text import percent
from attnviz.trained.translator import lexicon, splits
from attnviz.trained.translator.variants import WEIGHTS

_FILE = WEIGHTS / "figures.json"
_SPLITS = {
    "pair": "two nouns that never met",
    "description": "an adjective never said of that noun",
    "triple": "subject, object and adjective never together",
}


def variant_of(model: str) -> str:
    """How the command line calls a translator of the catalogue."""
    origin = catalogue.entry(model).origin
    assert isinstance(origin, catalogue.Trained)  # noqa: S101 - every translator was trained here
    return origin.file.stem


@cache
def measured(model: str) -> Mapping[str, Any]:
    """The figures of a translator of the catalogue, as `python -m attnviz measure` names them.

    Raises:
        ModelFilesDamaged: they are missing; the message names the command that makes them.
    """
    try:
        runs = json.loads(_FILE.read_text("utf-8"))
        (found,) = [run for run in runs if run["variant"] == variant_of(model) and run["shipped"]]
    except (OSError, ValueError, KeyError) as error:
        command = "python -m attnviz measure --write"
        raise ModelFilesDamaged(
            f"The figures in {_FILE} are missing or damaged. Make them again with: {command}"
        ) from error
    return dict(found)


def how_often(model: str, words: Sequence[str]) -> str:
    """What was measured of a translator of the catalogue, in Markdown; or why nothing can be told.

    `words` are those of the English sentence that is shown.
    """
    try:
        found = measured(model)
    except ModelFilesDamaged as error:
        return markdown.plain(str(error))
    nouns = sorted({word for word in words if word in lexicon.NOUN})
    apart = [pair for pair in combinations(nouns, 2) if splits.is_held_out("pair", pair)]
    this_one = "".join(
        f" This is such a sentence: *{one}* and *{other}* never stood in one that it learned from."
        for one, other in apart
    )
    known = found["familiarity"]
    exact = [f"{percent(found['exact'][split], 1)} with {new}" for split, new in _SPLITS.items()]
    return (
        "Of sentences with combinations of words that were nowhere in its training, it translates without a "
        f"single error: {', '.join(exact)}. In pairs of them like *tired / narrow*, it prefers the right one "
        f"of *il* and *elle* in {percent(found['pronoun'], 1)}; a coin would in 50 %.{this_one} But "
        f"{known['but_for_a_noun']} of these pairs' {known['sentences']} sentences equal one of its training "
        "but for a noun."
    )


@translated
def label_smoothing(model: str) -> float:
    """How much of the certainty was spread over all words while a translator of the catalogue learned."""
    from attnviz.trained.translator.training import Settings

    return Settings.of(variant_of(model)).label_smoothing


def never_certain(model: str) -> str:
    """Why no word of a translator of the catalogue becomes quite certain, in Markdown."""
    return (
        f":small[No word becomes quite certain: while this model learned, {percent(label_smoothing(model))} "
        "of "
        "the certainty was spread over all words (*label smoothing*, Vaswani et al. 2017, section 5.4).]"
    )
