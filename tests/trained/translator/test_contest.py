"""Two networks, compared: nothing is learned that is asked, and what is written down is what they do."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from attnviz.errors import ModelFilesDamaged
from attnviz.trained.translator import contest, distance, recurrent, splits
from attnviz.trained.translator.contest import LONGEST_LEARNED, SENTENCES, to_learn_from, to_measure
from attnviz.trained.translator.distance import GENDERS, NAMES, Name
from attnviz.trained.translator.exercises import Exercises
from attnviz.trained.translator.lengthening import MOST
from attnviz.trained.translator.lexicon import NOUN
from attnviz.trained.translator.recurrent import RecurrentTranslator
from attnviz.trained.translator.translator import Translator, source_of, target_of
from attnviz.trained.translator.vocabulary import FRENCH
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


@pytest.mark.parametrize("name", NAMES)
def test_a_training_writes_what_can_be_measured(
    name: Name, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = {
        each: replace(settings, steps=3, sentences=300, batch=16, warm_up=1)
        for each, settings in contest.SETTINGS.items()
    }
    monkeypatch.setattr(contest, "SETTINGS", quick)
    file = distance.weights_of(name, tmp_path)
    steps = list(contest.train(name, file))
    assert [step for step, _ in steps] == [1, 2, 3]
    assert all(loss > 0 for _, loss in steps)
    loaded = (RecurrentTranslator if name == "recurrent" else Translator).load(file)
    first = next(contest.build(name).parameters())
    assert not torch.allclose(next(loaded.model.parameters()), first, atol=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_reactions_are_those_of_small_changes(name: Name) -> None:
    model = contest.build(name).double().eval()
    sentence = to_measure(2, 0)[0]
    exercises = Exercises.of([sentence.pair])
    odds, reaction = contest.reactions(model, exercises)
    table = dict(model.named_parameters())[
        "source_table.weight" if name == "recurrent" else "source_embedding.table.weight"
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
    model = contest.build("transformer")
    assert isinstance(model, EncoderDecoder)
    transformer = Translator(model, contest.SETTINGS["transformer"].sizes, {})
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
    back_heads, across_head = contest.looking_heads(transformer, [to_measure(4, n) for n in range(3)])
    for name, found in [*back_heads.items(), ("across", across_head)]:
        means = np.array([np.mean(of_length, axis=0) for of_length in looks[name]])  # [length, layer, head]
        assert (found.layer, found.head) == np.unravel_index(means.sum(axis=0).argmax(), means.shape[1:])
        assert found.weights == pytest.approx(means[:, found.layer, found.head], abs=1e-6)


def test_a_measure_counts_what_is_right() -> None:
    pairs = [sentence.pair for sentence in to_measure(6, 0)]

    class Knowing(RecurrentTranslator):
        def translate_all(self, sources: object) -> list[tuple[str, ...]]:  # noqa: ARG002 - it knows
            return [*(pair.target for pair in pairs[:4]), pairs[4].target[3:4], ()]

    model = recurrent.build(seed=1)
    point = contest.measured(Knowing(model), recurrent.build(seed=1), pairs)
    assert point.exact == 4
    assert point.words == pytest.approx((4 + 1 / len(pairs[4].target)) / 6)
    il, elle = FRENCH.ids(("il", "elle"))
    right = 0
    for pair in pairs:
        assert pair.pronoun is not None
        logits = model(torch.tensor([source_of(pair.source)]), torch.tensor([target_of(pair.target)])).logits
        chosen = "il" if logits[0, pair.pronoun.target, il] > logits[0, pair.pronoun.target, elle] else "elle"
        right += chosen == pair.target[pair.pronoun.target]
    assert point.pronoun == right
    assert point.gradient == point.untrained


@pytest.mark.parametrize(
    ("words", "target", "right"),
    [
        ("a b c", "a b c", 3),
        ("a x c", "a b c", 2),
        ("c a b", "a b c", 2),
        ("", "a b c", 0),
        ("a b c d", "a b", 2),
    ],
)
def test_right_words_are_those_in_order(words: str, target: str, right: int) -> None:
    assert contest.right_words(words.split(), target.split()) == right


def test_changed_weights_are_refused(tmp_path: Path) -> None:
    for name in NAMES:
        distance.weights_of(name, tmp_path).write_bytes(distance.weights_of(name).read_bytes())
    distance.write(distance.read(), tmp_path)
    contest.load(tmp_path)
    file = distance.weights_of("recurrent", tmp_path)
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(ModelFilesDamaged, match="python -m attnviz distances"):
        contest.load(tmp_path)


def test_weights_are_small_enough_to_ship() -> None:
    for name in NAMES:
        assert distance.weights_of(name).stat().st_size < 500_000


def test_what_is_written_down_is_what_the_shipped_weights_do() -> None:
    written = distance.read()
    assert (written.sentences, written.longest_learned) == (SENTENCES, LONGEST_LEARNED)
    recurrent_network, transformer = contest.load()
    asked: list[tuple[int, RecurrentTranslator | Translator, Name]] = [
        (0, transformer, "transformer"),
        (0, recurrent_network, "recurrent"),
        (LONGEST_LEARNED, recurrent_network, "recurrent"),
    ]
    for inserted, network, name in asked:
        sentences = to_measure(SENTENCES, inserted)
        words = np.mean([sentence.words_apart for sentence in sentences])
        assert written.words[inserted] == pytest.approx(words)
        pairs = [sentence.pair for sentence in sentences]
        point = contest.measured(network, contest.build(name), pairs)
        expected = written.networks[name].points[inserted]
        # Another processor adds up in another order: a sentence on the edge may fall to the other side.
        assert point.exact == pytest.approx(expected.exact, abs=2)
        assert point.pronoun == pytest.approx(expected.pronoun, abs=2)
        assert point.words == pytest.approx(expected.words, abs=0.005)
        assert point.gradient.middle == pytest.approx(expected.gradient.middle, rel=0.02)
        assert point.untrained.middle == pytest.approx(expected.untrained.middle, rel=0.02)


def test_the_heads_written_down_look_as_far_as_is_written_down() -> None:
    written = distance.read()
    _, transformer = contest.load()
    few = to_measure(20, LONGEST_LEARNED)
    back, across = contest.looking_heads(transformer, [few])
    for found, expected in (
        *((back[gender], written.back[gender]) for gender in GENDERS),
        (across, written.across),
    ):
        assert (found.layer, found.head) == (expected.layer, expected.head)
        assert found.weights[0] == pytest.approx(expected.weights[LONGEST_LEARNED], abs=0.15)


def test_a_mean_hides_no_second_head() -> None:
    _, transformer = contest.load()
    written = distance.read()
    for sentence in to_measure(20, 0):
        looks, _ = contest.pronoun_rows(transformer, sentence)
        pronoun = sentence.pair.target[sentence.it.target]
        [head] = [head for gender, head in written.back.items() if gender == pronoun]
        assert looks[head.layer, head.head, sentence.named.start + 1 : sentence.named.stop + 1].sum() > 0.5


def test_one_length_has_one_point() -> None:
    written = distance.read()
    for head in (*written.back.values(), written.across):
        assert len(written.words) == len(head.weights) == MOST + 1
    for network in written.networks.values():
        assert len(network.points) == MOST + 1
