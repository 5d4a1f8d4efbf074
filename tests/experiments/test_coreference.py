"""Which head resolves the pronoun: worked by hand, and by the bundled BERT beside transformers itself."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
import torch
from attnviz.experiments.coreference import Verdicts, baselines, resolve

from attnviz.analysis.words import Span, positions
from attnviz.capture import loading
from attnviz.errors import AttnvizError
from attnviz.experiments import pairs
from attnviz.experiments.pairs import Pair, SentenceOfPair
from attnviz.experiments.progress import Progress
from attnviz.trace import Trace
from tests import reference_bert
from tests.experiments.hand_made import tokens_of, trace_of

LINES = """
The [dog] saw the [elephant] as *it* {sat > dog | ran > elephant}.
The [cat] saw the [mouse] as *it* {slept > cat | hid > mouse}.
The [hen] {bit > fox | fled > hen} the [fox] so *it* cried.
"""
THREE = pairs.parse(LINES)

# For each pair and reading, how much a head's pronoun looks at either noun.
SIDES: Mapping[tuple[int, int], dict[int, tuple[float, float]]] = {
    (0, 0): {0: (0.5, 0.2), 1: (0.3, 0.4), 2: (0.1, 0.1)},
    (0, 1): {0: (0.2, 0.5), 1: (0.5, 0.4), 2: (0.1, 0.3)},
    (1, 0): {0: (0.4, 0.2), 1: (0.1, 0.6), 2: (0.2, 0.0)},
    (1, 1): {0: (0.3, 0.2), 1: (0.2, 0.6), 2: (0.3, 0.0)},
    (2, 0): {0: (0.1, 0.2), 1: (0.3, 0.2), 2: (0.0, 0.0)},
    (2, 1): {0: (0.6, 0.2), 1: (0.3, 0.4), 2: (0.2, 0.1)},
}


def by_hand(pair: int, which: int, reading: SentenceOfPair) -> Trace:
    """One layer of three heads; a word of two pieces gets its weight in two halves."""
    tokens = tokens_of(reading.text)
    weights = np.zeros((3, len(tokens), len(tokens)), dtype=np.float32)
    for head, sides in SIDES[pair, which].items():
        [query] = positions(tokens, reading.pronoun)
        for candidate, weight in zip(reading.candidates, sides, strict=True):
            pieces = positions(tokens, candidate)
            weights[head, query, list(pieces)] = weight / len(pieces)
    return trace_of(reading.text, [weights])


@pytest.fixture
def trace() -> Callable[[str], Trace]:
    """Reads the three pairs with the weights above."""
    known = {
        reading.text: by_hand(number, which, reading)
        for number, pair in enumerate(THREE)
        for which, reading in enumerate(pair.readings)
    }
    return known.__getitem__


def last(steps: list[Progress[Verdicts]]) -> Verdicts:
    """What was found in the end."""
    return steps[-1].found


def test_the_figures_are_those_worked_by_hand(trace: Callable[[str], Trace]) -> None:
    found = last(list(resolve(THREE, trace, "encoder")))
    np.testing.assert_allclose(found.weights[0, 0, 0, :, 0, 0], [0.5, 0.2], rtol=1e-6)
    # Head 1 turns the right way, the wrong way in the third pair; head 3 has a tie, which is not right.
    assert found.right()[:, :, 0, :].tolist() == [
        [[True, False, False], [True, False, True]],
        [[True, False, True], [False, True, False]],
        [[True, False, False], [True, False, True]],
    ]
    scores = found.scores()
    assert scores.total == 3
    assert scores.sentences.tolist() == [[5, 1, 3]]
    assert scores.pairs.tolist() == [[2, 0, 0]]
    assert scores.wrong.tolist() == [[0, 2, 0]]
    assert scores.turns.tolist() == [[2, 2, 0]]
    # .4/.6 in the first sentence and .3/.5 in the second: head 1 leans right in the second pair, too.
    assert scores.leans.tolist() == [[3, 0, 1]]
    np.testing.assert_allclose(scores.given[0], [0.6, 4.3 / 6, 1.4 / 6], rtol=1e-5)
    assert scores.ranking == [(0, 0), (0, 2), (0, 1)]


def test_luck_is_counted_over_all_heads(trace: Callable[[str], Trace]) -> None:
    scores = last(list(resolve(THREE, trace, "encoder"))).scores()
    # Two heads turn twice, one never: the best of two times two tosses.
    assert scores.best_by_chance == pytest.approx((0 * 1 + 1 * 8 + 2 * 7) / 16)
    assert scores.by_chance(0, 0) == pytest.approx(3 / 4)
    assert scores.by_chance(0, 1) == 1


def test_rounding_is_no_lean() -> None:
    [pair] = pairs.parse(LINES.splitlines()[1])
    for factor, leans in ((1.0005, 0), (1.002, 1)):
        weights = np.full((2, 1, 2, 2, 1, 1), 0.25, dtype=np.float32)
        weights[0, 0, 0, 0] *= factor
        assert Verdicts((pair,), weights, ()).scores().leans.item() == leans


def test_nouns_look_by_the_mean_of_their_pieces() -> None:
    [pair] = pairs.parse(LINES.splitlines()[1])
    traces = {}
    for reading, sides in zip(pair.readings, ((0.6, 0.2), (0.1, 0.2)), strict=True):
        tokens = tokens_of(reading.text)
        [key] = positions(tokens, reading.pronoun)
        weights = np.zeros((1, len(tokens), len(tokens)), dtype=np.float32)
        for candidate, weight in zip(reading.candidates, sides, strict=True):
            weights[0, list(positions(tokens, candidate)), key] = weight
        traces[reading.text] = trace_of(reading.text, [weights])
    found = last(list(resolve([pair], traces.__getitem__, "encoder")))
    assert found.scores("nouns").pairs.tolist() == [[1]]
    assert found.scores("nouns").given.item() == pytest.approx((0.6 + 0.2 + 0.1 + 0.2) / 4)
    assert found.scores("pronoun").sentences.tolist() == [[0]]


def test_each_step_is_complete_in_itself_and_stays_as_it_was(trace: Callable[[str], Trace]) -> None:
    steps = list(resolve(THREE, trace, "encoder"))
    assert [(step.done, step.total) for step in steps] == [(1, 3), (2, 3), (3, 3)]
    assert [step.found.scores().pairs.tolist() for step in steps] == [[[1, 0, 0]], [[1, 0, 0]], [[2, 0, 0]]]
    for number, step in enumerate(steps):
        alone = last(list(resolve(THREE[: number + 1], trace, "encoder")))
        np.testing.assert_array_equal(step.found.weights, alone.weights)
        assert not step.found.weights.flags.writeable


def test_what_cannot_be_read_is_kept_with_the_reason(trace: Callable[[str], Trace]) -> None:
    strange = pairs.parse(LINES + "The [sphinx] saw the [hydra] as *it* {sat > sphinx | ran > hydra}.")
    only_known = loading.load("translator").trace

    def reads(text: str) -> Trace:
        return only_known(text) if "sphinx" in text else trace(text)

    found = last(list(resolve(strange, reads, "encoder")))
    assert found.pairs == THREE
    assert [unread.text for unread in found.unread] == [r.text for r in strange[3].readings]
    assert "“sphinx”" in found.unread[0].why


def test_nothing_read_is_told_too() -> None:
    strange = pairs.parse("The [sphinx] saw the [hydra] as *it* {sat > sphinx | ran > hydra}.")
    found = last(list(resolve(strange, loading.load("translator").trace, "encoder")))
    assert found.pairs == ()
    assert found.scores().ranking == []


def test_another_error_is_nobodys_sentence() -> None:
    def broken(_text: str) -> Trace:
        raise AttnvizError("The files have gone.")

    with pytest.raises(AttnvizError, match="The files have gone"):
        list(resolve(THREE, broken, "encoder"))


def test_a_model_that_looks_only_back_is_asked_only_what_it_can_know() -> None:
    def back(text: str) -> Trace:
        length = len(tokens_of(text))
        mask = np.tril(np.ones((length, length), dtype=np.bool_))
        weights = (mask / mask.sum(axis=1, keepdims=True)).astype(np.float32)
        return trace_of(text, [weights[None]], "decoder", mask)

    found = last(list(resolve(THREE, back, "decoder")))
    assert found.pairs == THREE[2:]
    assert {unread.text for unread in found.unread} == {r.text for p in THREE[:2] for r in p.readings}
    assert "looks only back" in found.unread[0].why


def test_a_pair_of_which_the_tokenizer_loses_a_word_is_left_out(trace: Callable[[str], Trace]) -> None:
    for lost in ("cat", "slept"):

        def loses(text: str, lost: str = lost) -> Trace:
            if lost not in text:
                return trace(text)
            kept = text.replace(lost, " " * len(lost))
            length = len(tokens_of(kept))
            return trace_of(kept, [np.full((3, length, length), 1 / length, dtype=np.float32)])

        found = last(list(resolve(THREE, loses, "encoder")))
        assert found.pairs == (THREE[0], THREE[2])
        assert [unread.text for unread in found.unread] == [reading.text for reading in THREE[1].readings]
        assert found.unread[0].why.startswith("The model’s tokenizer keeps nothing of the pronoun, of one of")


def test_the_baselines_are_counted() -> None:
    nearest, first, coin = baselines(THREE)
    assert (nearest.sentences, nearest.pairs) == (0.5, 0)
    assert (first.sentences, first.pairs) == (0.5, 0)
    assert (coin.sentences, coin.pairs) == (0.5, 0.25)
    text = "The dog slept as it sat near the cat."
    dog, it, cat = (Span(text.index(word), text.index(word) + len(word)) for word in ("dog", "it", "cat"))
    around = pairs.typed(text, text.replace("sat", "ran"), it, (dog, cat))
    nearest, first, _ = baselines([around])
    assert (nearest.sentences, first.sentences) == (0.5, 0.5)


@pytest.fixture(scope="module")
def few() -> tuple[Pair, ...]:
    """Every thirtieth of the pairs that come with attnviz, with a famous one and words of several pieces."""
    return (*pairs.bundled()[::30], pairs.parse(LINES.replace("elephant", "axolotl"))[0])


def test_the_bundled_berts_weights_are_those_of_transformers(few: tuple[Pair, ...]) -> None:
    found = last(list(resolve(few, loading.load("minilm").trace, "encoder")))
    model, tokenizer = reference_bert.model(), reference_bert.tokenizer()
    right = np.zeros((len(few), 2, 6, 12), dtype=bool)
    for number, pair in enumerate(few):
        for which, reading in enumerate(pair.readings):
            given = tokenizer(reading.text, return_tensors="pt", return_offsets_mapping=True)
            offsets = given.pop("offset_mapping")[0].tolist()
            with torch.inference_mode():
                attentions = torch.stack(model(**given, output_attentions=True).attentions)[:, 0]
            places = [
                [place for place, (start, end) in enumerate(offsets) if start < span.end and end > span.start]
                for span in (reading.pronoun, *reading.candidates)
            ]
            it, *nouns = places
            looks = [attentions[:, :, it][..., noun].sum(-1).mean(-1).numpy() for noun in nouns]
            np.testing.assert_allclose(found.weights[0, number, which], np.stack(looks), atol=1e-6)
            right[number, which] = looks[reading.right] > looks[1 - reading.right]
    np.testing.assert_array_equal(found.right(), right)
    np.testing.assert_array_equal(found.scores().pairs, right.all(axis=1).sum(axis=0))
    # What is known of head 4-2: it follows dog / road, and fails on trophy / suitcase.
    assert found.right()[0, :, 3, 1].all()
    [trophy] = list(resolve(pairs.bundled()[8:9], loading.load("minilm").trace, "encoder"))
    assert trophy.found.pairs[0].famous
    assert not trophy.found.right()[0, :, 3, 1].all()
