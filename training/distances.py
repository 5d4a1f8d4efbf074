"""Train recurrent networks and a transformer on the same sentences, and test them at several distances.

`python -m training.distances` trains each network with two learning rates and three seeds, and writes the
results and the weights of the first seed with the better rate. It takes half an hour on one core.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import nn

from attnviz.trained.translator import distance, splits, translator
from attnviz.trained.translator.distance import NAMES, Distances, Name, Run
from attnviz.trained.translator.grammar import Pair
from attnviz.trained.translator.training import Settings, learn
from attnviz.trained.translator.training_batch import PADDING, Corpus
from attnviz.trained.translator.translator import Sizes
from attnviz.trained.translator.vocabulary import FRENCH
from training import figures
from training.lengthening import MAX_CLAUSES, can_be_lengthened, clauses, lengthened
from training.recurrent import RecurrentEncoderDecoder

WEIGHTS = Path(__file__).with_name("weights")
"""Folder with the weights of one training run of each network."""

MAX_TRAINED_CLAUSES = 6
"""Maximum number of clauses inserted into a training sentence."""

SENTENCES = 300
"""Number of test sentences for each number of clauses."""

SIZES = Sizes(decoder_layers=2)
"""Sizes of the transformer."""

LEARNING_RATES = (6e-3, 2e-3)
"""Learning rates to try for every network with every seed."""

SEEDS = (0, 1, 2)

_TEST_SEED, _VALIDATION_SEED = 1, 2
_VALIDATION_SENTENCES = 40  # validation sentences for each number of clauses


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


def training_sentences(count: int, seed: int) -> list[Pair]:
    """Return training sentences with 0 to 6 inserted clauses, uniformly distributed.

    Args:
        count: Number of candidates; sentences that cannot be lengthened are skipped.
    """
    generator = random.Random(seed)  # noqa: S311 - not for security
    sentences = filter(can_be_lengthened, splits.training(count, seed))
    return [
        lengthened(pair, clauses(generator, generator.randint(0, MAX_TRAINED_CLAUSES))) for pair in sentences
    ]


def held_out_sentences(count: int, inserted: int, seed: int = _TEST_SEED) -> list[Pair]:
    """Return the sentences of held-out minimal pairs, with inserted clauses.

    Args:
        count: Number of sentences; before lengthening, they are the same for every number of clauses.
        inserted: Number of clauses; the first clauses are the same for every number.
    """
    generator = random.Random(seed)  # noqa: S311 - not for security
    longer = []
    for minimal_pair in splits.minimal_pairs(count // 2, seed):
        chosen = clauses(generator, MAX_CLAUSES)[:inserted]
        longer += [lengthened(pair, chosen) for pair in minimal_pair if can_be_lengthened(pair)]
    return longer


def validation_sentences() -> list[Pair]:
    """Return validation sentences with 0 to 6 clauses; none is a test sentence."""
    tested = {pair.source for pair in held_out_sentences(SENTENCES, 0)}
    short = held_out_sentences(_VALIDATION_SENTENCES, 0, _VALIDATION_SEED)
    return [
        long
        for inserted in range(MAX_TRAINED_CLAUSES + 1)
        for long, original in zip(
            held_out_sentences(_VALIDATION_SENTENCES, inserted, _VALIDATION_SEED), short, strict=True
        )
        if original.source not in tested
    ]


def mean_distance(pairs: Sequence[Pair]) -> float:
    """Return the mean distance from "it" to its referent, in words."""
    pronouns = [pair.pronoun for pair in pairs if pair.pronoun]
    return sum(it.source - it.referent for it in pronouns) / len(pairs)


def build(name: Name, seed: int = 0) -> nn.Module:
    """Return an untrained network."""
    if name == "transformer":
        return translator.build(SIZES, seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return RecurrentEncoderDecoder(attention=name == "lstm_attention")


def load(name: Name) -> nn.Module:
    """Load a saved network, in float32."""
    model = build(name)
    model.load_state_dict(load_file(_file(name)))
    return model


def _file(name: Name) -> Path:
    return WEIGHTS / f"distance-{name}.safetensors"


def count_correct(model: nn.Module, pairs: Sequence[Pair]) -> tuple[int, int]:
    """Count the correct translations, and the correct pronouns, of sentences with a pronoun.

    A translation is correct if each word of the reference is the most likely word after the preceding words,
    because greedy decoding then generates the reference. A pronoun is correct if the word of the reference,
    "il" or "elle", is the more likely of the two.
    """
    exact = pronoun = 0
    model.eval()
    corpus = Corpus(pairs, batch=100)
    for batch in (corpus.batch(*each) for each in corpus.epoch(0)):
        labels = batch.labels
        with torch.no_grad():
            logits = model(batch.source, batch.target).logits
        predicted = logits.argmax(dim=-1)
        exact += int(((labels == PADDING) | (predicted == labels)).all(dim=1).sum())
        rows = torch.arange(len(logits))
        scores, correct = logits[rows, batch.pronoun], labels[rows, batch.pronoun]
        wrong = sum(FRENCH.ids(("il", "elle"))) - correct
        pronoun += int((scores[rows, correct] > scores[rows, wrong]).sum())
    return exact, pronoun


def main() -> None:
    """Regenerate the results, and the weights of each network's first seed with the better rate."""
    tested = [held_out_sentences(SENTENCES, inserted) for inserted in range(MAX_CLAUSES + 1)]
    validation = validation_sentences()
    runs, trained = list[Run](), dict[tuple[Name, float, int], nn.Module]()
    for name, learning_rate, seed in product(NAMES, LEARNING_RATES, SEEDS):
        chosen = settings(learning_rate, seed)
        corpus = Corpus(training_sentences(chosen.sentences, seed), chosen.batch)
        training = learn(chosen, build(name, seed), corpus)
        model = figures.train_to_end(training, f"{name}, rate {learning_rate}, seed {seed}")
        tuned, _ = count_correct(model, validation)
        exact, pronoun = zip(*(count_correct(model, pairs) for pairs in tested), strict=True)
        runs.append(Run(name, learning_rate, seed, chosen.steps, tuned, exact, pronoun))
        trained[name, learning_rate, seed] = model
    distances = Distances(SENTENCES, MAX_TRAINED_CLAUSES, [*map(mean_distance, tested)], runs)
    distance.FILE.write_text(json.dumps(asdict(distances)) + "\n", "utf-8")
    for name in NAMES:
        run = distances.chosen(name)[0]
        tensors = trained[name, run.learning_rate, run.seed].state_dict()
        save_file({key: tensor.half() for key, tensor in tensors.items()}, _file(name))


if __name__ == "__main__":
    main()
