"""What the shipped storytellers are shipped for, measured again; the stored figures are those."""

import json
from dataclasses import asdict
from functools import cache

import pytest
import torch

from attnviz.analysis.intervals import wilson
from attnviz.cli.storytellers import FIGURES
from attnviz.interventions.edit import Edit
from attnviz.trained.storyteller import measures
from attnviz.trained.storyteller.grammar import VOCABULARY
from attnviz.trained.storyteller.measures import Figures, Item
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.storyteller.storyteller import Storyteller, build

LEAST = {"agreement": 0.98, "pronoun": 0.98, "made-up name": 0.8}


@cache
def storyteller(name: str) -> Storyteller:
    return Storyteller.load(SIZES[name].file)


@cache
def measured(name: str) -> Figures:
    return measures.measure(storyteller(name))


@pytest.mark.parametrize("name", SIZES)
def test_the_stored_figures_are_the_weights_own(name: str) -> None:
    runs = json.loads(FIGURES.read_text("utf-8"))
    (stored,) = [run for run in runs if (run["variant"], run["seed"]) == (name, "0")]
    found = json.loads(json.dumps(asdict(measured(name))))
    assert {key: stored[key] for key in ("items", "right", "silenced", "silenced_right")} == {
        key: found[key] for key in ("items", "right", "silenced", "silenced_right")
    }
    for scores in ("previous_word", "prefix_matching"):
        assert stored[scores] == [pytest.approx(layer, abs=2e-4) for layer in found[scores]]


@pytest.mark.parametrize("name", SIZES)
def test_it_does_what_it_is_shipped_for(name: str) -> None:
    figures = measured(name)
    assert figures.items >= 300
    for task, least in LEAST.items():
        low, _ = wilson(figures.right[task], figures.items)
        assert low >= least, task


def test_scores_worked_by_hand() -> None:
    """A head that sees the word before, and one that sees what followed: in place of the model's weights."""
    network = Storyteller(build(SIZES["storyteller"], 0), {"variant": "storyteller"})
    n = measures.SAID_TWICE
    tokens = 1 + 2 * n
    again = range(1 + n, tokens)
    edits = tuple(
        Edit("decoder", 0, head, row, None, row - back)
        for head, back in ((1, 1), (2, n - 1))
        for row in again
    )
    scores = measures.head_scores(network, edits, texts=2)
    assert scores.previous_word[0, 1] == scores.prefix_matching[0, 2] == 1
    assert scores.previous_word[0, 2] == scores.prefix_matching[0, 1] == 0


def test_an_answer_is_the_likeliest_of_its_choices_at_the_end_of_its_text() -> None:
    name = "storyteller"
    long, short = ["[START]", "Mary", "called", "John", "because"], ["[START]", "Mary"]
    likeliest = [
        VOCABULARY.word(int(storyteller(name).steps(torch.tensor(VOCABULARY.ids(words))).logits[-1].argmax()))
        for words in (long, short)
    ]
    both = [Item(long, likeliest[0]), Item(short, likeliest[1])]
    assert measures.right(storyteller(name), both) == 2
    assert measures.right(storyteller(name), [Item(long, "key"), both[1]]) == 1
    assert measures.right(storyteller(name), [Item(long, "key", ("key",))]) == 1
