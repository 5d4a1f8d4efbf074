"""The page's sentence: what the networks do with it is what their own weights give, computed another way."""

import numpy as np
import pytest
import torch

from attnviz.app.learn.long_distances.compute import MarkedWord, NotStretchable, marked, networks, stretch
from attnviz.errors import UnknownWords
from attnviz.trained.translator import distance
from attnviz.trained.translator.lengthening import MOST
from attnviz.trained.translator.translator import source_of, target_of
from attnviz.trained.translator.vocabulary import FRENCH

TIRED = "The dog did not cross the road as it was too tired."
NARROW = "The dog did not cross the road as it was too narrow."


def test_the_sentence_as_it_is() -> None:
    shown = stretch(TIRED, 0, 0)
    assert " ".join(shown.source) == "the dog did not cross the road as it was too tired"
    assert " ".join(shown.target) == "le chien n' a pas traversé la route car il était trop fatigué"
    assert set(shown.source_clauses) == set(shown.target_clauses) == {0}
    assert (shown.source[shown.referent], shown.source[shown.pronoun]) == ("dog", "it")
    assert shown.words_apart == 7
    assert shown.target[shown.choice] == "il"
    other = stretch(NARROW, 0, 0)
    assert other.target[other.choice] == "elle"


@pytest.mark.parametrize("clauses", [1, MOST])
def test_clauses_are_put_in_between(clauses: int) -> None:
    shown = stretch(TIRED, clauses, 3)
    assert set(shown.source_clauses) == set(shown.target_clauses) == set(range(clauses + 1))
    kept = [word for word, clause in zip(shown.source, shown.source_clauses, strict=True) if not clause]
    assert " ".join(kept) == "the dog did not cross the road as it was too tired"
    kept = [word for word, clause in zip(shown.target, shown.target_clauses, strict=True) if not clause]
    assert " ".join(kept) == "le chien n' a pas traversé la route car il était trop fatigué"
    assert stretch(TIRED, clauses - 1, 3).source != shown.source
    assert shown.words_apart == shown.pronoun - shown.referent


def test_longer_means_more_of_the_same() -> None:
    short, long = stretch(TIRED, 3, 5), stretch(TIRED, 4, 5)
    inserted = [word for word, clause in zip(long.source, long.source_clauses, strict=True) if 0 < clause < 4]
    assert inserted == [
        word for word, clause in zip(short.source, short.source_clauses, strict=True) if clause
    ]


def test_only_the_lstm_keeps_as_much_however_long_the_sentence() -> None:
    short, long = stretch(TIRED, 0, 0), stretch(TIRED, 5, 0)
    assert short.lstm.kept.shape == long.lstm.kept.shape == (2, 128)
    for shown in (short, long):
        read = len(shown.source) + 1
        assert shown.lstm_attention.kept.shape == (read + 1, 128)
        assert shown.transformer.kept.shape == (read, 64)


def test_the_numbers_are_the_networks_own() -> None:
    shown = stretch(NARROW, 2, 1)
    trained = networks()
    source = torch.tensor([source_of(shown.source)])
    target = torch.tensor([target_of(shown.target)])
    row = shown.target.index("elle", shown.target.index("car"))
    il, elle = FRENCH.ids(("il", "elle"))
    with torch.no_grad():
        lstm, attending, other = (network.model(source, target) for network in trained)
    for attempt, logits in (
        (shown.lstm, lstm.logits),
        (shown.lstm_attention, attending.logits),
        (shown.transformer, other.logits),
    ):
        powers = np.exp(logits[0, row].numpy().astype(np.float64))
        assert attempt.il == pytest.approx(powers[il] / powers.sum(), abs=1e-5)
        assert attempt.elle == pytest.approx(powers[elle] / powers.sum(), abs=1e-5)
    memory = np.concatenate([lstm.memory.hidden, lstm.memory.cell])
    np.testing.assert_allclose(shown.lstm.kept, memory, atol=1e-6)
    kept = np.concatenate([attending.outputs[0], attending.memory.cell])
    np.testing.assert_allclose(shown.lstm_attention.kept, kept, atol=1e-6)
    np.testing.assert_allclose(shown.transformer.kept, other.encoder.output[0], atol=1e-5)
    assert (shown.choice, shown.target[shown.choice]) == (row, "elle")
    assert [shown.target[place] for place in shown.named] == ["la", "route"]
    measured = distance.read().looks
    assert shown.across_head == measured.across.name
    at_noun = {}
    for layer, steps in enumerate(other.decoder.layers, start=1):
        for head, weights in enumerate(steps.attention.attention.weights[0, :, row].numpy(), start=1):
            at_noun[f"{layer}-{head}"] = sum(weights[place + 1] for place in shown.named)
            if shown.back_head == f"{layer}-{head}":
                np.testing.assert_allclose(shown.back, weights[1 : row + 1], atol=1e-5)
                assert weights[row + 1 :].sum() == 0
    assert shown.back_head == max(at_noun, key=lambda name: at_noun[name])
    layer = other.decoder.layers[measured.across.layer]
    np.testing.assert_allclose(
        shown.across, layer.cross_attention.attention.weights[0, measured.across.head, row], atol=1e-5
    )
    assert shown.across.sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("written", "right", "expected"),
    [
        ("a b c", "a b c", "a b c"),
        ("a x c", "a b c", "a x! c"),
        ("a c", "a b c", "a b? c"),
        ("a b x c", "a b c", "a b x! c"),
        ("x", "a b c", "x! b? c?"),
        ("", "a b", "a? b?"),
        ("x y z", "", "x! y! z!"),
        ("b c d", "a b c", "a? b c d!"),
    ],
)
def test_errors_are_marked(written: str, right: str, expected: str) -> None:
    signs = {"right": "", "wrong": "!", "missing": "?"}
    found = [word.text + signs[word.mark] for word in marked(written.split(), right.split())]
    assert " ".join(found) == expected


def test_right_words_are_counted() -> None:
    shown = stretch(TIRED, MOST, 0)
    for attempt in (shown.lstm, shown.lstm_attention, shown.transformer):
        assert attempt.right == sum(word.mark == "right" for word in attempt.marked)
        assert [word.text for word in attempt.marked if word.mark != "missing"] == list(attempt.words)
        kept = [word.text for word in attempt.marked if word.mark == "right"]
        rest = iter(shown.target)
        assert all(word in rest for word in kept)
    assert isinstance(shown.lstm.marked[0], MarkedWord)


@pytest.mark.parametrize(
    "text",
    [
        "The road was narrow.",
        "As it was too tired, the dog did not cross the road.",
        "The man did not cross the road as it was too narrow.",
        "dog dog dog",
        "it",
    ],
)
def test_a_sentence_without_a_place_is_refused_kindly(text: str) -> None:
    with pytest.raises(NotStretchable, match="as it was tired"):
        stretch(text, 2, 0)


@pytest.mark.parametrize(("animal", "thing"), [("cat", "cake"), ("cat", "street")])
def test_what_could_mean_either_is_refused_for_that_reason(animal: str, thing: str) -> None:
    verb = {"cake": "eat", "street": "cross"}[thing]
    with pytest.raises(NotStretchable, match=f"Both a {animal} and a {thing} could be old") as refused:
        stretch(f"The {animal} did not {verb} the {thing} as it was too old.", 2, 0)
    assert "no place" not in str(refused.value)


def test_the_sentence_that_a_refusal_offers_can_be_stretched() -> None:
    with pytest.raises(NotStretchable) as refused:
        stretch("The road was narrow.", 2, 0)
    offered = str(refused.value).rsplit(": ", 1)[1]
    assert stretch(offered, 2, 0).source[1] == "dog"


def test_unknown_words_are_named() -> None:
    with pytest.raises(UnknownWords, match="zebra"):
        stretch("The zebra did not cross the road as it was too tired.", 0, 0)
