"""Measures of a translator: accuracy, and the attention of its heads from "it"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attnviz.interventions.edit import Edit
from attnviz.trained.translator.grammar import Pair, Pronoun
from attnviz.trained.translator.translator import Translator
from attnviz.trained.translator.vocabulary import FRENCH


@dataclass(frozen=True)
class PronounAttention:
    """Attention of one head from "it", over some sentences.

    Attributes:
        found: Fraction of sentences in which the referent has the largest weight of all tokens.
        referent: Mean weight of the referent.
        other: Mean weight of the other candidate.
    """

    found: float
    referent: float
    other: float


def exact_match(translator: Translator, pairs: Sequence[Pair]) -> float:
    """Return the fraction of exactly correct translations."""
    translations = translator.translate_all([pair.source for pair in pairs])
    return share(words == pair.target for words, pair in zip(translations, pairs, strict=True))


def chooses_il(translator: Translator, pairs: Sequence[Pair], edits: Sequence[Edit] = ()) -> list[bool]:
    """Return whether "il" is more likely than "elle" in each sentence, given the reference's earlier words.

    Args:
        pairs: Sentences with a pronoun.
        edits: One edit for each sentence, or no edits.
    """
    il, elle = FRENCH.ids(("il", "elle"))
    steps = translator.steps_all(*_words(pairs), [(edit,) for edit in edits])
    rows = steps.logits[torch.arange(len(pairs)), [pronoun_of(pair).target for pair in pairs]]
    chosen: list[bool] = (rows[:, il] > rows[:, elle]).tolist()
    return chosen


def pronoun_accuracy(translator: Translator, pairs: Sequence[Pair]) -> float:
    """Return the fraction of sentences in which the correct pronoun, "il" or "elle", is more likely."""
    return share(il == is_il(pair) for il, pair in zip(chooses_il(translator, pairs), pairs, strict=True))


def weights_from_it(
    translator: Translator, pairs: Sequence[Pair]
) -> Float[Tensor, "sentence layer head key"]:
    """Return the weights of every encoder head from "it"; padding has weight 0."""
    steps = translator.steps_all(*_words(pairs))
    layers = [layer.attention.attention.weights for layer in steps.encoder.layers]
    places = [pronoun_of(pair).source for pair in pairs]
    return torch.stack(layers, dim=1)[torch.arange(len(pairs)), :, :, places]


def pronoun_attention(weights: Float[Tensor, "sentence key"], pairs: Sequence[Pair]) -> PronounAttention:
    """Return the attention of one head from "it".

    Args:
        weights: The head's weights from "it", for each sentence.
        pairs: Sentences with two candidate nouns.
    """
    rows = torch.arange(len(pairs))
    referents = torch.tensor([pronoun_of(pair).referent for pair in pairs])
    others = torch.tensor([pronoun_of(pair).other for pair in pairs])
    return PronounAttention(
        found=float((weights.argmax(dim=-1) == referents).float().mean()),
        referent=float(weights[rows, referents].mean()),
        other=float(weights[rows, others].mean()),
    )


def is_il(pair: Pair) -> bool:
    """Return whether the correct pronoun is "il"."""
    return pair.target[pronoun_of(pair).target] == "il"


def share(right: Iterable[bool]) -> float:
    """Return the fraction of correct answers."""
    answers = list(right)
    return sum(answers) / len(answers)


def pronoun_of(pair: Pair) -> Pronoun:
    """Return the pronoun of a sentence.

    Raises:
        ValueError: the sentence has no pronoun.
    """
    if pair.pronoun is None:
        raise ValueError(f"There is no pronoun in: {' '.join(pair.source)}")
    return pair.pronoun


def _words(pairs: Sequence[Pair]) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    return [pair.source for pair in pairs], [pair.target for pair in pairs]
