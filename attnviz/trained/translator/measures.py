"""Measures: how well a translator translates, and what its heads attend to from "it"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

from attnviz.interventions.edit import Edit
from attnviz.trained.translator.grammar import Pair, Pronoun
from attnviz.trained.translator.translator import Translator
from attnviz.trained.translator.vocabulary import FRENCH

AT_ONCE = 100  # sentences


@dataclass(frozen=True)
class PronounAttention:
    """Where one head looks from "it", in the sentences in which one of the two nouns is meant.

    Attributes:
        found: the share of sentences in which it attends to the right noun more than to any other word.
        referent: the weight of the noun that is meant, on average.
        other: the weight of the noun that could be meant and is not, on average.
    """

    found: float
    referent: float
    other: float


def exact_match(translator: Translator, pairs: Sequence[Pair]) -> float:
    """The share of exactly right translations."""
    spoken = translations(translator, pairs)
    return share(words == pair.target for words, pair in zip(spoken, pairs, strict=True))


def chooses_il(translator: Translator, pairs: Sequence[Pair], edits: Sequence[Edit] = ()) -> list[bool]:
    """Whether "il" is more probable than "elle", after all that is right before it.

    Args:
        pairs: sentences with a pronoun.
        edits: one for each sentence, or none at all.
    """
    il, elle = FRENCH.ids(("il", "elle"))
    chosen = []
    for some, some_edits in _portions(pairs, edits):
        logits = translator.steps_all([p.source for p in some], [p.target for p in some], some_edits).logits
        places = [pronoun_of(pair).target for pair in some]
        rows = logits[torch.arange(len(some)), places]
        chosen += (rows[:, il] > rows[:, elle]).tolist()
    return chosen


def pronoun_accuracy(translator: Translator, pairs: Sequence[Pair]) -> float:
    """The share of sentences in which the right one of "il" and "elle" is the more probable one."""
    return share(il == is_il(pair) for il, pair in zip(chooses_il(translator, pairs), pairs, strict=True))


def weights_from_it(
    translator: Translator, pairs: Sequence[Pair]
) -> Float[Tensor, "sentence layer head key"]:
    """Where every head of the encoder looks from "it"; what fills up shorter sentences has weight 0."""
    longest = max(len(pair.source) for pair in pairs) + 1
    found = []
    for some, _ in _portions(pairs, ()):
        steps = translator.steps_all([pair.source for pair in some], [pair.target for pair in some])
        places = [pronoun_of(pair).source for pair in some]
        layers = [layer.attention.attention.weights for layer in steps.encoder.layers]
        rows = torch.stack(layers, dim=1)[torch.arange(len(some)), :, :, places]
        found.append(pad(rows, (0, longest - rows.shape[-1])))
    return torch.cat(found)


def reading(weights: Float[Tensor, "sentence key"], pairs: Sequence[Pair]) -> PronounAttention:
    """Where one head looks from "it".

    Args:
        weights: of that head, from "it", for each of the sentences.
        pairs: the sentences, with two nouns that "it" could mean.
    """
    every = torch.arange(len(pairs))
    referents = torch.tensor([pronoun_of(pair).referent for pair in pairs])
    others = torch.tensor([pronoun_of(pair).other for pair in pairs])
    return PronounAttention(
        found=float((weights.argmax(dim=-1) == referents).float().mean()),
        referent=float(weights[every, referents].mean()),
        other=float(weights[every, others].mean()),
    )


def is_il(pair: Pair) -> bool:
    """Whether the right pronoun is "il"."""
    return pair.target[pronoun_of(pair).target] == "il"


def share(right: Iterable[bool]) -> float:
    """How many of some answers are right: 0 none, 1 all."""
    answers = list(right)
    return sum(answers) / len(answers)


def pronoun_of(pair: Pair) -> Pronoun:
    """Return the pronoun of a sentence.

    Raises:
        ValueError: it has none.
    """
    if pair.pronoun is None:
        raise ValueError(f"There is no pronoun in: {' '.join(pair.source)}")
    return pair.pronoun


def translations(
    translator: Translator, pairs: Sequence[Pair], edits: Sequence[Edit] = ()
) -> list[tuple[str, ...]]:
    """Translate many sentences, each with its one edit, or none with any."""
    return [
        words
        for some, some_edits in _portions(pairs, edits)
        for words in translator.translate_all([pair.source for pair in some], some_edits)
    ]


def _portions(
    pairs: Sequence[Pair], edits: Sequence[Edit]
) -> Iterator[tuple[Sequence[Pair], Sequence[tuple[Edit]]]]:
    """A few sentences at a time, each with its one edit, or none with any."""
    for start in range(0, len(pairs), AT_ONCE):
        yield pairs[start : start + AT_ONCE], [(edit,) for edit in edits[start : start + AT_ONCE]]
