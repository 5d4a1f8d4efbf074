"""How often a translator is right: measured of the weights that attnviz ships, on sentences new to them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from attnviz.errors import ModelFilesDamaged
from attnviz.models import catalogue
from attnviz.text import head_name
from attnviz.trained.translator.variants import GUIDED_HEAD, GUIDED_LAYER, VARIANTS, WEIGHTS

_FILE = WEIGHTS / "figures.json"


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
        ablated, ablated_rest: if its row of "it" is ablated: how often the pronoun is still correct, and the
            rest of the translation.
        redirected, redirected_rest: if the row's weight on the correct noun is moved to the other one: how
            often the pronoun becomes the other one, and how often the rest is still correct.
        sentences, num_near_duplicates: Number of sentences of these pairs, and of those that differ from a
            training sentence in one noun at most.
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
    ablated: float
    ablated_rest: float
    redirected: float
    redirected_rest: float
    sentences: int
    num_near_duplicates: int

    @property
    def found(self) -> float:
        """How often the head attends to the noun, in the worse of the two readings."""
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
                ablated=run["ablated"]["pronoun"],
                ablated_rest=run["ablated"]["rest"],
                redirected=run["moved"]["changed"],
                redirected_rest=run["moved"]["rest"],
                **run["familiarity"],
            )
            for run in json.loads(_FILE.read_text("utf-8"))
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelFilesDamaged(
            f"The results in {_FILE.name} are missing or damaged. Install attnviz again."
        ) from error


def shipped(variant: str) -> HeldOut:
    """Return the figures of the weights that come with attnviz.

    Raises:
        ModelFilesDamaged: they are missing or damaged.
    """
    return next(run for run in held_out() if run.shipped and run.variant == variant)


def opening_head(model: str) -> str:
    """Return the encoder head, "2-1", that attends from "it" to its noun most often."""
    try:
        return shipped(variant_of(model)).head
    except ModelFilesDamaged:
        return head_name(GUIDED_LAYER, GUIDED_HEAD)
