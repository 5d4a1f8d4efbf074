"""Take snapshots of a model while it trains: how well it translates, and where its heads look."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from attnviz.trace import Kind
from attnviz.trained.translator import measures, splits
from attnviz.trained.translator.exercises import PADDING
from attnviz.trained.translator.grammar import Pair
from attnviz.trained.translator.learning import THOUSAND, Measures, Probe, ProbeAnswer, Snapshot, Thousandths
from attnviz.trained.translator.training import Settings, train
from attnviz.trained.translator.translator import Translator, build, padded
from attnviz.trained.translator.variants import TAUGHT_HEAD, TAUGHT_LAYER
from attnviz.trained.translator.vocabulary import FRENCH
from attnviz.trained.vocabulary import END


@dataclass(frozen=True)
class Examination:
    """What a model is asked each time.

    Attributes:
        held_out: sentences to translate, with combinations of words that no training sees.
        minimal_pairs: sentences about two nouns of different gender, held out as well, and each there with
            both readings: whoever always says "il", or always means the first noun, is right in half of them.
        probes: sentences whose weights are written down.
    """

    held_out: Sequence[Pair]
    minimal_pairs: Sequence[Pair]
    probes: Sequence[Probe]

    @classmethod
    def of(cls, size: int, probes: Sequence[Probe]) -> Examination:
        """Always the same sentences, `size` of either sort.

        Args:
            size: a multiple of the number of splits and of 2.
        """
        each = size // len(splits.SPLITS)
        held_out = [pair for split in splits.SPLITS for pair in splits.held_out(split, each, seed=0)]
        readings = splits.minimal_pairs(size // 2, seed=0)
        return cls(held_out, [pair for both in readings for pair in both], probes)

    def snapshot(self, translator: Translator, step: int) -> Snapshot:
        """What the model can do after so many steps.

        Args:
            translator: its numbers are rounded to those that a file of weights would hold.
        """
        translator.model.half().float()
        weights = measures.weights_from_it(translator, self.minimal_pairs)[:, TAUGHT_LAYER, TAUGHT_HEAD]
        looks = measures.reading(weights, self.minimal_pairs)
        measured = Measures(
            loss=loss(translator, self.held_out),
            exact=measures.exact_match(translator, self.held_out),
            pronoun=measures.pronoun_accuracy(translator, self.minimal_pairs),
            referent=looks.referent,
            other=looks.other,
        )
        said = translator.translate_all([probe.source for probe in self.probes])
        glances = (glance(translator, probe, words) for probe, words in zip(self.probes, said, strict=True))
        return Snapshot(step, measured, tuple(glances))


def about(settings: Settings, examination: Examination) -> dict[str, str]:
    """How a training and its snapshots were made, each thing by its name."""
    parameters = build(settings.sizes, settings.seed).parameters()
    return settings.about | {
        "steps": str(settings.steps),
        "batch": str(settings.batch),
        "sentences": str(settings.sentences),
        "label smoothing": str(settings.label_smoothing),
        "parameters": str(sum(parameter.numel() for parameter in parameters)),
        "held out": str(len(examination.held_out)),
        "minimal pairs": str(len(examination.minimal_pairs)),
    }


def watch(settings: Settings, examination: Examination, at: Collection[int]) -> Iterator[int | Snapshot]:
    """Train, and look at the model now and then.

    Args:
        at: after which steps; 0 is before the first.

    Yields:
        After each step its number or, in its place, a snapshot.
    """
    if 0 in at:
        untrained = Translator(build(settings.sizes, settings.seed), settings.sizes, {})
        yield examination.snapshot(untrained, 0)
    for progress in train(settings):
        if progress.step in at:
            yield examination.snapshot(progress.translator(), progress.step)
        else:
            yield progress.step


def loss(translator: Translator, pairs: Sequence[Pair]) -> float:
    """−ln p of the right word, on average over all words of all sentences and their [END], in nats."""
    steps = translator.steps_all([pair.source for pair in pairs], [pair.target for pair in pairs])
    right = padded([FRENCH.ids([*pair.target, END]) for pair in pairs])
    return float(cross_entropy(steps.logits.flatten(0, 1), right.flatten(), ignore_index=PADDING))


def glance(translator: Translator, probe: Probe, said: tuple[str, ...]) -> ProbeAnswer:
    """What the model makes of a sentence: all weights, and how probable il and elle are."""
    steps = translator.steps(probe.source, probe.target)
    il, elle = thousandths(steps.probabilities[probe.pronoun][FRENCH.ids(("il", "elle"))]).tolist()
    weights: dict[Kind, list[Tensor]] = {
        "encoder": [layer.attention.attention.weights for layer in steps.encoder.layers],
        "decoder": [layer.attention.attention.weights for layer in steps.decoder.layers],
        "cross": [layer.cross_attention.attention.weights for layer in steps.decoder.layers],
    }
    rounded = {kind: thousandths(torch.stack(layers)) for kind, layers in weights.items()}
    return ProbeAnswer(rounded, said, il, elle)


def thousandths(shares: Tensor) -> Thousandths:
    """Shares of 1, rounded to thousandths."""
    rounded: Thousandths = (THOUSAND * shares).round().numpy().astype(np.uint16)
    rounded.setflags(write=False)
    return rounded
