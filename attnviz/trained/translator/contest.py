"""Train a recurrent network and a transformer on the same sentences, and measure both by distance."""

from __future__ import annotations

import copy
import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path

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
    Learned,
    Name,
    Point,
    Spread,
    weights_of,
)
from attnviz.trained.translator.exercises import Corpus, Exercises
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

SETTINGS: Mapping[Name, Settings] = {
    "recurrent": Settings(variant="untold", steps=20_000),
    "transformer": Settings(variant="untold", steps=2600, sizes=Sizes(decoder_layers=2)),
}
"""What each network's weights follow from; neither is told where to look."""

_AT_ONCE = 100  # sentences
_MEASURED_SEED = 1


def to_learn_from(count: int, seed: int) -> list[Pair]:
    """Sentences with 0 to 6 clauses put in, each number equally often, none of them held out.

    Args:
        count: of the sentences that are tried; those that cannot be longer are left out.
    """
    dice = random.Random(seed)  # noqa: S311 - sentences are no secret
    sentences = filter(None, map(Elastic.of, splits.training(count, seed)))
    return [it.stretched(clauses(dice, dice.randint(0, LONGEST_LEARNED))).pair for it in sentences]


def to_measure(count: int, inserted: int) -> list[Elastic]:
    """Minimal pairs of sentences whose like no network learned from, with clauses put in.

    Args:
        count: of the sentences; they are the same ones whatever is put in.
        inserted: how many clauses; one more is added after those that were there before.
    """
    dice = random.Random(_MEASURED_SEED)  # noqa: S311 - sentences are no secret
    stretched = []
    for readings in splits.minimal_pairs(count // 2, _MEASURED_SEED):
        put_in = clauses(dice, MOST)[:inserted]
        stretched += [it.stretched(put_in) for it in filter(None, map(Elastic.of, readings))]
    return stretched


def build(name: Name, dropout: float = 0.0) -> Network:
    """A network that has learned nothing yet."""
    settings = SETTINGS[name]
    if name == "recurrent":
        return recurrent.build(settings.seed, dropout)
    return translator.build(settings.sizes, settings.seed, dropout)


def train(name: Name, file: Path) -> Iterator[tuple[int, float]]:
    """Learn, and write the weights in the end; both networks learn alike.

    Yields:
        Each step, from 1, and how wrong the network was about its sentences, in nats a word.
    """
    settings = SETTINGS[name]
    model = build(name, settings.dropout)
    corpus = Corpus(to_learn_from(settings.sentences, settings.seed), settings.batch)
    training = Training(settings, model, corpus)
    while training.done < settings.steps:
        loss = training.step()
        yield training.done, loss
    trained: Trained
    if isinstance(model, EncoderDecoder):
        trained = Translator(model, settings.sizes, {"command": COMMAND})
    else:
        trained = RecurrentTranslator(model)
    trained.save(file)


def load(folder: Path = WEIGHTS) -> tuple[RecurrentTranslator, Translator]:
    """Both trained networks, whose weights are the very ones that were measured.

    Raises:
        ModelFilesDamaged: a file is missing or damaged; the message names the command that makes it.
    """
    measured = distance.read(folder)
    for name in NAMES:
        file = weights_of(name, folder)
        if not file.exists() or _digest(file) != measured.networks[name].digest:
            raise ModelFilesDamaged(f"{file} is missing or was changed. Make it again with: {COMMAND}")
    return _loaded(folder)


def measure(folder: Path) -> Distances:
    """Measure both networks, from their files."""
    recurrent_network, transformer = _loaded(folder)
    stretched = [to_measure(SENTENCES, inserted) for inserted in range(MOST + 1)]
    sentences = [[each.pair for each in some] for some in stretched]
    trained: dict[Name, Trained] = {"recurrent": recurrent_network, "transformer": transformer}
    networks = {
        name: Learned(
            parameters=sum(parameter.numel() for parameter in network.model.parameters()),
            steps=SETTINGS[name].steps,
            digest=_digest(weights_of(name, folder)),
            points=tuple(measured(network, build(name), pairs) for pairs in sentences),
        )
        for name, network in trained.items()
    }
    words = tuple(sum(each.words_apart for each in some) / len(some) for some in stretched)
    return Distances(SENTENCES, LONGEST_LEARNED, words, networks, *looking_heads(transformer, stretched))


def measured(trained: Trained, untrained: Network, pairs: Sequence[Pair]) -> Point:
    """How one network does on sentences of one length.

    Args:
        untrained: the same one before it learned anything.
    """
    translations = [
        words
        for start in range(0, len(pairs), _AT_ONCE)
        for words in trained.translate_all([pair.source for pair in pairs[start : start + _AT_ONCE]])
    ]
    both = list(zip(translations, [pair.target for pair in pairs], strict=True))
    exact = sum(words == target for words, target in both)
    there = sum(right_words(words, target) / len(target) for words, target in both) / len(both)
    model = copy.deepcopy(trained.model).requires_grad_()
    right, gradients, before = [], [], []
    for exercises in portions(pairs):
        odds, reaction = reactions(model, exercises)
        right.append(odds > 0)
        gradients.append(reaction)
        before.append(reactions(untrained.eval(), exercises)[1])
    return Point(exact, there, int(torch.cat(right).sum()), _spread(gradients), _spread(before))


def right_words(words: Sequence[str], target: Sequence[str]) -> int:
    """How many words of the right translation are there, in their order; the longest runs are found first."""
    matcher = SequenceMatcher(None, target, words, autojunk=False)
    return sum(run.size for run in matcher.get_matching_blocks())


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


def looking_heads(
    transformer: Translator, stretched: Sequence[Sequence[Elastic]]
) -> tuple[dict[Gender, Head], Head]:
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
    return {gender: _most(weights) for gender, weights in back.items()}, _most(across)


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


def _loaded(folder: Path) -> tuple[RecurrentTranslator, Translator]:
    return (
        RecurrentTranslator.load(weights_of("recurrent", folder)),
        Translator.load(weights_of("transformer", folder)),
    )


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _spread(numbers: Sequence[Tensor]) -> Spread:
    return Spread(*torch.cat(list(numbers)).quantile(torch.tensor([0.25, 0.5, 0.75])).tolist())
