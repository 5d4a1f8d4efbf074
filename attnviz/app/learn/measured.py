"""How often a translator is right: measured of the weights that attnviz ships, on sentences new to them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from attnviz.app import markdown
from attnviz.app.learn.computed import translated
from attnviz.errors import ModelFilesDamaged
from attnviz.models import catalogue
from attnviz.text import percent
from attnviz.trained.translator import lexicon, splits
from attnviz.trained.translator.variants import VARIANTS, WEIGHTS

_FILE = WEIGHTS / "figures.json"
_SPLITS = {
    "pair": "two nouns that never met",
    "description": "an adjective never said of that noun",
    "triple": "subject, object and adjective never together",
}


def variant_of(model: str) -> str:
    """Return the variant of a translator of the catalogue."""
    origin = catalogue.entry(model).origin
    assert isinstance(origin, catalogue.Trained)  # noqa: S101 - every translator was trained here
    return origin.file.stem


@dataclass(frozen=True)
class HeldOut:
    """What was measured of one training, on minimal pairs that it never saw; shares, 0 to 1.

    Attributes:
        variant, title: which translator.
        seed: what its first random numbers came from.
        shipped: whether these are the weights that come with attnviz.
        head: the encoder's head that looks from "it" at the noun that is meant most often: "2-1".
        pronoun: how often the right one of *il* and *elle* is the more probable one.
        exact: how many whole translations are right, by what is new in the sentence.
        subject, object: how often that head does look there, where the noun is the one or the other.
        silenced, silenced_rest: if its row of "it" is silenced: how often the pronoun is still right, and the
            rest of the translation.
        moved, moved_rest: if what the row gives to the noun that is meant goes to the other one: how often
            the pronoun becomes the other one, and how often the rest is still right.
        sentences, but_for_a_noun: how many sentences these pairs have, and how many of them equal one of its
            training but for a noun.
    """

    variant: str
    title: str
    seed: int
    shipped: bool
    head: str
    pronoun: float
    exact: Mapping[str, float]
    subject: float
    object: float
    silenced: float
    silenced_rest: float
    moved: float
    moved_rest: float
    sentences: int
    but_for_a_noun: int

    @property
    def found(self) -> float:
        """How often the head looks at the noun, in the worse of the two readings."""
        return min(self.subject, self.object)


@cache
def held_out() -> tuple[HeldOut, ...]:
    """Return the stored figures of every training.

    Raises:
        ModelFilesDamaged: they are missing or damaged.
    """
    try:
        return tuple(
            HeldOut(
                variant=run["variant"],
                title=VARIANTS[run["variant"]].title,
                seed=int(run["seed"]),
                shipped=run["shipped"],
                head=f"{run['layer']}-{run['head']}",
                pronoun=run["pronoun"],
                exact=run["exact"],
                subject=run["subject"]["found"],
                object=run["object"]["found"],
                silenced=run["silenced"]["pronoun"],
                silenced_rest=run["silenced"]["rest"],
                moved=run["moved"]["changed"],
                moved_rest=run["moved"]["rest"],
                **run["familiarity"],
            )
            for run in json.loads(_FILE.read_text("utf-8"))
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelFilesDamaged(
            f"The figures in {_FILE.name} are missing or damaged. Install attnviz again."
        ) from error


def shipped(variant: str) -> HeldOut:
    """Return the figures of the weights that come with attnviz.

    Raises:
        ModelFilesDamaged: they are missing or damaged.
    """
    return next(run for run in held_out() if run.shipped and run.variant == variant)


def how_often(model: str, words: Sequence[str]) -> str:
    """What was measured of a translator of the catalogue, in Markdown; or why nothing can be told.

    `words` are those of the English sentence that is shown.
    """
    try:
        found = shipped(variant_of(model))
    except ModelFilesDamaged as error:
        return markdown.plain(str(error))
    nouns = sorted({word for word in words if word in lexicon.NOUN})
    apart = [pair for pair in combinations(nouns, 2) if splits.is_held_out("pair", pair)]
    this_one = "".join(
        f" This is such a sentence: *{one}* and *{other}* never stood in one that it learned from."
        for one, other in apart
    )
    exact = [f"{percent(found.exact[split], 1)} with {new}" for split, new in _SPLITS.items()]
    return (
        "Of new sentences, it translates without an error: "
        f"{', '.join(exact)}. In pairs of them like *tired / narrow*, it prefers the right one "
        f"of *il* and *elle* in {percent(found.pronoun, 1)}; a coin would in 50 %.{this_one} But "
        f"{found.but_for_a_noun} of these pairs' {found.sentences} sentences equal one of its training "
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
        "of the certainty was spread over all words (*label smoothing*, Vaswani et al. 2017, section 5.4).]"
    )
