"""Training of a translator: settings, losses and learning rate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from attnviz.trained import training
from attnviz.trained.training import Network, Progress
from attnviz.trained.translator import splits
from attnviz.trained.translator.losses import attention_loss, translation_loss
from attnviz.trained.translator.training_batch import Corpus
from attnviz.trained.translator.translator import Sizes, build
from attnviz.trained.translator.variants import VARIANTS
from attnviz.transformer.encoder_decoder import EncoderDecoder, EncoderDecoderSteps

BETAS = (0.9, 0.98)
EPSILON = 1e-9
MAX_GRADIENT = 1.0


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All settings of a training run.

    The settings determine the weights bit for bit on one machine with a fixed number of threads. Other
    machines can round sums differently.

    Attributes:
        variant: Name in `VARIANTS`, which determines the attention loss.
        seed: Seed of the initial weights, the sentences and their order.
        steps: Number of training batches.
        sentences: Number of generated training sentences.
        batch: Maximum batch size.
        learning_rate: Maximum learning rate.
        warm_up: Number of steps in which the learning rate increases from 0; it then decreases almost to 0.
        label_smoothing: as in `translation_loss`.
        sizes: Sizes of the network.
    """

    variant: str = "guided"
    seed: int = 0
    steps: int = 4000
    sentences: int = 60_000
    batch: int = 64
    learning_rate: float = 3e-3
    warm_up: int = 100
    label_smoothing: float = 0.1
    sizes: Sizes = field(default_factory=Sizes)

    @classmethod
    def of(cls, variant: str, seed: int | None = None) -> Settings:
        """Return the settings that trained a variant's bundled weights, optionally with another seed."""
        recipe = VARIANTS[variant]
        seed = recipe.seed if seed is None else seed
        return cls(variant=variant, seed=seed, sizes=Sizes(n_heads=recipe.n_heads))

    @classmethod
    def live(cls, variant: str, seed: int, steps: int) -> Settings:
        """Return the settings of a live training run, with fewer sentences."""
        return replace(cls.of(variant, seed), steps=steps, sentences=20_000)


def train(settings: Settings) -> Iterator[Progress[EncoderDecoder]]:
    """Train a translator; yield its progress after each step."""
    corpus = Corpus(splits.training(settings.sentences, settings.seed), settings.batch)
    return learn(settings, build(settings.sizes, settings.seed), corpus)


def learn(settings: Settings, model: Network, corpus: Corpus) -> Iterator[Progress[Network]]:
    """Train any network with the interface of `EncoderDecoder` on a corpus; yield its progress."""
    adam = torch.optim.Adam(
        model.parameters(), lr=settings.learning_rate, betas=BETAS, eps=EPSILON, fused=True
    )
    return training.train(
        model,
        _losses(settings, model, corpus),
        [adam],
        steps=settings.steps,
        schedule=lambda step: schedule(settings, step),
        max_gradient=MAX_GRADIENT,
    )


def schedule(settings: Settings, step: int) -> float:
    """Return the learning rate at a step, counted from 1, as a fraction of its maximum.

    It increases linearly during the warm-up and then decreases linearly, almost to 0.
    """
    increasing = step / settings.warm_up
    decreasing = (settings.steps + 1 - step) / (settings.steps + 1 - settings.warm_up)
    return min(increasing, decreasing)


def _losses(settings: Settings, model: nn.Module, corpus: Corpus) -> Iterator[Tensor]:
    variant = VARIANTS[settings.variant]
    for batch in corpus.batches(settings.seed):
        steps = model(batch.source, batch.target)
        loss: Tensor = translation_loss(steps.logits, batch, settings.label_smoothing)
        if isinstance(steps, EncoderDecoderSteps):
            loss = loss + attention_loss(steps, batch, variant)
        yield loss
