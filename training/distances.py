"""Train recurrent networks and a transformer on the same sentences, and evaluate them by distance.

`python -m training.distances` trains each with two learning rates and three seeds, and writes the results
and the weights of the first seed with the better rate. It takes half an hour on one core.
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
"""Folder with the weights of one training run of each network."""

MAX_TRAINED_CLAUSES = 6
"""Maximum number of clauses inserted into a training sentence."""

SENTENCES = 300
"""Number of test sentences for each number of clauses."""

SIZES = Sizes(decoder_layers=2)
"""Sizes of the transformer."""

LEARNING_RATES = (6e-3, 2e-3)
"""Learning rates that are tried for every network with every seed."""

SEEDS = (0, 1, 2)

_AT_ONCE = 100  # sentences
_MEASURED_SEED, _TUNED_SEED = 1, 2
_TUNED_ON = 40  # validation sentences for each number of clauses


def settings(learning_rate: float, seed: int) -> Settings:
    """Return the settings of a training run, without attention loss."""
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
    """Return training sentences with 0 to 6 inserted clauses, uniformly distributed.

    Args:
        count: Number of candidates; sentences that cannot be lengthened are skipped.
    """
    dice = random.Random(seed)  # noqa: S311 - sentences are no secret
    sentences = filter(None, map(Elastic.of, splits.training(count, seed)))
    return [it.stretched(clauses(dice, dice.randint(0, MAX_TRAINED_CLAUSES))).pair for it in sentences]


def to_measure(count: int, inserted: int, seed: int = _MEASURED_SEED) -> list[Elastic]:
    """Return held-out minimal pairs of sentences with inserted clauses.

    Args:
        count: Number of sentences, which are the same for any number of clauses.
        inserted: Number of clauses; each further clause is added after the others.
    """
    dice = random.Random(seed)  # noqa: S311 - sentences are no secret
    stretched = []
    for readings in splits.minimal_pairs(count // 2, seed):
        put_in = clauses(dice, MAX_CLAUSES)[:inserted]
        stretched += [it.stretched(put_in) for it in filter(None, map(Elastic.of, readings))]
    return stretched


def to_tune_on() -> list[Pair]:
    """Return validation sentences of every training length, for tuning; none is a test sentence."""
    measured = {sentence.pair.source for sentence in to_measure(SENTENCES, 0)}
    short = to_measure(_TUNED_ON, 0, _TUNED_SEED)
    return [
        long.pair
        for inserted in range(MAX_TRAINED_CLAUSES + 1)
        for long, before in zip(to_measure(_TUNED_ON, inserted, _TUNED_SEED), short, strict=True)
        if before.pair.source not in measured
    ]


def train(name: Name, chosen: Settings) -> Iterator[Progress[Network]]:
    """Train a network, with the same loop for all networks."""
    return learn(chosen, build(name, chosen.seed), _corpus(chosen.sentences, chosen.seed, chosen.batch))


def build(name: Name, seed: int) -> Network:
    """Return an untrained network."""
    if name == "transformer":
        return translator.build(SIZES, seed)
    return recurrent.build(seed, attention=name == "lstm_attention")


@lru_cache(maxsize=1)
def _corpus(sentences: int, seed: int, batch: int) -> Corpus:
    return Corpus(to_learn_from(sentences, seed), batch)


def right(model: nn.Module, some: Iterable[Exercises]) -> int:
    """Count the translations that are correct word for word.

    A word is correct if it is the most likely one after the reference's earlier words; greedy decoding then
    generates the same translation.
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
    """Evaluate a trained network at each length."""
    of_length = (
        [each.pair for each in to_measure(SENTENCES, inserted)] for inserted in range(MAX_CLAUSES + 1)
    )
    return tuple(point(model, pairs) for pairs in of_length)


def point(model: nn.Module, pairs: Sequence[Pair]) -> Point:
    """Evaluate a network on sentences with a pronoun."""
    some = list(portions(pairs))
    return Point(right(model, some), sum(pronouns_right(model, exercises) for exercises in some))


def pronouns_right(model: nn.Module, exercises: Exercises) -> int:
    """Count the sentences in which the correct one of "il" and "elle" is more likely than the other."""
    model.eval()
    with torch.no_grad():
        logits = model(exercises.source, exercises.target).logits
    every = torch.arange(len(logits))
    scores = logits[every, exercises.pronoun]
    right = exercises.following[every, exercises.pronoun]
    wrong = sum(FRENCH.ids(("il", "elle"))) - right
    return int((scores[every, right] > scores[every, wrong]).sum())


def portions(pairs: Sequence[Pair]) -> Iterator[Exercises]:
    """Return batches of sentences of equal length."""
    corpus = Corpus(pairs, _AT_ONCE)
    return (corpus.batch(*some) for some in corpus.epoch(0))


def kept(name: Name) -> nn.Module:
    """Load the saved network."""
    file = WEIGHTS / f"distance-{name}.safetensors"
    if name == "transformer":
        return Translator.load(file).model
    return recurrent.load(file, attention=name == "lstm_attention")


def compete() -> tuple[Distances, dict[Name, Network]]:
    """Train and evaluate each network with each setting; return the results and the networks to save."""
    tuned_on = list(portions(to_tune_on()))
    runs, trained = list[Run](), dict[tuple[Name, float, int], Network]()
    for name, learning_rate, seed in product(NAMES, LEARNING_RATES, SEEDS):
        chosen = settings(learning_rate, seed)
        for progress in train(name, chosen):
            if progress.step % 100 == 0:
                print(f"{name}, rate {learning_rate}, seed {seed}: step {progress.step}", flush=True)
        model = progress.model
        tuned = right(model, tuned_on)
        # Files have float16 numbers, so evaluate the rounded weights.
        runs.append(Run(name, learning_rate, seed, chosen.steps, tuned, points(model.half().float())))
        trained[name, learning_rate, seed] = model
    stretched = (to_measure(SENTENCES, inserted) for inserted in range(MAX_CLAUSES + 1))
    words = tuple(sum(each.words_apart for each in some) / len(some) for some in stretched)
    found = Distances(SENTENCES, MAX_TRAINED_CLAUSES, words, tuple(runs))
    chosen_runs = {name: found.chosen(name)[0] for name in NAMES}
    return found, {name: trained[name, run.learning_rate, run.seed] for name, run in chosen_runs.items()}


def write(found: Distances, file: Path) -> None:
    """Write results in the format of `distance.read`."""
    stored = asdict(found)
    for run in stored["runs"]:
        run["curve"] = [{"step": run["steps"], "exact": run.pop("tuned")}]
    file.write_text(json.dumps(stored, indent=1) + "\n", "utf-8")


def main() -> None:
    """Regenerate the results and the weights."""
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
