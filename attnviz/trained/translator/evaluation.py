"""Snapshots of a translator during training: accuracy and attention."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from attnviz.trace import Kind
from attnviz.trained.snapshots import Snapshot, TextSnapshot, thousandths
from attnviz.trained.training import train_and_evaluate
from attnviz.trained.translator import measures, splits
from attnviz.trained.translator.grammar import Pair
from attnviz.trained.translator.probes import PROBES, Probe
from attnviz.trained.translator.training import Settings, train
from attnviz.trained.translator.training_batch import PADDING
from attnviz.trained.translator.translator import Translator, build, padded
from attnviz.trained.translator.variants import GUIDED_HEAD, GUIDED_LAYER, VARIANTS
from attnviz.trained.translator.vocabulary import FRENCH
from attnviz.trained.vocabulary import END
from attnviz.transformer.encoder_decoder import EncoderDecoder


@dataclass(frozen=True)
class Evaluation:
    """The sentences on which a translator is evaluated.

    Attributes:
        held_out: Sentences to translate, with held-out combinations of words.
        minimal_pairs: Held-out sentences about two nouns of different gender. In half of them, "it" refers
            to the first noun; in half of them, "il" is correct.
    """

    held_out: Sequence[Pair]
    minimal_pairs: Sequence[Pair]

    @classmethod
    def of(cls, size: int) -> Evaluation:
        """Return a fixed set of sentences: `size` held-out sentences and `size` sentences of minimal pairs.

        Args:
            size: A multiple of the number of splits and of 2.
        """
        each = size // len(splits.SPLITS)
        held_out = [pair for split in splits.SPLITS for pair in splits.held_out(split, each, seed=0)]
        readings = splits.minimal_pairs(size // 2, seed=0)
        return cls(held_out, [pair for both in readings for pair in both])

    def snapshot(self, translator: Translator, step: int, *, guided: bool) -> Snapshot:
        """Evaluate a translator.

        Args:
            translator: The translator; its weights are rounded to float16, as in a file.
            step: Number of training steps so far.
            guided: True to measure the guided head, False for the head that attends most to referents.
        """
        translator.model.half().float()
        weights = measures.weights_from_it(translator, self.minimal_pairs)
        heads = [(GUIDED_LAYER, GUIDED_HEAD)] if guided else [*np.ndindex(weights.shape[1:3])]
        attention = [
            measures.pronoun_attention(weights[:, layer, head], self.minimal_pairs) for layer, head in heads
        ]
        best = max(attention, key=lambda each: each.referent)
        measured = {
            "loss": loss(translator, self.held_out),
            "exact": measures.exact_match(translator, self.held_out),
            "pronoun": measures.pronoun_accuracy(translator, self.minimal_pairs),
            "referent": best.referent,
            "other": best.other,
        }
        translation = translator.translate_all([probe.source for probe in PROBES])
        texts = (
            text_snapshot(translator, probe, words) for probe, words in zip(PROBES, translation, strict=True)
        )
        return Snapshot(step, measured, tuple(texts))


def train_with_snapshots(
    settings: Settings, evaluation: Evaluation, at: Collection[int]
) -> Iterator[int | Snapshot]:
    """Train a translator and take snapshots at some steps; see `training.train_and_evaluate`."""

    def evaluate(model: EncoderDecoder, step: int) -> Snapshot:
        translator = Translator(model, settings.sizes, {})
        return evaluation.snapshot(translator, step, guided=VARIANTS[settings.variant].is_guided)

    return train_and_evaluate(train(settings), build(settings.sizes, settings.seed), evaluate, at)


def loss(translator: Translator, pairs: Sequence[Pair]) -> float:
    """Return the mean −ln p of the correct words, including [END], over all sentences, in nats."""
    steps = translator.steps_all([pair.source for pair in pairs], [pair.target for pair in pairs])
    right = padded([FRENCH.ids([*pair.target, END]) for pair in pairs])
    return float(cross_entropy(steps.logits.flatten(0, 1), right.flatten(), ignore_index=PADDING))


def text_snapshot(translator: Translator, probe: Probe, translation: tuple[str, ...]) -> TextSnapshot:
    """Return all weights of a translator on a sentence, and p("il") and p("elle"), in thousandths."""
    steps = translator.steps(probe.source, probe.target)
    il, elle = thousandths(steps.probabilities[probe.pronoun][FRENCH.ids(("il", "elle"))].numpy()).tolist()
    weights: dict[Kind, list[Tensor]] = {
        "encoder": [layer.attention.attention.weights for layer in steps.encoder.layers],
        "decoder": [layer.attention.attention.weights for layer in steps.decoder.layers],
        "cross": [layer.cross_attention.attention.weights for layer in steps.decoder.layers],
    }
    rounded = {kind: thousandths(torch.stack(layers).numpy()) for kind, layers in weights.items()}
    return TextSnapshot(rounded, translation, il, elle)
