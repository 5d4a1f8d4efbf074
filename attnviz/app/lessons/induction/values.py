"""Repeated random words in a storyteller: weights, predictions, and copying with ablated heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from attnviz.capture import loading
from attnviz.capture.arrays import owned
from attnviz.interventions.edit import Edit
from attnviz.models import catalogue
from attnviz.trace import Floats
from attnviz.trained.storyteller.copying import TEXTS, Copying, Heads, copying, measure_pass, words_twice
from attnviz.trained.storyteller.grammar import CHANT, VOCABULARY
from attnviz.trained.vocabulary import START


@dataclass(frozen=True, eq=False)
class Repeated:
    """Weights and predictions for words that occur twice in the same order, after [CHANT].

    Attributes:
        weights: [layer, head, query, key].
        previous_word_weights: [layer, head, word], weight on each word from the next, both in the first half.
        induction_weights: [layer, head, word], weight from each repeated word but the last on the word after
            its first occurrence.
        right: [word], probability of the correct next word after each repeated word but the last.
    """

    weights: Floats
    previous_word_weights: Floats
    induction_weights: Floats
    right: Floats


def repeated(
    words: Sequence[str], edits: Sequence[str] = (), *, model: str = catalogue.STORYTELLER
) -> Repeated:
    """Run a storyteller on words from its vocabulary, followed by the same words again.

    Args:
        words: At least two words.
        edits: Edits, such as "decoder 1-2".
        model: Name of a storyteller in the catalogue.

    Raises:
        InvalidEdit: the model has no such head.
    """
    ids = torch.tensor(VOCABULARY.ids([CHANT, *words, *words]))
    steps = loading.load_storyteller(model).steps(ids, [tuple(map(Edit.parse, edits))] if edits else ())
    weights = torch.stack([layer.attention.attention.weights for layer in steps.layers])
    first, again = torch.arange(1, len(words)), torch.arange(1 + len(words), 2 * len(words))
    expected = steps.logits[again].softmax(dim=-1)
    return Repeated(
        owned(weights),
        owned(weights[..., first + 1, first]),
        owned(weights[..., again, first + 1]),
        owned(expected.gather(-1, ids[again + 1, None])[:, 0]),
    )


def measured(edits: Sequence[str] = (), *, model: str = catalogue.STORYTELLER) -> Copying:
    """Measure how well a storyteller copies random words with these edits.

    Args:
        edits, model: As in `repeated`.

    Raises:
        InvalidEdit: the model has no such head.
    """
    return copying(loading.load_storyteller(model), tuple(map(Edit.parse, edits)))


def measured_after_start(*, model: str = catalogue.STORYTELLER) -> Copying:
    """Measure copying in the texts of `measured`, with [START] in place of [CHANT]."""
    ids = words_twice(TEXTS)
    ids[:, 0] = VOCABULARY.ids([START])[0]
    return measure_pass(ids, loading.load_storyteller(model).steps(ids))


def control_heads(intact: Copying) -> Heads:
    """Return the other heads in layers with previous-word heads, except induction heads."""
    layers = {layer for layer, _ in intact.previous_word_heads}
    roles = {*intact.previous_word_heads, *intact.induction_heads}
    heads: Heads = tuple(np.ndindex(intact.prefix_matching.shape))
    return tuple(head for head in heads if head[0] in layers and head not in roles)
