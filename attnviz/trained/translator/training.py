"""How a translator learns: the settings, the losses and the learning rate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from attnviz.trained import training
from attnviz.trained.training import Network, Progress
from attnviz.trained.translator import splits
from attnviz.trained.translator.exercises import Corpus
from attnviz.trained.translator.losses import attention_loss, translation_loss
from attnviz.trained.translator.translator import Sizes, build
from attnviz.trained.translator.variants import VARIANTS
from attnviz.transformer.encoder_decoder import EncoderDecoder, EncoderDecoderSteps

BETAS = (0.9, 0.98)
EPSILON = 1e-9
MAX_GRADIENT = 1.0


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that a training follows from: the same settings give the same weights.

    (To the bit on one machine with one number of threads; sums are added up in another order elsewhere.)

    Attributes:
        variant: the attention loss, a name of `VARIANTS`.
        seed: of the first weights, the sentences and their order.
        steps: how many batches are learned from.
        sentences: how many are generated to learn from.
        batch: how many are learned from at once.
        learning_rate: the largest one.
        warm_up: the steps in which the learning rate grows from 0; after them it falls to 0 again.
        label_smoothing: as in `translation_loss`.
        sizes: of the network.
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
        """Return the settings of the shipped weights of a variant, or those of another seed."""
        recipe = VARIANTS[variant]
        seed = recipe.seed if seed is None else seed
        sizes = Sizes(n_heads=recipe.n_heads, encoder_layers=recipe.encoder_layers)
        return cls(variant=variant, seed=seed, steps=recipe.steps, sizes=sizes)

    @classmethod
    def live(cls, variant: str, seed: int, steps: int) -> Settings:
        """Return the settings of a live training, on fewer sentences."""
        return replace(cls.of(variant, seed), steps=steps, sentences=20_000)


def train(settings: Settings) -> Iterator[Progress[EncoderDecoder]]:
    """Train a translator, one step each time the next progress is requested."""
    corpus = Corpus(splits.training(settings.sentences, settings.seed), settings.batch)
    return learn(settings, build(settings.sizes, settings.seed), corpus)


def learn(settings: Settings, model: Network, corpus: Corpus) -> Iterator[Progress[Network]]:
    """Train any network that takes and returns what `EncoderDecoder` does, on these sentences."""
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
    """Return the factor of the learning rate at a step, counted from 1.

    It grows evenly during the warm-up and then falls evenly, almost to 0.
    """
    growing = step / settings.warm_up
    falling = (settings.steps + 1 - step) / (settings.steps + 1 - settings.warm_up)
    return min(growing, falling)


def _losses(settings: Settings, model: nn.Module, corpus: Corpus) -> Iterator[Tensor]:
    variant = VARIANTS[settings.variant]
    for done, exercises in enumerate(corpus.batches(settings.seed)):
        steps = model(exercises.source, exercises.target)
        loss: Tensor = translation_loss(steps.logits, exercises, settings.label_smoothing)
        if isinstance(steps, EncoderDecoderSteps) and done < variant.guided_until * settings.steps:
            loss = loss + attention_loss(steps, exercises, variant)
        yield loss
