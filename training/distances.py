"""Train recurrent networks and a transformer on the same sentences, and evaluate them by distance.

`python -m training.distances` trains each with two learning rates and three seeds, and writes the results
and the weights of the first seed with the better rate. It takes half an hour on one core.
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
from training.lengthening import MAX_CLAUSES, can_be_longer, clauses, lengthened
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
"""Learning rates that are tried for every network with every seed."""

SEEDS = (0, 1, 2)

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
    rng = random.Random(seed)  # noqa: S311 - sentences are no secret
    sentences = filter(can_be_longer, splits.training(count, seed))
    return [lengthened(pair, clauses(rng, rng.randint(0, MAX_TRAINED_CLAUSES))) for pair in sentences]


def to_measure(count: int, inserted: int, seed: int = _MEASURED_SEED) -> list[Pair]:
    """Return held-out minimal pairs of sentences with inserted clauses.

    Args:
        count: Number of sentences, which are the same for any number of clauses.
        inserted: Number of clauses; each further clause is added after the others.
    """
    rng = random.Random(seed)  # noqa: S311 - sentences are no secret
    longer = []
    for readings in splits.minimal_pairs(count // 2, seed):
        put_in = clauses(rng, MAX_CLAUSES)[:inserted]
        longer += [lengthened(pair, put_in) for pair in readings if can_be_longer(pair)]
    return longer


def to_tune_on() -> list[Pair]:
    """Return validation sentences of every training length, for tuning; none is a test sentence."""
    measured = {pair.source for pair in to_measure(SENTENCES, 0)}
    short = to_measure(_TUNED_ON, 0, _TUNED_SEED)
    return [
        long
        for inserted in range(MAX_TRAINED_CLAUSES + 1)
        for long, before in zip(to_measure(_TUNED_ON, inserted, _TUNED_SEED), short, strict=True)
        if before.source not in measured
    ]


def words_apart(pairs: Sequence[Pair]) -> float:
    """Return the mean distance of "it" from its referent, in words."""
    pronouns = [pair.pronoun for pair in pairs if pair.pronoun]
    return sum(it.source - it.referent for it in pronouns) / len(pairs)


def build(name: Name, seed: int = 0) -> nn.Module:
    """Return an untrained network."""
    if name == "transformer":
        return translator.build(SIZES, seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return RecurrentEncoderDecoder(attention=name == "lstm_attention")


def kept(name: Name) -> nn.Module:
    """Load the saved network, in float32."""
    model = build(name)
    model.load_state_dict(load_file(_file(name)))
    return model


def _file(name: Name) -> Path:
    return WEIGHTS / f"distance-{name}.safetensors"


def count_right(model: nn.Module, pairs: Sequence[Pair]) -> tuple[int, int]:
    """Count the correct translations, and the correct ones of "il" and "elle", of sentences with a pronoun.

    A translation is correct word for word if each word is the most likely one after the reference's earlier
    words; greedy decoding then generates it. A pronoun is correct if it is more likely than the other one.
    """
    exact = pronoun = 0
    model.eval()
    corpus = Corpus(pairs, batch=100)
    for batch in (corpus.batch(*each) for each in corpus.epoch(0)):
        labels = batch.labels
        with torch.no_grad():
            logits = model(batch.source, batch.target).logits
        written = logits.argmax(dim=-1)
        exact += int(((labels == PADDING) | (written == labels)).all(dim=1).sum())
        every = torch.arange(len(logits))
        scores, right = logits[every, batch.pronoun], labels[every, batch.pronoun]
        wrong = sum(FRENCH.ids(("il", "elle"))) - right
        pronoun += int((scores[every, right] > scores[every, wrong]).sum())
    return exact, pronoun


def main() -> None:
    """Regenerate the results, and the weights of each network's first seed with its better rate."""
    tested = [to_measure(SENTENCES, inserted) for inserted in range(MAX_CLAUSES + 1)]
    tuned_on = to_tune_on()
    runs, trained = list[Run](), dict[tuple[Name, float, int], nn.Module]()
    for name, learning_rate, seed in product(NAMES, LEARNING_RATES, SEEDS):
        chosen = settings(learning_rate, seed)
        corpus = Corpus(to_learn_from(chosen.sentences, seed), chosen.batch)
        training = learn(chosen, build(name, seed), corpus)
        model = figures.finished(training, f"{name}, rate {learning_rate}, seed {seed}")
        tuned, _ = count_right(model, tuned_on)
        exact, pronoun = zip(*(count_right(model, pairs) for pairs in tested), strict=True)
        runs.append(Run(name, learning_rate, seed, chosen.steps, tuned, exact, pronoun))
        trained[name, learning_rate, seed] = model
    found = Distances(SENTENCES, MAX_TRAINED_CLAUSES, [*map(words_apart, tested)], runs)
    distance.FILE.write_text(json.dumps(asdict(found)) + "\n", "utf-8")
    for name in NAMES:
        run = found.chosen(name)[0]
        tensors = trained[name, run.learning_rate, run.seed].state_dict()
        save_file({key: tensor.half() for key, tensor in tensors.items()}, _file(name))


if __name__ == "__main__":
    main()
