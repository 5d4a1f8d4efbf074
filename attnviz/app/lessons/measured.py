"""Accuracy of the translators: stored results of all training runs on held-out sentences."""

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
    """Return the name of the variant of a translator in the catalogue."""
    origin = catalogue.entry(model).origin
    assert isinstance(origin, catalogue.Trained)  # noqa: S101 - every translator was trained for attnviz
    return origin.file.stem


@dataclass(frozen=True)
class HeldOutResults:
    """Results of one training run on held-out minimal pairs; fractions, 0 to 1.

    Attributes:
        variant, title: Name and title of the translator's variant.
        seed: Random seed.
        shipped: True for the bundled weights.
        head: Encoder head that attends from "it" to its referent most often, such as "2-1".
        pronoun: Fraction of sentences in which the correct one of *il* and *elle* has the higher probability.
        exact: Fraction of fully correct translations, by the kind of word combination that is new.
        subject, object: Fraction in which `head` attends to the referent, if it is the subject or object.
        ablated, ablated_rest: Fraction with a correct pronoun, and with all other words correct, if the
            row of "it" in that head is ablated.
        redirected, redirected_rest: Fraction with the other pronoun, and with all other words correct, if the
            row's weight on the referent is redirected to the other noun.
        sentences, num_near_duplicates: Number of sentences in the pairs, and number of sentences that differ
            from a training sentence in at most one noun.
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
        """The smaller of `subject` and `object`."""
        return min(self.subject, self.object)


@cache
def held_out_results() -> tuple[HeldOutResults, ...]:
    """Return the stored results of every training run.

    Raises:
        ModelFilesDamaged: the results are missing or damaged.
    """
    try:
        return tuple(
            HeldOutResults(
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


def bundled_results(variant: str) -> HeldOutResults:
    """Return the stored results of a variant's bundled weights.

    Raises:
        ModelFilesDamaged: the results are missing or damaged.
    """
    return next(run for run in held_out_results() if run.shipped and run.variant == variant)


def opening_head(model: str) -> str:
    """Return the encoder head that attends from "it" to its referent most often, such as "2-1"."""
    try:
        return bundled_results(variant_of(model)).head
    except ModelFilesDamaged:
        return head_name(GUIDED_LAYER, GUIDED_HEAD)
