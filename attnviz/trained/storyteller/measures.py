"""Measures: what a storyteller can do with what it never learned from, and which heads copy."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from attnviz.interventions.edit import Edit, Edits
from attnviz.trained.storyteller import grammar
from attnviz.trained.storyteller.figures import Figures, Heads, Silencing, with_role
from attnviz.trained.storyteller.grammar import VOCABULARY
from attnviz.trained.storyteller.storyteller import Storyteller
from attnviz.trained.storyteller.tasks import ITEMS, SAID_TWICE, TASKS, Item, items
from attnviz.trained.vocabulary import PAD
from attnviz.transformer.decoder_only import DecoderOnlySteps


def right(storyteller: Storyteller, asked: Sequence[Item], edits: Edits = ()) -> int:
    """How many items are answered right: the right word is the likeliest, of its choices or of all.

    Args:
        edits: the same for each item.
    """
    ids = [torch.tensor(VOCABULARY.ids(item.words)) for item in asked]
    padded = pad_sequence(ids, batch_first=True, padding_value=VOCABULARY.ids([PAD])[0])
    logits = storyteller.steps(padded, [edits] * len(asked) if edits else ()).logits
    said = 0
    for item, of_text, read in zip(asked, logits, ids, strict=True):
        choices = VOCABULARY.ids(item.choices or VOCABULARY.words)
        likeliest = choices[int(of_text[len(read) - 1, choices].argmax())]
        said += VOCABULARY.word(likeliest) == item.right
    return said


class HeadScores(NamedTuple):
    """Where heads look in random words that are said twice, on average over the second time.

    Attributes:
        previous_word: the weight of the word before.
        prefix_matching: the weight of the word that followed when this one was said first (Olsson et al.
            2022): an induction head has much of it.
    """

    previous_word: Float[Tensor, "layer head"]
    prefix_matching: Float[Tensor, "layer head"]


def head_scores(storyteller: Storyteller, edits: Edits = (), texts: int = ITEMS, seed: int = 1) -> HeadScores:
    """The scores of all heads, or of those of a model with these edits."""
    return scores_of(storyteller.steps(said_twice(texts, seed), [edits] * texts if edits else ()))


def said_twice(texts: int, seed: int = 1) -> Int[Tensor, "text token"]:
    """So many texts of `SAID_TWICE` random words, each said twice."""
    dice = Random(seed)  # noqa: S311 - words are no secret
    return torch.tensor([VOCABULARY.ids(grammar.said_twice(dice, SAID_TWICE)) for _ in range(texts)])


def scores_of(steps: DecoderOnlySteps) -> HeadScores:
    """The scores in one pass over such texts."""
    weights = torch.stack([layer.attention.attention.weights for layer in steps.layers]).mean(dim=1)
    again = torch.arange(1 + SAID_TWICE, 1 + 2 * SAID_TWICE)
    return HeadScores(
        weights[..., again, again - 1].mean(dim=-1),
        weights[..., again, again - SAID_TWICE + 1].mean(dim=-1),
    )


def measure(storyteller: Storyteller) -> Figures:
    """All figures of a storyteller."""
    asked = {task: items(task) for task in TASKS}

    def all_right(edits: Edits = ()) -> dict[str, int]:
        return {task: right(storyteller, some, edits) for task, some in asked.items()}

    def silenced(heads: Heads) -> Silencing:
        edits = tuple(Edit("decoder", layer - 1, head - 1) for layer, head in heads)
        return Silencing(heads, all_right(edits), _rounded(head_scores(storyteller, edits).prefix_matching))

    scores = head_scores(storyteller)
    previous_word, prefix_matching = _rounded(scores.previous_word), _rounded(scores.prefix_matching)
    groups: dict[Heads, None] = {}  # in order, each once
    for heads in map(with_role, (previous_word, prefix_matching)):
        groups |= dict.fromkeys([*((head,) for head in heads), *([heads] if heads else [])])
    return Figures(ITEMS, all_right(), previous_word, prefix_matching, tuple(map(silenced, groups)))


def _rounded(scores: Tensor) -> list[list[float]]:
    return [[round(score, 4) for score in layer] for layer in scores.tolist()]
