"""Evaluation of a trained translator on held-out sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from attnviz.interventions.edit import Edit
from attnviz.trained.translator import splits
from attnviz.trained.translator.grammar import Pair, Pronoun
from attnviz.trained.translator.lexicon import NOUN, without_gender
from attnviz.trained.translator.measures import (
    PronounAttention,
    chooses_il,
    exact_match,
    is_il,
    pronoun_accuracy,
    pronoun_attention,
    pronoun_of,
    share,
    weights_from_it,
)
from attnviz.trained.translator.translator import Translator


@dataclass(frozen=True)
class Intervention:
    """Effect on the translations of editing one head's attention from "it".

    Attributes:
        pronoun: Fraction of sentences in which the correct one of "il" and "elle" is more likely.
        changed: Fraction of sentences in which the more likely pronoun changes.
        rest: Fraction of sentences with a correct translation, apart from grammatical gender.
    """

    pronoun: float
    changed: float
    rest: float


@dataclass(frozen=True)
class Figures:
    """All results of one translator, on sentences with word combinations that are not in the training set.

    Attributes:
        exact: Fraction of sentences translated correctly word for word, by split.
        pronoun: Fraction of sentences in minimal pairs in which the correct one of "il" and "elle" is more
            likely; chance level 0.5.
        layer, head: The encoder head to which the following results belong, from 1.
        subject, object: The head's attention from "it" if the referent is the first or the second noun.
        ablated: Effect of setting the head's attention from "it" to zero.
        moved: Effect of moving the referent's weight to the other noun.
    """

    exact: Mapping[str, float]
    pronoun: float
    layer: int
    head: int
    subject: PronounAttention
    object: PronounAttention
    ablated: Intervention
    moved: Intervention


@dataclass(frozen=True)
class Familiarity:
    """Overlap between the test sentences and the training set.

    Attributes:
        sentences: Number of test sentences, all from minimal pairs.
        num_near_duplicates: Number of test sentences that differ from a training sentence in at most one
            noun.
    """

    sentences: int
    num_near_duplicates: int


def familiarity(training_pairs: Iterable[Pair], pairs: int = 300, seed: int = 1) -> Familiarity:
    """Return the overlap between the minimal pairs of `measure` and a training set."""
    both = [pair for minimal_pair in splits.minimal_pairs(pairs, seed) for pair in minimal_pair]
    known: set[tuple[str, ...]] = set()
    for pair in training_pairs:
        known.update(_without_a_noun(pair))
    return Familiarity(
        sentences=len(both),
        num_near_duplicates=sum(not known.isdisjoint(_without_a_noun(pair)) for pair in both),
    )


def _without_a_noun(pair: Pair) -> Iterator[tuple[str, ...]]:
    """Yield the English words, each time with a different noun replaced by a gap."""
    for place, word in enumerate(pair.source):
        if word in NOUN:
            yield (*pair.source[:place], "", *pair.source[place + 1 :])


def measure(translator: Translator, sentences: int = 500, pairs: int = 300, seed: int = 1) -> Figures:
    """Compute all results of a translator.

    Args:
        sentences: Number of held-out sentences of each split.
        pairs: Number of minimal pairs, of two sentences each.
    """
    held_out = {split: splits.held_out(split, sentences, seed) for split in splits.SPLITS}
    both = [pair for minimal_pair in splits.minimal_pairs(pairs, seed) for pair in minimal_pair]
    weights = weights_from_it(translator, both)
    layer, head = best_head(weights, both)
    # In a minimal pair, "it" refers first to the subject and then to the object.
    head_weights = weights[:, layer, head]
    return Figures(
        exact={split: exact_match(translator, some) for split, some in held_out.items()},
        pronoun=pronoun_accuracy(translator, both),
        layer=layer + 1,
        head=head + 1,
        subject=pronoun_attention(head_weights[0::2], both[0::2]),
        object=pronoun_attention(head_weights[1::2], both[1::2]),
        ablated=intervention(translator, both, lambda it: Edit("encoder", layer, head, it.source)),
        moved=intervention(
            translator, both, lambda it: Edit("encoder", layer, head, it.source, it.referent, it.other)
        ),
    )


def best_head(weights: Float[Tensor, "sentence layer head key"], pairs: Sequence[Pair]) -> tuple[int, int]:
    """Return the layer and index, from 0, of the head that attends from "it" to its referent most often.

    Args:
        weights: Weights from `weights_from_it`.
    """
    attentions = {
        (layer, head): pronoun_attention(weights[:, layer, head], pairs)
        for layer in range(weights.shape[1])
        for head in range(weights.shape[2])
    }
    return max(attentions, key=lambda place: (attentions[place].found, attentions[place].referent))


def intervention(
    translator: Translator, pairs: Sequence[Pair], edit: Callable[[Pronoun], Edit]
) -> Intervention:
    """Measure the effect of an edit on the translations.

    Args:
        pairs: Sentences with a pronoun.
        edit: Returns the edit for a sentence's pronoun.
    """
    edits = [edit(pronoun_of(pair)) for pair in pairs]
    before, after = chooses_il(translator, pairs), chooses_il(translator, pairs, edits)
    written = translator.translate_all([pair.source for pair in pairs], [(edit,) for edit in edits])
    return Intervention(
        pronoun=share(il == is_il(pair) for il, pair in zip(after, pairs, strict=True)),
        changed=share(new != old for new, old in zip(after, before, strict=True)),
        rest=share(
            [*map(without_gender, words)] == [*map(without_gender, pair.target)]
            for words, pair in zip(written, pairs, strict=True)
        ),
    )
