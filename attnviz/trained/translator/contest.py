"""Train recurrent networks and a transformer on the same sentences, and measure them by distance."""

from __future__ import annotations

import copy
import hashlib
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from attnviz.errors import ModelFilesDamaged
from attnviz.trained.translator import distance, recurrent, splits, translator
from attnviz.trained.translator.distance import (
    COMMAND,
    GENDERS,
    NAMES,
    Distances,
    Gender,
    Head,
    Looks,
    Moment,
    Name,
    Point,
    Run,
    weights_of,
)
from attnviz.trained.translator.exercises import PADDING, Corpus, Exercises
from attnviz.trained.translator.grammar import Pair
from attnviz.trained.translator.lengthening import MOST, Elastic, clauses
from attnviz.trained.translator.recurrent import RecurrentSteps, RecurrentTranslator
from attnviz.trained.translator.training import Network, Settings, Training
from attnviz.trained.translator.translator import Sizes, Translator
from attnviz.trained.translator.variants import WEIGHTS
from attnviz.trained.translator.vocabulary import FRENCH
from attnviz.transformer.encoder_decoder import EncoderDecoder, EncoderDecoderSteps

Trained = RecurrentTranslator | Translator

LONGEST_LEARNED = 6
"""The most clauses that are put into a sentence to learn from."""

SENTENCES = 300
"""How many are measured for each number of clauses."""

SIZES = Sizes(decoder_layers=2)
"""Of the transformer."""

LEARNING_RATES = (6e-3, 2e-3)
"""The settings that are tried, alike for every network, each with every seed."""

SEEDS = (0, 1, 2)
STEPS = 3000
BATCH = 32

_AT_ONCE = 100  # sentences
_MEASURED_SEED, _TUNED_SEED = 1, 2
_MOMENTS = 20  # of a learning curve
_TUNED_ON = 40  # sentences that are looked for, for each number of clauses


def settings(learning_rate: float, seed: int) -> Settings:
    """What a training follows from; no network is told where to look."""
    return Settings(
        variant="untold",
        seed=seed,
        steps=STEPS,
        batch=BATCH,
        learning_rate=learning_rate,
        sentences=40_000,
        sizes=SIZES,
    )


def to_learn_from(count: int, seed: int) -> list[Pair]:
    """Sentences with 0 to 6 clauses put in, each number equally often, none of them held out.

    Args:
        count: of the sentences that are tried; those that cannot be longer are left out.
    """
    dice = random.Random(seed)  # noqa: S311 - sentences are no secret
    sentences = filter(None, map(Elastic.of, splits.training(count, seed)))
    return [it.stretched(clauses(dice, dice.randint(0, LONGEST_LEARNED))).pair for it in sentences]


def to_measure(count: int, inserted: int, seed: int = _MEASURED_SEED) -> list[Elastic]:
    """Minimal pairs of sentences whose like no network learned from, with clauses put in.

    Args:
        count: of the sentences; they are the same ones whatever is put in.
        inserted: how many clauses; one more is added after those that were there before.
    """
    dice = random.Random(seed)  # noqa: S311 - sentences are no secret
    stretched = []
    for readings in splits.minimal_pairs(count // 2, seed):
        put_in = clauses(dice, MOST)[:inserted]
        stretched += [it.stretched(put_in) for it in filter(None, map(Elastic.of, readings))]
    return stretched


def to_tune_on() -> list[Pair]:
    """Sentences of every length learned from, to choose a learning rate by; they are not measured."""
    measured = {sentence.pair.source for sentence in to_measure(SENTENCES, 0)}
    short = to_measure(_TUNED_ON, 0, _TUNED_SEED)
    return [
        long.pair
        for inserted in range(LONGEST_LEARNED + 1)
        for long, before in zip(to_measure(_TUNED_ON, inserted, _TUNED_SEED), short, strict=True)
        if before.pair.source not in measured
    ]


def build(name: Name, seed: int) -> Network:
    """A network that has learned nothing yet."""
    if name == "transformer":
        return translator.build(SIZES, seed)
    return recurrent.build(seed, attention=name == "lstm_attention")


def train(name: Name, learning_rate: float, seed: int) -> Iterator[tuple[Training, list[Moment]]]:
    """Learn; every network learns alike.

    Yields:
        After each step: how far the training is, and its learning curve up to there.
    """
    chosen = settings(learning_rate, seed)
    training = Training(chosen, build(name, seed), _corpus(chosen.sentences, seed))
    tuned_on, curve = list(portions(to_tune_on())), list[Moment]()
    while training.done < chosen.steps:
        training.step()
        if training.done % (chosen.steps // _MOMENTS) == 0:
            curve.append(Moment(training.done, right(training.model, tuned_on).exact))
        yield training, curve


@lru_cache(maxsize=1)
def _corpus(sentences: int, seed: int) -> Corpus:
    return Corpus(to_learn_from(sentences, seed), BATCH)


class Right(NamedTuple):
    """How many translations are right, word for word, and the share of right words."""

    exact: int
    words: float


def right(model: Network, some: Iterable[Exercises]) -> Right:
    """What a network gets right: a word, if it is the most probable one after the right ones before it.

    So a translation all of whose words are right is also the one that the network writes by itself.
    """
    exact = words = of_all = 0
    model.eval()
    for exercises in some:
        with torch.no_grad():
            written = model(exercises.source, exercises.target).logits.argmax(dim=-1)
        asked, same = exercises.following != PADDING, written == exercises.following
        exact += int((same | ~asked).all(dim=1).sum())
        words += int((same & asked).sum())
        of_all += int(asked.sum())
    return Right(exact, words / of_all)


class Networks(NamedTuple):
    """The trained networks whose weights are kept, named as in `NAMES`."""

    lstm: RecurrentTranslator
    lstm_attention: RecurrentTranslator
    transformer: Translator


def load(folder: Path = WEIGHTS) -> Networks:
    """The kept networks, whose weights are the very ones that were measured.

    Raises:
        ModelFilesDamaged: a file is missing or damaged; the message names the command that makes it.
    """
    found = distance.read(folder)
    for name in NAMES:
        file = weights_of(name, folder)
        if not file.exists() or _digest(file) != found.digests[name]:
            raise ModelFilesDamaged(
                f"{file} is missing or was changed. Make it again with: {COMMAND} --out {folder}"
            )
    return _loaded(folder)


def compete(folder: Path) -> Iterator[tuple[Name, Training]]:
    """Train and measure each network with each setting; each result is written down as soon as it is there.

    Args:
        folder: of the figures and weights; a training whose figures are there is not repeated.

    Yields:
        The network and how far its training is, after each step.
    """
    found = distance.read(folder) if distance.exists(folder) else _nothing_trained()
    # The first seed comes last: only then is it known whether its weights are those that are kept.
    for name, learning_rate, seed in product(NAMES, LEARNING_RATES, reversed(SEEDS)):
        which = (name, learning_rate, seed, STEPS)
        if any((run.name, run.learning_rate, run.seed, run.steps) == which for run in found.runs):
            continue
        for training, curve in train(name, learning_rate, seed):  # noqa: B007 - needed when it has ended
            yield name, training
        # Files hold numbers in float16: what is measured is what a file gives back.
        trained = _trained(training.model.half().float())
        parameters = sum(parameter.numel() for parameter in training.model.parameters())
        done = Run(
            *which, training.processor_seconds, parameters, tuple(curve), *examined(name, seed, trained)
        )
        found = replace(found, runs=(*found.runs, done))
        if found.chosen(name)[0] == done:
            file = weights_of(name, folder)
            trained.save(file)
            found = replace(found, digests={**found.digests, name: _digest(file)})
        distance.write(found, folder)


def measure(folder: Path, tell: Callable[[str, float], None] = lambda _doing, _done: None) -> Distances:
    """What was measured, with that of the kept weights measured again.

    Args:
        tell: called before each step, with what is measured and how much is done (0 to 1).
    """
    found, networks = distance.read(folder), _loaded(folder)
    again = {}
    for at, name in enumerate(NAMES):

        def length(inserted: int, at: int = at, name: Name = name) -> None:
            tell(f"{name}: clauses put in: {inserted}", (at + inserted / (MOST + 1)) / len(NAMES))

        kept = found.chosen(name)[0]
        points, looks = examined(name, kept.seed, getattr(networks, name), length)
        again[kept.name, kept.learning_rate, kept.seed] = replace(kept, points=points, looks=looks)
    return replace(
        found,
        runs=tuple(again.get((run.name, run.learning_rate, run.seed), run) for run in found.runs),
        digests={name: _digest(weights_of(name, folder)) for name in NAMES},
    )


def examined(
    name: Name, seed: int, trained: Trained, tell: Callable[[int], None] = lambda _inserted: None
) -> tuple[tuple[Point, ...], Looks | None]:
    """What a trained network does at each length, and where it looks if it is a transformer.

    `tell` is called before each length, with how many clauses were put in.
    """
    stretched = [to_measure(SENTENCES, inserted) for inserted in range(MOST + 1)]
    model, untrained = copy.deepcopy(trained.model).requires_grad_(), build(name, seed)
    points = []
    for inserted, some in enumerate(stretched):
        tell(inserted)
        pairs = [each.pair for each in some]
        points.append(Point(*measured(model, pairs), measured(untrained, pairs)[-1]))
    return tuple(points), looking_heads(trained, stretched) if isinstance(trained, Translator) else None


def measured(model: Network, pairs: Sequence[Pair]) -> tuple[int, float, int, float]:
    """How a network does on sentences of one length: the first four of `Point`."""
    some = list(portions(pairs))
    said = right(model, some)
    odds, gradients = zip(*(reactions(model, exercises) for exercises in some), strict=True)
    return *said, int((torch.cat(odds) > 0).sum()), float(torch.cat(gradients).quantile(0.5))


def portions(pairs: Sequence[Pair]) -> Iterator[Exercises]:
    """Equally long sentences at a time."""
    corpus = Corpus(pairs, _AT_ONCE)
    return (corpus.batch(*some) for some in corpus.epoch(0))


def reactions(
    model: Network, exercises: Exercises
) -> tuple[Float[Tensor, " sentence"], Float[Tensor, " sentence"]]:
    """How sure the network is of the right pronoun, and how strongly that reacts to the noun that is meant.

    The first is the log-odds of "il" and "elle", log p(right) − log p(wrong). Unlike log p(right), it does
    not stop moving once the network is sure. The second is ‖x‖ · ‖∂ log-odds / ∂x‖, where x is the vector of
    the noun: by so much the log-odds can move, to first order, if x moves by its own length. Without ‖x‖, a
    network with shorter vectors would seem to react more strongly.
    """
    steps: RecurrentSteps | EncoderDecoderSteps = model(exercises.source, exercises.target)
    vectors = steps.words if isinstance(steps, RecurrentSteps) else steps.source.words
    every = torch.arange(len(vectors))
    scores = steps.logits[every, exercises.pronoun]
    right = exercises.following[every, exercises.pronoun]
    wrong = sum(FRENCH.ids(("il", "elle"))) - right
    odds = scores[every, right] - scores[every, wrong]
    (gradients,) = torch.autograd.grad(odds.sum(), vectors)
    noun = every, exercises.referent
    reaction = torch.linalg.vector_norm(vectors[noun], dim=-1) * torch.linalg.vector_norm(
        gradients[noun], dim=-1
    )
    return odds.detach(), reaction.detach()


def looking_heads(transformer: Translator, stretched: Sequence[Sequence[Elastic]]) -> Looks:
    """The heads that look back at the noun, one for each gender, and the one that looks across at the reason.

    Args:
        stretched: sentences, for 0, 1, 2 … inserted clauses; the heads are chosen at lengths learned from.
            Every length has sentences of both genders.
    """
    back: dict[Gender, list[list[Tensor]]] = {gender: [] for gender in GENDERS}
    across = []
    for sentences in stretched:
        rows = [(sentence, *pronoun_rows(transformer, sentence)) for sentence in sentences]
        for gender, weights in back.items():
            weights.append(
                [
                    # The decoder reads [START] before the first word.
                    looks[..., sentence.named.start + 1 : sentence.named.stop + 1].sum(dim=-1)
                    for sentence, looks, _ in rows
                    if sentence.pair.target[sentence.it.target] == gender
                ]
            )
        across.append([looks[..., -2:].sum(dim=-1) for _, _, looks in rows])
    return Looks({gender: _most(weights) for gender, weights in back.items()}, _most(across))


def pronoun_rows(
    transformer: Translator, sentence: Elastic
) -> tuple[Float[Tensor, "layer head target"], Float[Tensor, "layer head source"]]:
    """Where every head of the decoder looks as "il" or "elle" is chosen, after all that is right before it.

    Returns:
        The weights on [START] and the French words, and those on the English words and [END].
    """
    layers = transformer.steps(sentence.pair.source, sentence.pair.target).decoder.layers
    row = sentence.it.target
    back = torch.stack([layer.attention.attention.weights[:, row] for layer in layers])
    return back, torch.stack([layer.cross_attention.attention.weights[:, row] for layer in layers])


def _most(weights: Sequence[Sequence[Float[Tensor, "layer head"]]]) -> Head:
    """The head with the largest weights, given for each number of clauses and each sentence."""
    means = torch.stack([torch.stack(list(some)).mean(dim=0) for some in weights])
    best = int(means[: LONGEST_LEARNED + 1].sum(dim=0).argmax())
    layer, head = divmod(best, means.shape[-1])
    return Head(layer, head, tuple(means[:, layer, head].tolist()))


def _nothing_trained() -> Distances:
    stretched = [to_measure(SENTENCES, inserted) for inserted in range(MOST + 1)]
    words = [sum(each.words_apart for each in some) / len(some) for some in stretched]
    untrained = recurrent.build(SEEDS[0], forget_bias=0.0)
    forgetful = [measured(untrained, [each.pair for each in some])[-1] for some in stretched]
    return Distances(
        SENTENCES, len(to_tune_on()), LONGEST_LEARNED, BATCH, tuple(words), tuple(forgetful), (), {}
    )


def _trained(model: Network) -> Trained:
    if isinstance(model, EncoderDecoder):
        return Translator(model, SIZES, {"command": COMMAND})
    return RecurrentTranslator(model)


def _loaded(folder: Path) -> Networks:
    return Networks(
        RecurrentTranslator.load(weights_of("lstm", folder)),
        RecurrentTranslator.load(weights_of("lstm_attention", folder), attention=True),
        Translator.load(weights_of("transformer", folder)),
    )


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
