"""Evaluation of a trained storyteller on held-out texts, and scores of its induction heads."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from attnviz.interventions.edit import Edit, Edits
from attnviz.trained.storyteller.copying import HeadScores, scores_of, words_twice
from attnviz.trained.storyteller.figures import AblatedHeads, Figures, Heads, with_role
from attnviz.trained.storyteller.grammar import VOCABULARY
from attnviz.trained.storyteller.storyteller import Storyteller
from attnviz.trained.storyteller.tasks import Item
from attnviz.trained.vocabulary import PAD
from training.storyteller_tasks import ITEMS, TASKS, items


def right(storyteller: Storyteller, some: Sequence[Item], edits: Edits = ()) -> int:
    """Count the correct answers: the correct word is the most likely of its choices, or of all words.

    Args:
        edits: Edits that apply to each item.
    """
    ids = [torch.tensor(VOCABULARY.ids(item.words)) for item in some]
    padded = pad_sequence(ids, batch_first=True, padding_value=VOCABULARY.ids([PAD])[0])
    logits = storyteller.steps(padded, [edits] * len(some) if edits else ()).logits
    correct = 0
    for item, of_text, read in zip(some, logits, ids, strict=True):
        choices = VOCABULARY.ids(item.choices or VOCABULARY.words)
        likeliest = choices[int(of_text[len(read) - 1, choices].argmax())]
        correct += VOCABULARY.word(likeliest) == item.right
    return correct


def head_scores(storyteller: Storyteller, edits: Edits = (), texts: int = ITEMS, seed: int = 1) -> HeadScores:
    """Return the scores of all heads, with these edits."""
    return scores_of(storyteller.steps(words_twice(texts, seed), [edits] * texts if edits else ()))


def measure(storyteller: Storyteller) -> Figures:
    """Compute all results of a storyteller."""
    of_task = {task: items(task) for task in TASKS}

    def all_right(edits: Edits = ()) -> dict[str, int]:
        return {task: right(storyteller, some, edits) for task, some in of_task.items()}

    def ablated(heads: Heads) -> AblatedHeads:
        edits = tuple(Edit("decoder", layer - 1, head - 1) for layer, head in heads)
        return AblatedHeads(
            heads, all_right(edits), _rounded(head_scores(storyteller, edits).prefix_matching)
        )

    scores = head_scores(storyteller)
    previous_word, prefix_matching = _rounded(scores.previous_word), _rounded(scores.prefix_matching)
    groups: dict[Heads, None] = {}  # an ordered set
    for heads in map(with_role, (previous_word, prefix_matching)):
        groups |= dict.fromkeys([*((head,) for head in heads), *([heads] if heads else [])])
    return Figures(ITEMS, all_right(), previous_word, prefix_matching, tuple(map(ablated, groups)))


def _rounded(scores: Tensor) -> list[list[float]]:
    return [[round(score, 4) for score in layer] for layer in scores.tolist()]
