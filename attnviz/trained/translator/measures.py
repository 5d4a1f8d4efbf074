"""Measures: how well a translator translates, where it looks from "it", and whether that is the cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

from attnviz.interventions.edit import Edit
from attnviz.trained.translator import splits
from attnviz.trained.translator.grammar import Pair, Pronoun
from attnviz.trained.translator.lexicon import NOUN, without_gender
from attnviz.trained.translator.translator import Translator
from attnviz.trained.translator.variants import TAUGHT_HEAD, TAUGHT_LAYER
from attnviz.trained.translator.vocabulary import FRENCH

AT_ONCE = 100  # sentences

Range = tuple[float, float]

_TRANSLATES: Mapping[str, Range] = {
    **{f"exact {split}": (0.95, 1.0) for split in splits.SPLITS},
    "pronoun": (0.97, 1.0),
}

_LOOKS_RIGHT: Mapping[str, Range] = {
    "layer": (TAUGHT_LAYER + 1, TAUGHT_LAYER + 1),
    "head": (TAUGHT_HEAD + 1, TAUGHT_HEAD + 1),
    "subject found": (0.98, 1.0),
    "subject referent": (0.95, 1.0),
    "subject other": (0.0, 0.05),
    "object found": (0.98, 1.0),
    "object referent": (0.95, 1.0),
    "object other": (0.0, 0.05),
}

TARGETS: Mapping[str, Mapping[str, Range]] = {
    "taught": {
        **{f"exact {split}": (0.985, 1.0) for split in splits.SPLITS},
        "pronoun": (0.99, 1.0),
        **_LOOKS_RIGHT,
        "silenced pronoun": (0.4, 0.6),
        "silenced rest": (0.99, 1.0),
        "moved changed": (0.97, 1.0),
        "moved rest": (0.99, 1.0),
    },
    "training-wheels": _TRANSLATES,
    "candidates": _TRANSLATES,
    "untold": _TRANSLATES,
    "decorative": {
        **_TRANSLATES,
        **_LOOKS_RIGHT,
        "silenced changed": (0.0, 0.02),
        "moved changed": (0.0, 0.02),
    },
}
"""What each variant is shipped for: the least and the largest value of its figures."""


@dataclass(frozen=True)
class PronounAttention:
    """Where one head looks from "it", in the sentences in which one of the two nouns is meant.

    Attributes:
        found: the share of sentences in which it looks at the noun that is meant more than at any other word.
        referent: the weight of the noun that is meant, on average.
        other: the weight of the noun that could be meant and is not, on average.
    """

    found: float
    referent: float
    other: float


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
        silenced: if it reads nothing from "it".
        moved: if it gives to the other noun what it gave to the noun that is meant.
    """

    exact: Mapping[str, float]
    pronoun: float
    layer: int
    head: int
    subject: PronounAttention
    object: PronounAttention
    silenced: Intervention
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
        silenced=intervention(translator, both, lambda it: Edit("encoder", layer, head, it.source)),
        moved=intervention(
            translator, both, lambda it: Edit("encoder", layer, head, it.source, it.referent, it.other)
        ),
    )


def exact_match(translator: Translator, pairs: Sequence[Pair]) -> float:
    """The share of sentences whose translation is the right one, word for word."""
    translations = _translations(translator, pairs)
    return share(words == pair.target for words, pair in zip(translations, pairs, strict=True))


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
        places = [_pronoun(pair).target for pair in some]
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
        places = [_pronoun(pair).source for pair in some]
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
    referents = torch.tensor([_pronoun(pair).referent for pair in pairs])
    others = torch.tensor([_pronoun(pair).other for pair in pairs])
    return PronounAttention(
        found=float((weights.argmax(dim=-1) == referents).float().mean()),
        referent=float(weights[every, referents].mean()),
        other=float(weights[every, others].mean()),
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
    edits = [edit(_pronoun(pair)) for pair in pairs]
    before, after = chooses_il(translator, pairs), chooses_il(translator, pairs, edits)
    translations = _translations(translator, pairs, edits)
    return Intervention(
        pronoun=share(il == is_il(pair) for il, pair in zip(after, pairs, strict=True)),
        changed=share(now != then for now, then in zip(after, before, strict=True)),
        rest=share(
            [*map(without_gender, words)] == [*map(without_gender, pair.target)]
            for words, pair in zip(translations, pairs, strict=True)
        ),
    )


def is_il(pair: Pair) -> bool:
    """Whether the right pronoun is "il"."""
    return pair.target[_pronoun(pair).target] == "il"


def share(right: Iterable[bool]) -> float:
    """How many of some answers are right: 0 none, 1 all."""
    answers = list(right)
    return sum(answers) / len(answers)


def _pronoun(pair: Pair) -> Pronoun:
    if pair.pronoun is None:
        raise ValueError(f"There is no pronoun in: {' '.join(pair.source)}")
    return pair.pronoun


def _translations(
    translator: Translator, pairs: Sequence[Pair], edits: Sequence[Edit] = ()
) -> list[tuple[str, ...]]:
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


def flat(figures: Figures) -> dict[str, float]:
    """The figures by name, such as "silenced pronoun"."""
    found: dict[str, float] = {}
    for name, value in asdict(figures).items():
        parts = value if isinstance(value, dict) else {"": value}
        found |= {f"{name} {part}".strip(): number for part, number in parts.items()}
    return found


def missed(variant: str, figures: Figures) -> dict[str, float]:
    """The figures that are not what the variant is shipped for; see `TARGETS`."""
    found = flat(figures)
    return {
        name: found[name]
        for name, (least, most) in TARGETS[variant].items()
        if not least <= found[name] <= most
    }


def table(columns: Mapping[str, Figures]) -> str:
    """Figures as text: one column for each translator, one line for each figure."""
    every = [flat(figures) for figures in columns.values()]
    head = "".join(f"{name:>17}" for name in ("", *columns))
    lines = [f"{name:>17}" + "".join(f"{figures[name]:17.4g}" for figures in every) for name in every[0]]
    return "\n".join((head, *lines, ""))
