"""One head is changed, and the numbers are those of a network in numpy in which that was done by hand."""

from collections.abc import Sequence

import pytest

from attnviz.app.lessons.cause import compute
from attnviz.interventions.edit import Edit, Edits
from attnviz.trained.translator.translator import Translator
from tests.translator_reference import Array, Change, ablate, move, nothing, reference

MODEL = "translator"
SENTENCE = "The dog did not cross the road as it was too tired."
ENGLISH = SENTENCE.lower().strip(".").split(" ")
IT, DOG, ROAD = 8, 1, 6
GUIDED = "encoder.layers.1.attention"


def run(edit: str, place: tuple[str, int, int, int] = ("encoder", 1, 0, IT)) -> compute.Experiment:
    edits = edit.split(", ") if edit else []
    return compute.experiment(MODEL, SENTENCE, *place, edits)  # type: ignore[arg-type]  # a str for a Kind


@pytest.mark.parametrize(
    ("edit", "change"),
    [
        ("", nothing),
        ("encoder 2-1 9 2>7", move(GUIDED, 0, IT, DOG, ROAD)),
        ("encoder 2-1 9", ablate(GUIDED, 0, IT)),
        ("encoder 2-1", ablate(GUIDED, 0)),
        ("encoder 1-3 12 12>1", move("encoder.layers.0.attention", 2, 11, 11, 0)),
        ("decoder 1-2", ablate("decoder.layers.0.attention", 1)),
        ("cross 1-1 10 9>2", move("decoder.layers.0.cross_attention", 0, 9, IT, DOG)),
    ],
)
def test_the_numbers_are_those_of_a_change_by_hand(edit: str, change: Change) -> None:
    found = run(edit)
    by_hand = reference()
    before = by_hand.translate(ENGLISH)
    assert found.words_before == before
    assert found.words_now == by_hand.translate(ENGLISH, change)
    assert found.gender
    assert found.gender.before == pytest.approx(by_hand.choice(ENGLISH, before), abs=1e-5)
    assert found.gender.now == pytest.approx(by_hand.choice(ENGLISH, before, change), abs=1e-5)


def test_in_the_decorative_translator_the_arrow_looks_the_same_and_does_nothing() -> None:
    for edit, change in (
        ("encoder 2-1 9 2>7", move(GUIDED, 0, IT, DOG, ROAD)),
        ("encoder 2-1 9", ablate(GUIDED, 0, IT)),
    ):
        found = compute.experiment("translator-decorative", SENTENCE, "encoder", 1, 0, IT, [edit])
        assert found.row_before[DOG] > 0.95
        assert found.words_now == found.words_before
        assert found.gender
        by_hand = reference("decorative").choice(ENGLISH, found.words_before, change)
        assert found.gender.now == pytest.approx(by_hand, abs=1e-5)
        assert found.gender.now == pytest.approx(found.gender.before, abs=0.02)


def test_the_row_before_and_now() -> None:
    moved = run("encoder 2-1 9 2>7")
    assert moved.keys[DOG] == "dog"
    assert moved.queries[IT] == "it"
    assert moved.open_to.all()
    assert moved.row_now[DOG] == 0
    assert moved.row_now[ROAD] == moved.row_before[DOG] + moved.row_before[ROAD]
    assert moved.row_now.sum() == pytest.approx(1, abs=1e-6)
    assert not run("encoder 2-1 9").row_now.any()


def test_the_decoder_never_looks_ahead() -> None:
    found = run("", ("decoder", 0, 1, 4))
    assert found.keys[0] == "[START]"
    assert found.open_to.tolist() == [place <= 4 for place in range(len(found.keys))]


def test_effects_are_those_of_silence_by_hand() -> None:
    found = compute.effects(MODEL, SENTENCE)
    assert found
    by_hand = reference()
    french = by_hand.translate(ENGLISH)
    before = by_hand.choice(ENGLISH, french)[0]
    assert found.written == "il"
    assert found.probability == pytest.approx(before, abs=1e-5)
    assert found.rows.shape == (2, 4, 13)
    for layer, head, query in ((1, 0, IT), (1, 0, 11), (0, 3, IT), (0, 0, 0), (1, 2, 12)):
        change = ablate(f"encoder.layers.{layer}.attention", head, query)
        by_ablation = by_hand.choice(ENGLISH, french, change)[0] - before
        assert found.rows[layer, head, query] == pytest.approx(by_ablation, abs=1e-5)
    for numbers, name in (
        (found.encoder[1], GUIDED),
        (found.decoder[0], "decoder.layers.0.attention"),
        (found.cross[0], "decoder.layers.0.cross_attention"),
    ):
        for head in range(4):
            by_ablation = by_hand.choice(ENGLISH, french, ablate(name, head))[0] - before
            assert numbers[head] == pytest.approx(by_ablation, abs=1e-5)


def test_a_sentence_is_translated_once_whatever_row_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Edits] = []
    translate = Translator.translate

    def note(self: Translator, source: Sequence[str], edits: Edits = ()) -> tuple[str, ...]:
        asked.append(edits)
        return translate(self, source, edits)

    monkeypatch.setattr(Translator, "translate", note)
    compute._translate.cache_clear()
    for head in (0, 1):
        run("encoder 2-1", ("encoder", 1, head, IT))
    assert asked == [(), (Edit("encoder", 1, 0),)]


def test_without_a_pronoun_there_is_nothing_to_decide() -> None:
    text = "The dog crossed the road."
    assert compute.effects(MODEL, text) is None
    assert compute.experiment(MODEL, text, "encoder", 1, 0, 1).gender is None


@pytest.mark.parametrize("step", [0, 7, 10, 20])
def test_a_weight_that_two_words_share_is_the_change_by_hand(step: int) -> None:
    share = step / 20

    def share_it(here: str, weights: Array) -> None:
        if here == GUIDED:
            weights[0, IT, ROAD] += share * weights[0, IT, DOG]
            weights[0, IT, DOG] *= 1 - share

    found, before = compute.shared(MODEL, SENTENCE, 1, 0, IT, DOG, ROAD), run("")
    assert found is not None
    by_hand = reference().choice(ENGLISH, before.words_before, share_it)
    assert (found.il[step], found.elle[step]) == pytest.approx(by_hand, abs=1e-5)
    assert found.shares[step] == pytest.approx(share)
    assert found.rows[step, DOG] == pytest.approx((1 - share) * before.row_before[DOG], abs=1e-6)
    assert found.rows[step].sum() == pytest.approx(1, abs=1e-5)
    assert found.french[0] == before.words_before
    likelier = "il" if found.il[step] > found.elle[step] else "elle"
    assert likelier in found.french[step]


def test_without_a_pronoun_nothing_is_shared() -> None:
    assert compute.shared(MODEL, "The dog crossed the road.", 1, 0, 1, 1, 4) is None
