"""What is measured of a trained translator on sentences that no training sees."""

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
    pronoun_of,
    reading,
    share,
    translations,
    weights_from_it,
)
from attnviz.trained.translator.translator import Translator


@dataclass(frozen=True)
class Intervention:
    """What becomes of the translations if one row of one head is changed, the one of "it".

    Attributes:
        pronoun: the share of sentences in which "il" or "elle" is still the right one of the two.
        changed: the share of sentences in which it is another one than before.
        rest: the share of sentences whose translation is right but for words that agree in gender.
    """

    pronoun: float
    changed: float
    rest: float


@dataclass(frozen=True)
class Figures:
    """All that is measured of one translator, on sentences with combinations that it never learned from.

    Attributes:
        exact: the share of sentences that are translated right, word for word, by the split they are from.
        pronoun: the share of minimal pairs' sentences in which the right one of "il" and "elle" is the more
            probable one; .5 is chance.
        layer, head: the encoder's head that the rest is about, counted from 1.
        subject, object: where it looks from "it", where the first and where the second noun is meant.
        ablated: if it reads nothing from "it".
        moved: if it gives to the other noun what it gave to the noun that is meant.
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
    """How new the minimal pairs' sentences are: what who remembers a training would do with them.

    Attributes:
        sentences: how many there are.
        but_for_a_noun: how many equal a sentence that was learned from but for one noun.
    """

    sentences: int
    but_for_a_noun: int


def familiarity(learned: Iterable[Pair], pairs: int = 300, seed: int = 1) -> Familiarity:
    """How new the sentences of `measure`'s minimal pairs are to who learned from these sentences."""
    both = [pair for readings in splits.minimal_pairs(pairs, seed) for pair in readings]
    known: set[tuple[str, ...]] = set()
    for pair in learned:
        known.update(_without_a_noun(pair))
    return Familiarity(
        sentences=len(both),
        but_for_a_noun=sum(not known.isdisjoint(_without_a_noun(pair)) for pair in both),
    )


def _without_a_noun(pair: Pair) -> Iterator[tuple[str, ...]]:
    """The English words, with a gap in place of each noun in turn."""
    for place, word in enumerate(pair.source):
        if word in NOUN:
            yield (*pair.source[:place], "", *pair.source[place + 1 :])


def measure(translator: Translator, sentences: int = 500, pairs: int = 300, seed: int = 1) -> Figures:
    """All figures of a translator.

    Args:
        pairs: how many minimal pairs, of two sentences each.
    """
    held_out = {split: splits.held_out(split, sentences, seed) for split in splits.SPLITS}
    both = [pair for readings in splits.minimal_pairs(pairs, seed) for pair in readings]
    weights = weights_from_it(translator, both)
    layer, head = finder(weights, both)
    # In a minimal pair, "it" means first the subject and then what something is done to.
    of_head = weights[:, layer, head]
    return Figures(
        exact={split: exact_match(translator, some) for split, some in held_out.items()},
        pronoun=pronoun_accuracy(translator, both),
        layer=layer + 1,
        head=head + 1,
        subject=reading(of_head[0::2], both[0::2]),
        object=reading(of_head[1::2], both[1::2]),
        ablated=intervention(translator, both, lambda it: Edit("encoder", layer, head, it.source)),
        moved=intervention(
            translator, both, lambda it: Edit("encoder", layer, head, it.source, it.referent, it.other)
        ),
    )


def finder(weights: Float[Tensor, "sentence layer head key"], pairs: Sequence[Pair]) -> tuple[int, int]:
    """The layer and the head that most often look from "it" at the noun that is meant, counted from 0.

    Args:
        weights: as from `weights_from_it`.
    """
    readings = {
        (layer, head): reading(weights[:, layer, head], pairs)
        for layer in range(weights.shape[1])
        for head in range(weights.shape[2])
    }
    return max(readings, key=lambda place: (readings[place].found, readings[place].referent))


def intervention(
    translator: Translator, pairs: Sequence[Pair], edit: Callable[[Pronoun], Edit]
) -> Intervention:
    """What becomes of the translations if the model's attention is edited.

    Args:
        pairs: sentences with a pronoun.
        edit: what is changed in a sentence with this pronoun.
    """
    edits = [edit(pronoun_of(pair)) for pair in pairs]
    before, after = chooses_il(translator, pairs), chooses_il(translator, pairs, edits)
    written = translations(translator, pairs, edits)
    return Intervention(
        pronoun=share(il == is_il(pair) for il, pair in zip(after, pairs, strict=True)),
        changed=share(now != then for now, then in zip(after, before, strict=True)),
        rest=share(
            [*map(without_gender, words)] == [*map(without_gender, pair.target)]
            for words, pair in zip(written, pairs, strict=True)
        ),
    )
