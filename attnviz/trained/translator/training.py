"""Training: the settings, one loop for all our networks, the learning rate, and checkpoints."""

import json
import time
from collections.abc import Generator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from attnviz.errors import ModelFilesDamaged
from attnviz.trained.translator import splits
from attnviz.trained.translator.exercises import Corpus, Exercises
from attnviz.trained.translator.recurrent import RecurrentEncoderDecoder
from attnviz.trained.translator.teaching import attention_loss, translation_loss
from attnviz.trained.translator.translator import Sizes, Translator, build
from attnviz.trained.translator.variants import VARIANTS, Variant
from attnviz.transformer.encoder_decoder import EncoderDecoder, EncoderDecoderSteps

Network = RecurrentEncoderDecoder | EncoderDecoder

BETAS = (0.9, 0.98)
EPSILON = 1e-9
LARGEST_GRADIENT = 1.0
CHECKPOINT_EVERY = 250  # steps
HEADER = "attnviz"  # the one entry of a checkpoint's metadata
MOMENTS = ("exp_avg", "exp_avg_sq")  # what Adam remembers of each parameter's gradients


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that a training follows from: the same settings give the same weights.

    (To the bit on one machine with one number of threads; sums are added up in another order elsewhere.)

    Attributes:
        variant: what the translator is told, a name of `VARIANTS`.
        seed: of the first weights, the sentences, their order, and what dropout leaves out.
        steps: how many batches are learned from.
        sentences: how many are generated to learn from.
        batch: how many are learned from at once.
        learning_rate: the largest one.
        warm_up: the steps in which the learning rate grows from 0; after them it falls to 0 again.
        label_smoothing: as in `translation_loss`.
        dropout: the share of the vectors that is left out at random. With sentences that a grammar makes
            there is no noise to learn by heart: without dropout less time leads further.
        sizes: of the network.
    """

    variant: str = "taught"
    seed: int = 0
    steps: int = 4000
    sentences: int = 60_000
    batch: int = 64
    learning_rate: float = 3e-3
    warm_up: int = 100
    label_smoothing: float = 0.1
    dropout: float = 0.0
    sizes: Sizes = field(default_factory=Sizes)

    @classmethod
    def of(cls, variant: str, seed: int | None = None) -> "Settings":
        """The settings that the shipped weights of a variant were made with, or those of another seed."""
        recipe = VARIANTS[variant]
        seed = recipe.seed if seed is None else seed
        sizes = Sizes(n_heads=recipe.n_heads, encoder_layers=recipe.encoder_layers)
        return cls(variant=variant, seed=seed, steps=recipe.steps, sizes=sizes)

    @classmethod
    def live(cls, variant: str, seed: int | None = None) -> "Settings":
        """A shorter training, for those who wait and watch: about a minute of one processor core."""
        return replace(cls.of(variant, seed), steps=2000, sentences=20_000)

    @property
    def about(self) -> dict[str, str]:
        """What a file of weights says about how it was made."""
        return {
            "variant": self.variant,
            "seed": str(self.seed),
            "command": f"python -m attnviz train --variant {self.variant} --seed {self.seed}",
        }


@dataclass(frozen=True)
class Progress:
    """Where a training stands after a step.

    Attributes:
        step: how many batches were learned from.
        loss: how wrong the model was about the latest one, told where to look or not, in nats.
        seconds: how long it took to get there, breaks and looking at the model in between not counted.
        processor_seconds: the same, for every core that was busy with it.
        settings: what the training follows from.
        model: goes on learning when the next step is asked for; `translator` is a copy that does not.
    """

    step: int
    loss: float
    seconds: float
    processor_seconds: float
    settings: Settings
    model: EncoderDecoder

    def translator(self) -> Translator:
        """What the model has become so far, to be looked at, run and saved."""
        facts = {
            "steps": str(self.step),
            "seconds": f"{self.seconds:.0f}",
            "processor_seconds": f"{self.processor_seconds:.0f}",
        }
        return Translator(self.model, self.settings.sizes, self.settings.about | facts)


def train(settings: Settings, checkpoint: Path | None = None) -> Generator[Progress, None, None]:
    """Learn, one step each time the next progress is asked for.

    Args:
        checkpoint: where to write down how far the training is, now and then and when it is broken off
            (`close()`); where this file exists, the training goes on from there. None: nowhere.

    Raises:
        ModelFilesDamaged: the checkpoint is unreadable, or is that of another training.
    """
    model = build(settings.sizes, settings.seed, settings.dropout)
    corpus = Corpus(splits.training(settings.sentences, settings.seed), settings.batch)
    training = Training(settings, model, corpus)
    if checkpoint is not None and checkpoint.exists():
        training.resume(checkpoint)
    while training.done < settings.steps:
        loss = training.step()
        if training.done % CHECKPOINT_EVERY == 0:
            training.write(checkpoint)
        try:
            yield Progress(training.done, loss, training.seconds, training.processor_seconds, settings, model)
        except GeneratorExit:
            training.write(checkpoint)
            raise


class Training:
    """A network, its optimizer, and how far they are.

    Every step draws its random numbers from the seed and its own number alone. So nothing else that this
    process draws changes a training, and a checkpoint needs no state of a generator.
    """

    def __init__(self, settings: Settings, model: Network, corpus: Corpus) -> None:
        self.settings = settings
        self.variant: Variant = VARIANTS[settings.variant]
        self.model = model
        self.corpus = corpus
        self.optimizer = torch.optim.Adam(self.model.parameters(), betas=BETAS, eps=EPSILON, fused=True)
        self.done = 0
        self.seconds = self.processor_seconds = 0.0
        self._order: list[tuple[int, Tensor]] = []

    def step(self) -> float:
        """Learn from the next batch; return how wrong the model was about it."""
        began, processor_began = time.perf_counter(), time.process_time()
        settings, model = self.settings, self.model.train()
        exercises = self._exercises()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(_mixed(settings.seed, self.done))
            steps = model(exercises.source, exercises.target)
        loss: Tensor = translation_loss(steps, exercises, settings.label_smoothing)
        if isinstance(steps, EncoderDecoderSteps) and self.done < self.variant.taught_until * settings.steps:
            loss = loss + attention_loss(steps, exercises, self.variant)
        self.done += 1
        self.optimizer.param_groups[0]["lr"] = learning_rate(settings, self.done)
        self.optimizer.zero_grad()
        torch.autograd.backward(loss)
        clip_grad_norm_(model.parameters(), LARGEST_GRADIENT)
        self.optimizer.step()
        self.seconds += time.perf_counter() - began
        self.processor_seconds += time.process_time() - processor_began
        return loss.item()

    def write(self, checkpoint: Path | None) -> None:
        """Write down how far the training is, if it is to be written anywhere and is not at its end."""
        if checkpoint is None or self.done == self.settings.steps:
            return
        tensors = {}
        for name, parameter in self.model.named_parameters():
            state = self.optimizer.state[parameter]
            tensors[name] = parameter.detach()
            tensors |= {f"{moment} of {name}": state[moment] for moment in MOMENTS}
        header = {
            "settings": asdict(self.settings),
            "done": self.done,
            "seconds": self.seconds,
            "processor_seconds": self.processor_seconds,
        }
        unfinished = checkpoint.with_name(f"{checkpoint.name}.unfinished")
        save_file(tensors, unfinished, {HEADER: json.dumps(header)})
        # A checkpoint that is cut off in the middle of its writing must not take the place of a whole one.
        unfinished.replace(checkpoint)

    def resume(self, checkpoint: Path) -> None:
        """Go on from where a training with the same settings was written down.

        Raises:
            ModelFilesDamaged: the file is unreadable, or is that of another training.
        """
        try:
            with safe_open(checkpoint, "pt") as file:
                header = json.loads(file.metadata()[HEADER])
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
            written = header.pop("settings")
        except (OSError, SafetensorError, ValueError, TypeError, KeyError) as error:
            raise ModelFilesDamaged(
                f"{checkpoint} is no checkpoint. Delete it, and train from the start."
            ) from error
        if written != asdict(self.settings):
            raise ModelFilesDamaged(
                f"{checkpoint} was left by a training with other settings. Finish that one, or delete it."
            )
        vars(self).update(header)
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                parameter.copy_(tensors[name])
                moments = {moment: tensors[f"{moment} of {name}"] for moment in MOMENTS}
                self.optimizer.state[parameter] = {"step": torch.tensor(float(self.done)), **moments}

    def _exercises(self) -> Exercises:
        epoch, place = divmod(self.done, len(self.corpus))
        if place == 0 or not self._order:
            self._order = self.corpus.epoch(_mixed(self.settings.seed, epoch))
        return self.corpus.batch(*self._order[place])


def learning_rate(settings: Settings, step: int) -> float:
    """Of one step, counted from 1: it grows evenly during the warm-up and then falls evenly, almost to 0."""
    growing = step / settings.warm_up
    falling = (settings.steps + 1 - step) / (settings.steps + 1 - settings.warm_up)
    return settings.learning_rate * min(growing, falling)


def _mixed(seed: int, number: int) -> int:
    """One seed for each number, other ones for every seed."""
    return seed << 32 | number
