"""Three networks, compared: nothing is learned that is asked, and what is written down is what they do."""

import copy
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from attnviz.errors import ModelFilesDamaged
from attnviz.trained.translator import contest, distance, recurrent, splits
from attnviz.trained.translator.contest import (
    LEARNING_RATES,
    LONGEST_LEARNED,
    SEEDS,
    SENTENCES,
    to_learn_from,
    to_measure,
)
from attnviz.trained.translator.distance import GENDERS, NAMES, Name
from attnviz.trained.translator.exercises import Exercises
from attnviz.trained.translator.lengthening import MOST
from attnviz.trained.translator.lexicon import NOUN
from attnviz.trained.translator.translator import Translator, source_of, target_of
from attnviz.trained.translator.vocabulary import FRENCH
from attnviz.trained.vocabulary import END
from attnviz.transformer.encoder_decoder import EncoderDecoder


def test_nothing_is_learned_that_is_asked() -> None:
    for pair in to_learn_from(2000, seed=0):
        assert not any(splits.holds(pair, split) for split in splits.SPLITS)
    for sentence in to_measure(100, 3):
        assert any(splits.holds(sentence.pair, split) for split in splits.SPLITS)


def test_every_number_of_clauses_is_learned_from_equally_often() -> None:
    pairs = to_learn_from(2000, seed=0)
    people = [sum(word in NOUN and NOUN[word].kind == "person" for word in pair.source) for pair in pairs]
    counts = np.bincount(people, minlength=LONGEST_LEARNED + 1)
    assert len(counts) == LONGEST_LEARNED + 1
    assert counts.min() > 0.8 * counts.max()


def test_the_same_sentences_are_asked_at_every_length() -> None:
    short, long = to_measure(20, 0), to_measure(20, 5)
    for before, after in zip(short, long, strict=True):
        assert before.pair.nouns == after.pair.nouns
        assert after.words_apart > before.words_apart + 5 * 4
    for one, other in zip(long[::2], long[1::2], strict=True):
        assert [*one.pair.source[:-1]] == [*other.pair.source[:-1]]
        assert {one.pair.target[one.it.target], other.pair.target[other.it.target]} == {"il", "elle"}


def test_what_is_tuned_on_is_neither_learned_from_nor_measured() -> None:
    asked = {
        sentence.pair.source for inserted in range(MOST + 1) for sentence in to_measure(SENTENCES, inserted)
    }
    tuned_on = contest.to_tune_on()
    assert len(tuned_on) > 100
    for pair in tuned_on:
        assert pair.source not in asked
        assert any(splits.holds(pair, split) for split in splits.SPLITS)


def test_a_contest_goes_on_where_it_was_broken_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, small in (("SENTENCES", 4), ("MOST", 1), ("STEPS", 2), ("_MOMENTS", 2), ("SEEDS", (0, 1))):
        monkeypatch.setattr(contest, name, small)
    few = contest.to_tune_on()[:4]
    monkeypatch.setattr(contest, "to_tune_on", lambda: few)
    quick = replace(contest.settings(1e-3, 0), steps=2, sentences=200, warm_up=1)
    monkeypatch.setattr(contest, "settings", lambda rate, seed: replace(quick, learning_rate=rate, seed=seed))
    for _ in contest.compete(tmp_path):
        if distance.exists(tmp_path):
            break
    assert [run.name for run in distance.read(tmp_path).runs] == ["lstm"]
    done = [(name, training.done) for name, training in contest.compete(tmp_path)]
    assert (done[0], done[-1]) == (("lstm", 1), ("transformer", 2))
    found = distance.read(tmp_path)
    settings = [(run.name, run.learning_rate, run.seed) for run in found.runs]
    assert len(settings) == len({*settings}) == len(NAMES) * len(LEARNING_RATES) * 2
    assert [*contest.compete(tmp_path)] == []
    for name in NAMES:
        assert [run.seed for run in found.chosen(name)] == [0, 1]
        assert [moment.step for moment in found.chosen(name)[0].curve] == [1, 2]
    # What the files give back is what was measured, and a network has learned something.
    told: list[tuple[str, float]] = []
    again = contest.measure(tmp_path, lambda doing, done: told.append((doing, done)))
    doing, done_then = zip(*told, strict=True)
    assert (doing[0], doing[-1]) == ("lstm: clauses put in: 0", "transformer: clauses put in: 1")
    assert done_then == pytest.approx([sixth / 6 for sixth in range(6)])
    for one, other in zip(found.runs, again.runs, strict=True):
        assert one.points == other.points
        assert one.points[0].gradient != one.points[0].untrained
    contest.load(tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_reactions_are_those_of_small_changes(name: Name) -> None:
    model = contest.build(name, seed=0).double().eval()
    sentence = to_measure(2, 0)[0]
    exercises = Exercises.of([sentence.pair])
    odds, reaction = contest.reactions(model, exercises)
    table = dict(model.named_parameters())[
        "source_embedding.table.weight" if name == "transformer" else "source_table.weight"
    ]
    noun = source_of(sentence.pair.source)[sentence.it.referent]
    assert source_of(sentence.pair.source).count(noun) == 1

    def moved(entry: int, by: float) -> float:
        with torch.no_grad():
            table[noun, entry] += by
            logits = model(exercises.source, exercises.target).logits[0, sentence.it.target]
            table[noun, entry] -= by
        il, elle = logits[FRENCH.ids(("il", "elle"))].tolist()
        is_il = sentence.pair.target[sentence.it.target] == "il"
        return float(il - elle) if is_il else float(elle - il)

    assert float(odds) == pytest.approx(moved(0, 0.0))
    step = 1e-4
    gradient = [(moved(entry, step) - moved(entry, -step)) / (2 * step) for entry in range(table.shape[1])]
    # The scale of the vectors, √d_model, cancels out: that is why the reaction has ‖x‖ in it.
    expected = float(table[noun].detach().norm()) * np.linalg.norm(gradient)
    assert float(reaction) == pytest.approx(expected, rel=1e-4)


def test_the_heads_are_those_that_look_most() -> None:
    model = contest.build("transformer", seed=0)
    assert isinstance(model, EncoderDecoder)
    transformer = Translator(model, contest.SIZES, {})
    looks: dict[str, list[list[NDArray[np.float32]]]] = {name: [] for name in (*GENDERS, "across")}
    for inserted in range(3):
        for of_length in looks.values():
            of_length.append([])
        for it in to_measure(4, inserted):
            layers = transformer.steps(it.pair.source, it.pair.target).decoder.layers
            row, noun = it.it.target, slice(it.named[0] + 1, it.named[-1] + 2)
            back = [each.attention.attention.weights[:, row, noun].sum(-1).numpy() for each in layers]
            across = [each.cross_attention.attention.weights[:, row, -2:].sum(-1).numpy() for each in layers]
            looks[it.pair.target[row]][-1].append(np.stack(back))
            looks["across"][-1].append(np.stack(across))
    found_heads = contest.looking_heads(transformer, [to_measure(4, n) for n in range(3)])
    for name, found in [*found_heads.back.items(), ("across", found_heads.across)]:
        means = np.array([np.mean(of_length, axis=0) for of_length in looks[name]])  # [length, layer, head]
        assert (found.layer, found.head) == np.unravel_index(means.sum(axis=0).argmax(), means.shape[1:])
        assert found.weights == pytest.approx(means[:, found.layer, found.head], abs=1e-6)


def test_a_measure_counts_what_is_right() -> None:
    lstm = contest.load().lstm
    pairs = [sentence.pair for inserted in (0, 3) for sentence in to_measure(20, inserted)]
    exact, share, pronoun, _ = contest.measured(copy.deepcopy(lstm.model).requires_grad_(), pairs)
    assert exact == sum(lstm.translate(pair.source) == pair.target for pair in pairs)
    il, elle = FRENCH.ids(("il", "elle"))
    right, words = 0, []
    for pair in pairs:
        assert pair.pronoun is not None
        logits = lstm.model(
            torch.tensor([source_of(pair.source)]), torch.tensor([target_of(pair.target)])
        ).logits
        chosen = "il" if logits[0, pair.pronoun.target, il] > logits[0, pair.pronoun.target, elle] else "elle"
        right += chosen == pair.target[pair.pronoun.target]
        said = [FRENCH.word(number) for number in logits[0].argmax(dim=-1).tolist()]
        words += [one == other for one, other in zip(said, (*pair.target, END), strict=True)]
    assert pronoun == right
    assert share == pytest.approx(np.mean(words))


def test_changed_weights_are_refused(tmp_path: Path) -> None:
    for name in NAMES:
        distance.weights_of(name, tmp_path).write_bytes(distance.weights_of(name).read_bytes())
    distance.write(distance.read(), tmp_path)
    contest.load(tmp_path)
    file = distance.weights_of("lstm", tmp_path)
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(ModelFilesDamaged, match="python -m attnviz distances"):
        contest.load(tmp_path)


def test_weights_are_small_enough_to_ship() -> None:
    for name in NAMES:
        assert distance.weights_of(name).stat().st_size < 600_000


@pytest.mark.parametrize("inserted", [0, pytest.param(LONGEST_LEARNED, marks=pytest.mark.everything)])
def test_what_is_written_down_is_what_the_shipped_weights_do(inserted: int) -> None:
    written, networks = distance.read(), contest.load()
    assert (written.sentences, written.longest_learned) == (SENTENCES, LONGEST_LEARNED)
    assert written.tuned_on == len(contest.to_tune_on())
    sentences = to_measure(SENTENCES, inserted)
    words = np.mean([sentence.words_apart for sentence in sentences])
    assert written.words[inserted] == pytest.approx(words)
    pairs = [sentence.pair for sentence in sentences]
    for name in NAMES:
        model = copy.deepcopy(getattr(networks, name).model).requires_grad_()
        exact, share, pronoun, gradient = contest.measured(model, pairs)
        kept = written.chosen(name)[0]
        expected = kept.points[inserted]
        # Another processor adds up in another order: a sentence on the edge may fall to the other side.
        assert exact == pytest.approx(expected.exact, abs=2)
        assert share == pytest.approx(expected.words, abs=0.002)
        assert pronoun == pytest.approx(expected.pronoun, abs=2)
        assert gradient == pytest.approx(expected.gradient, rel=0.02)
        untrained = contest.measured(contest.build(name, kept.seed), pairs)[-1]
        assert untrained == pytest.approx(expected.untrained, rel=0.02)
    forgetful = contest.measured(recurrent.build(SEEDS[0], forget_bias=0.0), pairs)[-1]
    assert written.forgetful[inserted] == pytest.approx(forgetful, rel=0.02)


def test_every_network_was_tuned_and_trained_alike() -> None:
    found = distance.read()
    for name in NAMES:
        tried = [(run.learning_rate, run.seed) for some in found.by_rate(name) for run in some]
        assert tried == [*product(contest.LEARNING_RATES, contest.SEEDS)]
    assert {run.steps for run in found.runs} == {contest.STEPS}


def test_the_heads_written_down_look_as_far_as_is_written_down() -> None:
    transformer, written = contest.load().transformer, distance.read().looks
    few = to_measure(20, LONGEST_LEARNED)
    rows = [contest.pronoun_rows(transformer, sentence) for sentence in few]
    across, head = [looks[..., -2:].sum(dim=-1) for _, looks in rows], written.across
    assert np.mean([weights[head.layer, head.head] for weights in across]) == pytest.approx(
        head.weights[LONGEST_LEARNED], abs=0.15
    )
    for gender, head in written.back.items():
        weights = [
            looks[head.layer, head.head, sentence.named.start + 1 : sentence.named.stop + 1].sum()
            for sentence, (looks, _) in zip(few, rows, strict=True)
            if sentence.pair.target[sentence.it.target] == gender
        ]
        assert np.mean(weights) == pytest.approx(head.weights[LONGEST_LEARNED], abs=0.15)


def test_a_mean_hides_no_second_head() -> None:
    transformer, written = contest.load().transformer, distance.read().looks
    for sentence in to_measure(20, 0):
        looks, _ = contest.pronoun_rows(transformer, sentence)
        pronoun = sentence.pair.target[sentence.it.target]
        [head] = [head for gender, head in written.back.items() if gender == pronoun]
        assert looks[head.layer, head.head, sentence.named.start + 1 : sentence.named.stop + 1].sum() > 0.5


def test_one_length_has_one_point() -> None:
    written = distance.read()
    for head in (*written.looks.back.values(), written.looks.across):
        assert len(written.words) == len(head.weights) == MOST + 1
    assert {len(run.points) for run in written.runs} == {len(written.forgetful)} == {MOST + 1}
