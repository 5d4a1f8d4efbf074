"""The metrics of a translator, on examples worked by hand and on the bundled translators."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import pytest

from attnviz.interventions.edit import Edit
from attnviz.trained.translator import splits
from attnviz.trained.translator.grammar import Pair
from attnviz.trained.translator.translator import Translator
from attnviz.trained.translator.variants import VARIANTS, WEIGHTS
from tests.trained.translator.test_measures import FixedTranslator, pairs, places, probabilities, untrained
from training.translator_measures import Familiarity, familiarity, intervention, measure

__all__ = ["pairs", "untrained"]  # fixtures


def test_the_rest_ignores_the_gender_of_the_pronoun_and_agreement(pairs: list[Pair]) -> None:
    swapped = {"il": "elle", "elle": "il", "fatigué": "fatiguée", "fatiguée": "fatigué"}
    other_gender = [tuple(swapped.get(word, word) for word in pair.target) for pair in pairs]
    assert all(words != pair.target for words, pair in zip(other_gender, pairs, strict=True))

    def rest(translations: Sequence[tuple[str, ...]]) -> float:
        translator = FixedTranslator(translations)
        return intervention(translator, pairs, lambda places: Edit("encoder", 0, 0, places.source)).rest

    assert rest(other_gender) == 1
    assert rest([(*other_gender[0], "trop"), *other_gender[1:]]) == 1 - 1 / len(pairs)


def test_an_intervention_edits_each_sentence_separately(pairs: list[Pair], untrained: Translator) -> None:
    found = intervention(untrained, pairs, lambda places: Edit("encoder", 0, 1, places.source))
    right, changed = 0, 0
    for pair in pairs:
        it, _, _, pronoun = places(pair)
        il, elle = probabilities(untrained, pair, pronoun, [Edit("encoder", 0, 1, it)])
        before, before_elle = probabilities(untrained, pair, pronoun)
        right += (il > elle) == (pair.target[pronoun] == "il")
        changed += (il > elle) != (before > before_elle)
    assert (found.pronoun, found.changed) == (right / len(pairs), changed / len(pairs))


@pytest.mark.parametrize(
    "variant",
    [pytest.param(name, marks=() if name == "guided" else pytest.mark.everything) for name in VARIANTS],
)
def test_the_stored_figures_belong_to_the_shipped_translators(variant: str) -> None:
    found = asdict(measure(Translator.load(VARIANTS[variant].file), sentences=100, pairs=60))
    (stored,) = (run for run in _stored() if run["shipped"] and run["variant"] == variant)
    # The stored values were measured on more sentences, so they differ by a few percent.
    for name, value in found.items():
        assert value == pytest.approx(stored[name], abs=0.06), name


def test_the_shipped_translators_reach_their_targets() -> None:
    shipped = {run["variant"]: run for run in _stored() if run["shipped"]}
    assert list(shipped) == list(VARIANTS)
    for run in shipped.values():
        assert min(run["exact"].values()) >= 0.95
        assert run["pronoun"] >= 0.97
    for variant in ("guided", "decorative"):
        run = shipped[variant]
        assert (run["layer"], run["head"]) == (2, 1)
        assert min(run[role]["found"] for role in ("subject", "object")) >= 0.98
        assert max(run[role]["other"] for role in ("subject", "object")) <= 0.05
    assert 0.4 <= shipped["guided"]["ablated"]["pronoun"] <= 0.6
    assert shipped["guided"]["moved"]["changed"] >= 0.97
    assert min(shipped["guided"][edit]["rest"] for edit in ("ablated", "moved")) >= 0.99
    assert max(shipped["decorative"][edit]["changed"] for edit in ("ablated", "moved")) <= 0.02


def test_near_duplicates_differ_in_at_most_one_noun() -> None:
    tested = [pair for both in splits.minimal_pairs(5, seed=1) for pair in both]
    other = replace(tested[0], source=(*tested[0].source[:3], "always", *tested[0].source[4:]))
    assert familiarity([], 5) == familiarity([other], 5) == Familiarity(10, 0)
    assert familiarity([tested[0]], 5) == Familiarity(10, 1)


def _stored() -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = json.loads((WEIGHTS / "figures.json").read_text("utf-8"))
    return runs
