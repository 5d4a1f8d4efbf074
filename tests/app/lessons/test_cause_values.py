"""Edits of one head, compared with a NumPy reference with the same edit."""

from dataclasses import replace

import pytest

from attnviz.app.lessons.cause import values
from attnviz.app.lessons.cause.values import Experiment, Row
from tests.translator_reference import Change, ablate, move, reference, unchanged

MODEL = "translator"
SENTENCE = "The dog did not cross the road as it was too tired."
ENGLISH = SENTENCE.lower().strip(".").split(" ")
IT, DOG, ROAD = 8, 1, 6
GUIDED = "encoder.layers.1.attention"
AT_IT = Row("encoder", 1, 0, IT)


def run(edit: str, row: Row = AT_IT, model: str = MODEL) -> Experiment:
    return values.experiment(model, SENTENCE, row, edit.split(", ") if edit else [])


@pytest.mark.parametrize(
    ("edit", "change"),
    [
        ("", unchanged),
        ("encoder 2-1 9 2>7", move(GUIDED, 0, IT, DOG, ROAD)),
        ("encoder 2-1 9", ablate(GUIDED, 0, IT)),
        ("encoder 2-1", ablate(GUIDED, 0)),
        ("encoder 1-3 12 12>1", move("encoder.layers.0.attention", 2, 11, 11, 0)),
        ("decoder 1-2", ablate("decoder.layers.0.attention", 1)),
        ("cross 1-1 10 9>2", move("decoder.layers.0.cross_attention", 0, 9, IT, DOG)),
    ],
)
def test_numbers_equal_the_reference(edit: str, change: Change) -> None:
    found = run(edit)
    network = reference()
    before = network.translate(ENGLISH)
    assert found.words_before == before
    assert found.words_now == network.translate(ENGLISH, change)
    assert found.gender
    assert found.gender.before == pytest.approx(network.pronoun_probabilities(ENGLISH, before), abs=1e-5)
    assert found.gender.now == pytest.approx(network.pronoun_probabilities(ENGLISH, before, change), abs=1e-5)


def test_row_before_and_after_an_edit() -> None:
    moved = run("encoder 2-1 9 2>7")
    assert moved.keys[DOG] == "dog"
    assert moved.queries[IT] == "it"
    assert moved.allowed.all()
    assert moved.row_now[DOG] == 0
    assert moved.row_now[ROAD] == moved.row_before[DOG] + moved.row_before[ROAD]
    assert moved.row_now.sum() == pytest.approx(1, abs=1e-6)
    assert not run("encoder 2-1 9").row_now.any()


def test_later_tokens_are_masked_in_the_decoder() -> None:
    found = run("", Row("decoder", 0, 1, 4))
    assert found.keys[0] == "[START]"
    assert found.allowed.tolist() == [place <= 4 for place in range(len(found.keys))]


def test_sentence_without_a_pronoun_has_no_gender() -> None:
    text = "The dog crossed the road."
    assert values.experiment(MODEL, text, Row("encoder", 1, 0, 1)).gender is None


def test_result_names_the_difference_between_the_translations() -> None:
    moved = run("encoder 2-1 9 2>7")
    assert (run("").result, moved.result) == ("same", "gender")
    assert replace(moved, words_now=("la", *moved.words_now)).result == "other"
    assert replace(moved, words_now=()).french == "[END]"


def test_other_noun_is_the_nearest_unmasked_one() -> None:
    found = run("")
    assert (found.source, found.other_noun(IT)) == (DOG, ROAD)
    assert replace(found, keys=("cat", *found.keys[1:])).other_noun(IT) == ROAD
    masked = found.allowed.copy()
    masked[ROAD] = False
    assert replace(found, allowed=masked).other_noun(IT) is None
