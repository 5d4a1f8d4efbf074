"""Three networks, compared: nothing that is measured was learned from, and the results are what they do."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

from attnviz.trained.translator import distance, splits
from attnviz.trained.translator.distance import NAMES
from attnviz.trained.translator.translator import source_of, target_of
from attnviz.trained.translator.vocabulary import FRENCH
from attnviz.trained.vocabulary import END
from training import distances
from training.distances import MAX_TRAINED_CLAUSES, SENTENCES, to_learn_from, to_measure
from training.lengthening import MAX_CLAUSES


def test_nothing_is_learned_that_is_measured() -> None:
    for pair in to_learn_from(2000, seed=0):
        assert not any(splits.holds(pair, split) for split in splits.SPLITS)
    for sentence in to_measure(100, 3):
        assert any(splits.holds(sentence.pair, split) for split in splits.SPLITS)


def test_what_is_tuned_on_is_neither_learned_from_nor_measured() -> None:
    measured = {
        sentence.pair.source
        for inserted in range(MAX_CLAUSES + 1)
        for sentence in to_measure(SENTENCES, inserted)
    }
    tuned_on = distances.to_tune_on()
    assert len(tuned_on) > 100
    for pair in tuned_on:
        assert pair.source not in measured
        assert any(splits.holds(pair, split) for split in splits.SPLITS)


def test_all_are_trained_and_measured_and_the_results_are_read_as_they_were_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, small in (("SENTENCES", 4), ("MAX_CLAUSES", 1), ("SEEDS", (0, 1))):
        monkeypatch.setattr(distances, name, small)
    few = distances.to_tune_on()[:4]
    monkeypatch.setattr(distances, "to_tune_on", lambda: few)
    quick = replace(distances.settings(1e-3, 0), steps=2, sentences=200, warm_up=1)
    monkeypatch.setattr(
        distances, "settings", lambda rate, seed: replace(quick, learning_rate=rate, seed=seed)
    )
    found, networks = distances.compete()
    assert [(run.name, run.learning_rate, run.seed) for run in found.runs] == [
        *product(NAMES, distances.LEARNING_RATES, (0, 1))
    ]
    for name, network in networks.items():
        kept = found.chosen(name)[0]
        assert (kept.seed, kept.points) == (0, distances.points(network))
    monkeypatch.setattr(distance, "FILE", tmp_path / "distances.json")
    distances.write(found, distance.FILE)
    assert distance.read() == found


def test_a_measure_counts_what_is_right() -> None:
    model = distances.kept("lstm")
    pairs = [sentence.pair for inserted in (0, 3) for sentence in to_measure(20, inserted)]
    found = distances.point(model, pairs)
    il, elle = FRENCH.ids(("il", "elle"))
    exact = pronoun = 0
    for pair in pairs:
        assert pair.pronoun is not None
        source, target = torch.tensor([source_of(pair.source)]), torch.tensor([target_of(pair.target)])
        with torch.no_grad():
            [logits] = model(source, target).logits
        chosen = "il" if logits[pair.pronoun.target, il] > logits[pair.pronoun.target, elle] else "elle"
        pronoun += chosen == pair.target[pair.pronoun.target]
        spoken = [FRENCH.word(number) for number in logits.argmax(dim=-1).tolist()]
        exact += spoken == [*pair.target, END]
    assert (found.exact, found.pronoun) == (exact, pronoun)


@pytest.mark.parametrize("inserted", [0, pytest.param(MAX_TRAINED_CLAUSES, marks=pytest.mark.everything)])
def test_the_stored_results_are_those_of_the_kept_weights(inserted: int) -> None:
    stored = distance.read()
    assert (stored.sentences, stored.max_trained_clauses) == (SENTENCES, MAX_TRAINED_CLAUSES)
    sentences = to_measure(SENTENCES, inserted)
    words = np.mean([sentence.words_apart for sentence in sentences])
    assert stored.words[inserted] == pytest.approx(words)
    pairs = [sentence.pair for sentence in sentences]
    for name in NAMES:
        found, expected = (
            distances.point(distances.kept(name), pairs),
            stored.chosen(name)[0].points[inserted],
        )
        # Another processor adds up in another order: a sentence on the edge may fall to the other side.
        assert found.exact == pytest.approx(expected.exact, abs=2)
        assert found.pronoun == pytest.approx(expected.pronoun, abs=2)
