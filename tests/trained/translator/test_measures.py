"""The figures: worked by hand on invented weights, and what the shipped translators reach."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import pytest
import torch

from attnviz.interventions.edit import Edit
from attnviz.trained.translator import splits
from attnviz.trained.translator.grammar import Pair
from attnviz.trained.translator.measures import (
    TARGETS,
    Familiarity,
    Figures,
    Intervention,
    PronounAttention,
    chooses_il,
    exact_match,
    familiarity,
    finder,
    flat,
    intervention,
    measure,
    missed,
    reading,
    table,
    weights_from_it,
)
from attnviz.trained.translator.training import Settings
from attnviz.trained.translator.translator import Sizes, Translator, build
from attnviz.trained.translator.variants import VARIANTS, WEIGHTS

SIZES = Sizes(d_model=12, n_heads=3, d_feed_forward=7)

PERFECT = Figures(
    exact={"pair": 1.0, "description": 0.99, "triple": 0.985},
    pronoun=0.99,
    layer=2,
    head=1,
    subject=PronounAttention(1.0, 0.97, 0.01),
    object=PronounAttention(0.98, 0.96, 0.05),
    silenced=Intervention(0.45, 0.5, 0.99),
    moved=Intervention(0.0, 0.97, 1.0),
)


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return [pair for both in splits.minimal_pairs(6, seed=2) for pair in both]


@pytest.fixture(scope="module")
def newborn() -> Translator:
    """A translator that has learned nothing."""
    return Translator(build(SIZES, seed=1), SIZES, {})


def places(pair: Pair) -> tuple[int, int, int, int]:
    """Of "it", of the noun meant, of the other one, and of "il" or "elle"."""
    assert pair.pronoun is not None
    assert pair.pronoun.other is not None
    return pair.pronoun.source, pair.pronoun.referent, pair.pronoun.other, pair.pronoun.target


def test_a_reading_worked_by_hand(pairs: list[Pair]) -> None:
    some = pairs[:2]
    weights = torch.zeros(2, 30)
    for row, (pair, referent, other) in enumerate(zip(some, (0.6, 0.2), (0.1, 0.5), strict=True)):
        weights[row, places(pair)[1]] = referent
        weights[row, places(pair)[2]] = other
        weights[row, 29] = 0.3
    assert asdict(reading(weights, some)) == pytest.approx({"found": 0.5, "referent": 0.4, "other": 0.3})


def test_the_head_that_finds_most_often_is_named(pairs: list[Pair]) -> None:
    weights = torch.zeros(len(pairs), 2, 3, 30)
    weights[..., 29] = 0.5
    for row, pair in enumerate(pairs):
        weights[row, 1, 2, places(pair)[1]] = 0.6
        weights[row, 0, 1, places(pair)[1]] = 0.9 if row else 0.0
    assert finder(weights, pairs) == (1, 2)
    weights[0, 0, 1, places(pairs[0])[1]] = 0.9
    assert finder(weights, pairs) == (0, 1)


def test_many_sentences_at_once_are_measured_as_each_by_itself(
    pairs: list[Pair], newborn: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attnviz.trained.translator.measures.AT_ONCE", 5)
    weights = weights_from_it(newborn, pairs)
    chosen = chooses_il(newborn, pairs)
    for pair, row, il in zip(pairs, weights, chosen, strict=True):
        it, _, _, pronoun = places(pair)
        steps = newborn.steps(pair.source, pair.target)
        for layer, of_layer in enumerate(steps.encoder.layers):
            found = of_layer.attention.attention.weights[:, it]
            torch.testing.assert_close(row[layer, :, : found.shape[-1]], found)
            assert not row[layer, :, found.shape[-1] :].any()
        words = dict(zip(("il", "elle"), _probabilities(newborn, pair, pronoun), strict=True))
        assert il == (words["il"] > words["elle"])


def _probabilities(translator: Translator, pair: Pair, row: int, edits: Sequence[Edit] = ()) -> list[float]:
    from attnviz.trained.translator.vocabulary import FRENCH

    steps = translator.steps(pair.source, pair.target, edits)
    found: list[float] = steps.probabilities[row, FRENCH.ids(("il", "elle"))].tolist()
    return found


class Parrot(Translator):
    """A translator that has been told every word it says."""

    def __init__(self, translations: Sequence[tuple[str, ...]]) -> None:
        super().__init__(build(SIZES, seed=1), SIZES, {})
        self.translations = translations

    def translate_all(self, sources: Sequence[object], edits: Sequence[object] = ()) -> list[tuple[str, ...]]:
        assert not edits or len(edits) == len(sources)
        return list(self.translations[: len(sources)])


def test_only_a_translation_without_any_mistake_is_exact(pairs: list[Pair]) -> None:
    right = [pair.target for pair in pairs]
    assert exact_match(Parrot(right), pairs) == 1
    assert exact_match(Parrot([*right[:-2], right[-2][:-1], (*right[-1], "trop")]), pairs) == 1 - 2 / len(
        pairs
    )


def test_the_rest_is_all_but_the_gender_of_the_pronoun_and_what_agrees(pairs: list[Pair]) -> None:
    swapped = {"il": "elle", "elle": "il", "fatigué": "fatiguée", "fatiguée": "fatigué"}
    other_gender = [tuple(swapped.get(word, word) for word in pair.target) for pair in pairs]
    assert all(words != pair.target for words, pair in zip(other_gender, pairs, strict=True))

    def rest(translations: Sequence[tuple[str, ...]]) -> float:
        nothing = intervention(Parrot(translations), pairs, lambda it: Edit("encoder", 0, 0, it.source))
        return nothing.rest

    assert rest(other_gender) == 1
    assert rest([(*other_gender[0], "trop"), *other_gender[1:]]) == 1 - 1 / len(pairs)


def test_an_intervention_is_measured_on_each_sentence_with_its_own_edit(
    pairs: list[Pair], newborn: Translator
) -> None:
    found = intervention(newborn, pairs, lambda it: Edit("encoder", 0, 1, it.source))
    right, changed = 0, 0
    for pair in pairs:
        it, _, _, pronoun = places(pair)
        il, elle = _probabilities(newborn, pair, pronoun, [Edit("encoder", 0, 1, it)])
        before, before_elle = _probabilities(newborn, pair, pronoun)
        right += (il > elle) == (pair.target[pronoun] == "il")
        changed += (il > elle) != (before > before_elle)
    assert (found.pronoun, found.changed) == (right / len(pairs), changed / len(pairs))


def test_every_missed_target_is_named() -> None:
    assert missed("taught", PERFECT) == {}
    for name, (least, most) in TARGETS["taught"].items():
        for wrong in (least - 0.001, most + 0.001):
            assert missed("taught", _with(PERFECT, name, wrong)) == {name: wrong}


def _with(figures: Figures, name: str, value: float) -> Figures:
    """The same figures but for one."""
    whole, _, part = name.partition(" ")
    former = getattr(figures, whole)
    changed: object = value
    if isinstance(former, dict):
        changed = {**former, part: value}
    elif part:
        changed = type(former)(**{**asdict(former), part: value})
    return Figures(**{**vars(figures), whole: changed})


def test_the_table_has_a_column_for_each_translator() -> None:
    other = _with(PERFECT, "pronoun", 0.875)
    lines = table({"one": PERFECT, "another": other}).splitlines()
    assert lines[0].split() == ["one", "another"]
    assert [line.split() for line in lines if line.split()[0] == "pronoun"] == [["pronoun", "0.99", "0.875"]]
    assert len(lines) == 1 + len(flat(PERFECT))


@pytest.mark.parametrize(
    "variant",
    [pytest.param(name, marks=() if name == "taught" else pytest.mark.everything) for name in VARIANTS],
)
def test_the_shipped_translators_reach_their_targets(variant: str) -> None:
    figures = measure(Translator.load(VARIANTS[variant].file), sentences=100, pairs=60)
    assert missed(variant, figures) == {}
    # What was written down was measured on more sentences; a few in a hundred may differ.
    (written,) = (run for run in _written() if run["shipped"] and run["variant"] == variant)
    for name, value in flat(figures).items():
        whole, _, part = name.partition(" ")
        recorded = written[whole][part] if part else written[whole]
        assert value == pytest.approx(recorded, abs=0.06), name


def test_a_sentence_is_familiar_that_was_learned_from_but_for_a_noun() -> None:
    tested = [pair for both in splits.minimal_pairs(5, seed=1) for pair in both]
    other = replace(tested[0], source=(*tested[0].source[:3], "always", *tested[0].source[4:]))
    assert familiarity([], 5) == familiarity([other], 5) == Familiarity(10, 0)
    assert familiarity([tested[0]], 5) == Familiarity(10, 1)


@pytest.mark.everything
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_how_familiar_the_sentences_are_is_written_down(seed: int) -> None:
    found = asdict(familiarity(splits.training(Settings.of("taught").sentences, seed)))
    runs = [run for run in _written() if run["seed"] == str(seed)]
    assert runs
    assert all(run["familiarity"] == found for run in runs)


def _written() -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = json.loads((WEIGHTS / "figures.json").read_text("utf-8"))
    return runs


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_files_are_small_and_say_how_they_were_made(variant: str) -> None:
    file = VARIANTS[variant].file
    assert file.stat().st_size <= 500_000
    about = Translator.load(file).about
    assert about["variant"] == variant
    assert about["seed"] == str(VARIANTS[variant].seed)
    assert about["command"] == f"python -m attnviz train --variant {variant} --seed {about['seed']}"


def test_at_least_three_trainings_of_the_taught_one_are_reported() -> None:
    runs = [run for run in _written() if run["variant"] == "taught"]
    assert len({run["seed"] for run in runs}) >= 3
    assert sum(run["shipped"] is True for run in runs) == 1
