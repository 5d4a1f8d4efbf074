"""The comparison of three networks: separate training and test sentences, and correct results."""

import pytest
import torch

from attnviz.trained.translator import distance, splits
from attnviz.trained.translator.distance import NAMES
from attnviz.trained.translator.translator import encode_source, encode_target
from attnviz.trained.translator.vocabulary import FRENCH
from attnviz.trained.vocabulary import END
from training import distances
from training.distances import MAX_TRAINED_CLAUSES, SENTENCES, held_out_sentences, training_sentences
from training.lengthening import MAX_CLAUSES


def test_training_and_test_sentences_are_separate() -> None:
    for pair in training_sentences(2000, seed=0):
        assert not any(splits.has_held_out(pair, split) for split in splits.SPLITS)
    for pair in held_out_sentences(100, 3):
        assert any(splits.has_held_out(pair, split) for split in splits.SPLITS)


def test_validation_sentences_are_in_neither_set() -> None:
    measured = {
        pair.source for inserted in range(MAX_CLAUSES + 1) for pair in held_out_sentences(SENTENCES, inserted)
    }
    validation = distances.validation_sentences()
    assert len(validation) > 100
    for pair in validation:
        assert pair.source not in measured
        assert any(splits.has_held_out(pair, split) for split in splits.SPLITS)


def test_count_correct_counts_correct_translations_and_pronouns() -> None:
    model = distances.load("lstm")
    pairs = [pair for inserted in (0, 3) for pair in held_out_sentences(20, inserted)]
    il, elle = FRENCH.ids(("il", "elle"))
    exact = pronoun = 0
    for pair in pairs:
        assert pair.pronoun is not None
        source, target = (
            torch.tensor([encode_source(pair.source)]),
            torch.tensor([encode_target(pair.target)]),
        )
        with torch.no_grad():
            [logits] = model(source, target).logits
        chosen = "il" if logits[pair.pronoun.target, il] > logits[pair.pronoun.target, elle] else "elle"
        pronoun += chosen == pair.target[pair.pronoun.target]
        translated = [FRENCH.word(number) for number in logits.argmax(dim=-1).tolist()]
        exact += translated == [*pair.target, END]
    assert distances.count_correct(model, pairs) == (exact, pronoun)


@pytest.mark.parametrize("inserted", [0, pytest.param(MAX_TRAINED_CLAUSES, marks=pytest.mark.everything)])
def test_the_stored_results_belong_to_the_stored_weights(inserted: int) -> None:
    stored = distance.read()
    assert (stored.sentences, stored.max_trained_clauses) == (SENTENCES, MAX_TRAINED_CLAUSES)
    pairs = held_out_sentences(SENTENCES, inserted)
    assert stored.words[inserted] == pytest.approx(distances.mean_distance(pairs))
    for name in NAMES:
        run = stored.chosen(name)[0]
        # On another processor, rounding differs and can change the result of single sentences.
        found = distances.count_correct(distances.load(name), pairs)
        assert found == pytest.approx((run.exact[inserted], run.pronoun[inserted]), abs=2)
