"""Train recurrent networks and a transformer on the same sentences, and measure them by distance.

`python -m training.distances` trains each with two learning rates and three seeds, and writes the results
and the weights of the first seed with the better rate. It takes half an hour of one core.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import TypeAlias

import torch
from torch import nn

from attnviz.trained.training import Progress
from attnviz.trained.translator import distance, splits, translator
from attnviz.trained.translator.distance import NAMES, Distances, Name, Point, Run
from attnviz.trained.translator.exercises import PADDING, Corpus, Exercises
from attnviz.trained.translator.grammar import Pair
from attnviz.trained.translator.training import Settings, learn
from attnviz.trained.translator.translator import Sizes, Translator
from attnviz.trained.translator.vocabulary import FRENCH
from attnviz.transformer.encoder_decoder import EncoderDecoder
from training import recurrent
from training.lengthening import MAX_CLAUSES, Elastic, clauses
from training.recurrent import RecurrentEncoderDecoder

Network: TypeAlias = RecurrentEncoderDecoder | EncoderDecoder

WEIGHTS = Path(__file__).with_name("weights")
"""The weights of one training of each network."""

MAX_TRAINED_CLAUSES = 6
"""The most clauses that are put into a sentence to learn from."""

SENTENCES = 300
"""How many are measured for each number of clauses."""

SIZES = Sizes(decoder_layers=2)
"""Of the transformer."""

LEARNING_RATES = (6e-3, 2e-3)
"""The settings that are tried, alike for every network, each with every seed."""

SEEDS = (0, 1, 2)

_AT_ONCE = 100  # sentences
_MEASURED_SEED, _TUNED_SEED = 1, 2
_TUNED_ON = 40  # sentences that are looked for, for each number of clauses


def settings(learning_rate: float, seed: int) -> Settings:
    """Return what a training follows from; no network has an attention loss."""
    return Settings(
        variant="unguided",
        seed=seed,
        steps=3000,
        batch=32,
        learning_rate=learning_rate,
        sentences=40_000,
        sizes=SIZES,
    )


def to_learn_from(count: int, seed: int) -> list[Pair]:
    """Return sentences with 0 to 6 clauses put in, each number equally often, none of them held out.

    Args:
        count: of the sentences that are tried; those that cannot be longer are left out.
    """
    dice = random.Random(seed)  # noqa: S311 - sentences are no secret
    sentences = filter(None, map(Elastic.of, splits.training(count, seed)))
    return [it.stretched(clauses(dice, dice.randint(0, MAX_TRAINED_CLAUSES))).pair for it in sentences]


def to_measure(count: int, inserted: int, seed: int = _MEASURED_SEED) -> list[Elastic]:
    """Return held-out minimal pairs of sentences, with clauses put in.

    Args:
        count: of the sentences; they are the same ones whatever is put in.
        inserted: how many clauses; one more is added after those that were there before.
    """
    dice = random.Random(seed)  # noqa: S311 - sentences are no secret
    stretched = []
    for readings in splits.minimal_pairs(count // 2, seed):
        put_in = clauses(dice, MAX_CLAUSES)[:inserted]
        stretched += [it.stretched(put_in) for it in filter(None, map(Elastic.of, readings))]
    return stretched


def to_tune_on() -> list[Pair]:
    """Return sentences of every length learned from, to choose a learning rate by; they are not measured."""
    measured = {sentence.pair.source for sentence in to_measure(SENTENCES, 0)}
    short = to_measure(_TUNED_ON, 0, _TUNED_SEED)
    return [
        long.pair
        for inserted in range(MAX_TRAINED_CLAUSES + 1)
        for long, before in zip(to_measure(_TUNED_ON, inserted, _TUNED_SEED), short, strict=True)
        if before.pair.source not in measured
    ]


def train(name: Name, chosen: Settings) -> Iterator[Progress[Network]]:
    """Train a network; every network learns alike."""
    return learn(chosen, build(name, chosen.seed), _corpus(chosen.sentences, chosen.seed, chosen.batch))


def build(name: Name, seed: int) -> Network:
    """Return a network that has learned nothing yet."""
    if name == "transformer":
        return translator.build(SIZES, seed)
    return recurrent.build(seed, attention=name == "lstm_attention")


@lru_cache(maxsize=1)
def _corpus(sentences: int, seed: int, batch: int) -> Corpus:
    return Corpus(to_learn_from(sentences, seed), batch)


def right(model: nn.Module, some: Iterable[Exercises]) -> int:
    """Count the translations all of whose words are right.

    A word is right if it is the most probable one after the right ones before it. So the network also writes
    such a translation by itself.
    """
    exact = 0
    model.eval()
    for exercises in some:
        with torch.no_grad():
            written = model(exercises.source, exercises.target).logits.argmax(dim=-1)
        padding = exercises.following == PADDING
        exact += int((padding | (written == exercises.following)).all(dim=1).sum())
    return exact


def points(model: nn.Module) -> tuple[Point, ...]:
    """Measure a trained network at each length."""
    of_length = (
        [each.pair for each in to_measure(SENTENCES, inserted)] for inserted in range(MAX_CLAUSES + 1)
    )
    return tuple(point(model, pairs) for pairs in of_length)


def point(model: nn.Module, pairs: Sequence[Pair]) -> Point:
    """Measure a network on sentences with a pronoun."""
    some = list(portions(pairs))
    return Point(right(model, some), sum(pronouns_right(model, exercises) for exercises in some))


def pronouns_right(model: nn.Module, exercises: Exercises) -> int:
    """Count the sentences in which the right one of "il" and "elle" is the more probable one."""
    model.eval()
    with torch.no_grad():
        logits = model(exercises.source, exercises.target).logits
    every = torch.arange(len(logits))
    scores = logits[every, exercises.pronoun]
    right = exercises.following[every, exercises.pronoun]
    wrong = sum(FRENCH.ids(("il", "elle"))) - right
    return int((scores[every, right] > scores[every, wrong]).sum())


def portions(pairs: Sequence[Pair]) -> Iterator[Exercises]:
    """Return equally long sentences at a time."""
    corpus = Corpus(pairs, _AT_ONCE)
    return (corpus.batch(*some) for some in corpus.epoch(0))


def kept(name: Name) -> nn.Module:
    """Read the network whose weights are kept."""
    file = WEIGHTS / f"distance-{name}.safetensors"
    if name == "transformer":
        return Translator.load(file).model
    return recurrent.load(file, attention=name == "lstm_attention")


def compete() -> tuple[Distances, dict[Name, Network]]:
    """Train and measure each network with each setting; return the results and the networks to keep."""
    tuned_on = list(portions(to_tune_on()))
    runs, trained = list[Run](), dict[tuple[Name, float, int], Network]()
    for name, learning_rate, seed in product(NAMES, LEARNING_RATES, SEEDS):
        chosen = settings(learning_rate, seed)
        for progress in train(name, chosen):
            if progress.step % 100 == 0:
                print(f"{name}, rate {learning_rate}, seed {seed}: step {progress.step}", flush=True)
        model = progress.model
        tuned = right(model, tuned_on)
        # Files hold numbers in float16: what is measured is what a file gives back.
        runs.append(Run(name, learning_rate, seed, chosen.steps, tuned, points(model.half().float())))
        trained[name, learning_rate, seed] = model
    stretched = (to_measure(SENTENCES, inserted) for inserted in range(MAX_CLAUSES + 1))
    words = tuple(sum(each.words_apart for each in some) / len(some) for some in stretched)
    found = Distances(SENTENCES, MAX_TRAINED_CLAUSES, words, tuple(runs))
    chosen_runs = {name: found.chosen(name)[0] for name in NAMES}
    return found, {name: trained[name, run.learning_rate, run.seed] for name, run in chosen_runs.items()}


def write(found: Distances, file: Path) -> None:
    """Write results that `distance.read` reads."""
    stored = asdict(found)
    for run in stored["runs"]:
        run["curve"] = [{"step": run["steps"], "exact": run.pop("tuned")}]
    file.write_text(json.dumps(stored, indent=1) + "\n", "utf-8")


def main() -> None:
    """Make the results and the weights anew."""
    found, networks = compete()
    for name, network in networks.items():
        file = WEIGHTS / f"distance-{name}.safetensors"
        if isinstance(network, EncoderDecoder):
            Translator(network, SIZES, {}).save(file)
        else:
            recurrent.save(network, file)
    write(found, distance.FILE)


if __name__ == "__main__":
    main()
