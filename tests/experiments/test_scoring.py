"""Scores of heads: sums, halves, intervals and baselines, and the scores of a text."""

from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attnviz
from attnviz.analysis.intervals import mean_interval, wilson
from attnviz.errors import AttnvizError
from attnviz.experiments import by_rule, head_tests, scoring
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.scoring import COLUMNS, HeadTest, Scored, Scores, Unit, measure, rows
from attnviz.trace import Doubles

RULES = head_tests.find("rules")
LINES = (
    *("The dog did not cross the road as it was too tired.", "", "Hello!", "word " * 600, "   "),
    *("Embeddings of embeddings, and so on.", "Hello.", "A cat sat.", "Cats, cats and cats: all of them."),
)


def summed(scores: Doubles, unit: Unit = "share") -> Scores:
    """Return the sums of these scores, [example, layer, head]; the attention weights are half the scores."""
    test: HeadTest[Doubles] = HeadTest(
        "made",
        "How much",
        by_rule.SENTENCES,  # type: ignore[arg-type]  # not used
        lambda read: Scored(
            read, read / 2, {"tenth": np.full(read.shape, 0.1), "fifth": np.full((len(read), 1, 1), 0.2)}
        ),
        unit,
    )
    layers = range(scores.shape[1])
    each = [Scores.of(test, number, row[None], layers, len(layers)) for number, row in enumerate(scores)]
    return reduce(add, each, Scores.empty(test, *scores.shape[1:]))


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 80), st.booleans())
def test_sums_equal_the_statistics_of_the_examples(seed: int, examples: int, is_right: bool) -> None:
    random = np.random.default_rng(seed)
    scores = random.random((examples, 2, 3))
    if is_right:
        scores = np.round(scores)
    scores[random.random((examples, 2)) < 0.1] = np.nan
    found = summed(scores, "right" if is_right else "share")
    for layer, head in np.ndindex(2, 3):
        head_scores = scores[~np.isnan(scores[:, layer, head]), layer, head]
        assert found.count[:, layer].sum() == len(head_scores)
        if not len(head_scores):
            assert np.isnan(found.mean[layer, head])
            continue
        assert found.mean[layer, head] == pytest.approx(head_scores.mean())
        assert found.weight[layer, head] == pytest.approx(head_scores.mean() / 2)
        interval = (
            wilson(int(head_scores.sum()), len(head_scores))
            if is_right
            else mean_interval(float(head_scores.mean()), float(head_scores.var()), len(head_scores))
        )
        ends = [end[layer, head] for end in found.interval]
        assert ends == pytest.approx(interval, abs=1e-6, nan_ok=True)
    if found.count.all():
        assert found.baseline[0] == "fifth"
        np.testing.assert_allclose(found.baseline[1], 0.2)
        halves = [np.nanmean(scores[half::2], axis=0) for half in (0, 1)]
        best = found.best
        assert best is not None
        assert halves[0][best.layer, best.head] == pytest.approx(halves[0].max())
        assert best.score == pytest.approx(halves[1][best.layer, best.head])
        assert best.examples == np.count_nonzero(~np.isnan(scores[1::2, best.layer, 0]))
        assert best.baseline == pytest.approx(0.2)
    else:
        assert found.best is None


def test_head_with_a_tiny_weight_is_not_the_best() -> None:
    test: HeadTest[Doubles] = HeadTest(
        "made",
        "How often",
        by_rule.SENTENCES,  # type: ignore[arg-type]  # not used
        lambda read: Scored(read, np.array([[[0.01, 0.06]]]), {}),
        "right",
    )
    each = [Scores.of(test, number, np.array([[[1.0, number % 2]]]), [0], 1) for number in range(8)]
    best = reduce(add, each).best
    assert best is not None
    assert (best.head, best.score) == (1, 1.0)


def test_layers_without_attention_weights_have_no_score() -> None:
    test: HeadTest[Doubles] = HeadTest(
        "made",
        "How much",
        by_rule.SENTENCES,  # type: ignore[arg-type]  # not used
        lambda read: Scored(read, read, {}),
    )
    found = Scores.of(test, 0, np.array([[[0.25], [0.5]]]), [1, 3], 4)
    np.testing.assert_array_equal(found.mean[:, 0], [np.nan, 0.25, np.nan, 0.5])


def test_items_of_one_sentence_are_not_independent() -> None:
    """Items that agree within each sentence do not narrow the interval."""
    random = np.random.default_rng(5)
    right = random.random((40, 1, 2)) < 0.6
    source: Any = by_rule.SENTENCES  # not used
    test: HeadTest[Doubles] = HeadTest(
        "made", "How often", source, lambda read: Scored(read, read, {}), "right"
    )
    repeated = reduce(
        add,
        [
            Scores.of(test, at, np.repeat(one[None], 5, 0).astype(float), [0], 1)
            for at, one in enumerate(right)
        ],
    )
    single = reduce(
        add, [Scores.of(test, at, one[None].astype(float), [0], 1) for at, one in enumerate(right)]
    )
    np.testing.assert_array_equal(repeated.mean, single.mean)
    np.testing.assert_allclose(repeated.interval, single.interval, atol=0.06)  # n = 40, not 200
    all_right = reduce(add, [Scores.of(test, at, np.ones((3, 1, 1)), [0], 1) for at in range(10)])
    assert [float(end[0, 0]) for end in all_right.interval] == [pytest.approx(wilson(10, 10)[0]), 1.0]


def test_rows_have_the_numbers_of_each_head() -> None:
    scores = np.array([[[0.0, 1.0]], [[1.0, 1.0]]])
    found = [dict(zip(COLUMNS, row, strict=True)) for row in rows("made", summed(scores, "right"))]
    assert [(row["layer"], row["head"], row["score"]) for row in found] == [(1, 2, 1.0), (1, 1, 0.5)]
    assert [row["low"] for row in found] == pytest.approx([wilson(2, 2)[0], wilson(1, 2)[0]])
    assert all((row["examples"], row["baseline"], row["test"]) == (2, "fifth", "made") for row in found)
    few = next(rows("made", summed(scores)))
    assert few[4:6] == ("", "")  # too few examples for an interval of a mean


def test_scores_equal_the_mean_over_single_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "PART", 3)
    steps = list(measure(RULES, Corpus.from_text("\n".join(LINES)), "minilm"))
    done = [step.done for step in steps]
    assert done == sorted(done)
    assert (done[0], done[-1], steps[-1].total) == (0, len(LINES), len(LINES))
    previous = steps[-1].found["previous token"]
    expected = []
    for line in (0, 2, 5, 6, 7, 8):
        weights = attnviz.trace(LINES[line], model="minilm").stack("encoder")[:, :, 1:-1, 1:-1]
        rescaled = weights / weights.sum(axis=-1, keepdims=True)
        expected.append(np.diagonal(rescaled, -1, axis1=-2, axis2=-1).mean(axis=-1))
    np.testing.assert_allclose(previous.mean, np.mean(expected, axis=0), atol=1e-6)
    assert previous.count[:, 0].tolist() == [4, 2]
    assert previous.skipped == 1
    assert "602 tokens; the model reads at most 512" in previous.reasons[0].reason


def test_invalid_lines_are_skipped_except_in_annotated_texts() -> None:
    content = "A dog.\n" * 10 + "caf\udce9\n"
    *_, last = measure(RULES[:1], Corpus.from_text(content, "x"), "minilm")
    found = last.found["previous token"]
    assert (found.examples, found.skipped, found.reasons[0].text) == (10, 1, "caf?")
    with pytest.raises(
        AttnvizError, match="Line 11 of “x”: This line has null characters or bytes that are not UTF-8"
    ):
        next(measure(head_tests.find("grammar"), Corpus.from_text(content, "x"), "minilm"))
