"""A sentence's translation, what else each word could have been, and the parts of the translator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor, nn

from attnviz.app.learn.compute import parameters
from attnviz.capture import loading
from attnviz.capture.translator import words
from attnviz.interventions.edit import Edit
from attnviz.trace import Kind, Token, Trace
from attnviz.trained.translator import reading
from attnviz.trained.translator.grammar import written
from attnviz.trained.translator.vocabulary import FRENCH
from attnviz.transformer.add_norm import AddNorm
from attnviz.transformer.encoder_decoder import EncoderDecoder, EncoderDecoderSteps
from attnviz.transformer.multi_head import MultiHeadSteps

PRONOUNS = ("il", "elle")
CHOICES = 5
"""How many of the most probable words are told."""


@dataclass(frozen=True)
class PronounChoice:
    """How probable "il" and "elle" were after the decoder's row `step`, from 0, which chose between them."""

    step: int
    il: float
    elle: float


@dataclass(frozen=True, eq=False)
class Translation:
    """A sentence, its translation, and how it came about.

    Attributes:
        trace: all attention, edited where edits were asked for.
        source: the English tokens, [END] included: what the encoder reads.
        target: [START] and the French words: what the decoder reads.
        words: the French words.
        text: the French words as one writes them.
        choices: for each target token the most probable words to follow it, with their probabilities.
        pronouns: each "il" and "elle" of the translation.
        outside: what in the English sentence the model never learned; None where it could have been in its
            corpus.
    """

    trace: Trace
    source: tuple[Token, ...]
    target: tuple[Token, ...]
    words: tuple[str, ...]
    text: str
    choices: tuple[tuple[tuple[str, float], ...], ...]
    pronouns: tuple[PronounChoice, ...]
    outside: str | None


def translate(model: str, text: str, edits: tuple[str, ...] = ()) -> Translation:
    """Translate by greedy decoding: each time the most probable word, until [END] is the most probable.

    Args:
        model: a translator's name in the catalogue.
        text: English.
        edits: changes to its attention, as `Edit` writes them; the translation follows from them.

    Raises:
        EmptyText, TextTooLong, UnreadableText, UnknownWords: the text cannot be read as it is.
        ModelNotSupported, UnknownModel, ModelFilesDamaged: the model cannot be used.
        InvalidEdit: an edit cannot be read, or the model or the sentences have no such place.
    """
    loaded = loading.load_translator(model)
    changes = [Edit.parse(edit) for edit in edits]
    trace = loaded.trace(text, edits=changes)
    cross = trace.of_kind("cross")[0]
    source, target = cross.key_tokens, cross.query_tokens
    english, french = words(source), words(target)
    probabilities = loaded.translator.steps(english, french, changes).probabilities
    return Translation(
        trace=trace,
        source=source,
        target=target,
        words=french,
        text=written(french),
        choices=tuple(most_probable(row) for row in probabilities),
        pronouns=pronouns(french, probabilities),
        outside=reading.outside(english),
    )


def most_probable(row: Float[Tensor, " vocabulary"]) -> tuple[tuple[str, float], ...]:
    """The most probable words of one step with their probabilities, the best first."""
    best = row.topk(CHOICES)
    return tuple(
        (FRENCH.word(number), probability)
        for probability, number in zip(best.values.tolist(), best.indices.tolist(), strict=True)
    )


def pronouns(
    french: Sequence[str], probabilities: Float[Tensor, "target vocabulary"]
) -> tuple[PronounChoice, ...]:
    """The choice behind every "il" and "elle" of a translation: the row of the same number made each."""
    return tuple(
        PronounChoice(step, *il_and_elle(probabilities[step]))
        for step, word in enumerate(french)
        if word in PRONOUNS
    )


def il_and_elle(row: Float[Tensor, " vocabulary"]) -> tuple[float, float]:
    """How probable the two pronouns are as the next word."""
    il, elle = row[FRENCH.ids(PRONOUNS)].tolist()
    return il, elle


def attention_of(steps: EncoderDecoderSteps, kind: Kind, layer: int) -> MultiHeadSteps:
    """One layer's attention of one kind, in one pass of a translator; the layer counts from 0."""
    if kind == "encoder":
        return steps.encoder.layers[layer].attention
    decoding = steps.decoder.layers[layer]
    return decoding.attention if kind == "decoder" else decoding.cross_attention


@dataclass(frozen=True)
class Part:
    """One part of the model: what it is called, and how many learned numbers it holds."""

    name: str
    parameters: int


def take_apart(model: str) -> tuple[Part, ...]:
    """Count the parameters of a translator of the catalogue, part by part.

    Raises:
        ModelNotSupported, UnknownModel, ModelFilesDamaged: the model cannot be used.
    """
    return count(loading.load_translator(model).translator.model)


def count(network: EncoderDecoder) -> tuple[Part, ...]:
    """The parts in the order in which a sentence passes through them, and the norms of all layers."""
    encoder, decoder = network.encoder.layers, network.decoder.layers
    return (
        _part("table of English words", [network.source_embedding]),
        _part("encoder: attention", [layer.get_submodule("attention") for layer in encoder]),
        _part("encoder: feed-forward", [layer.get_submodule("feed_forward") for layer in encoder]),
        _part("table of French words", [network.target_embedding]),
        _part("decoder: attention", [layer.get_submodule("attention") for layer in decoder]),
        _part("decoder: cross-attention", [layer.get_submodule("cross_attention") for layer in decoder]),
        _part("decoder: feed-forward", [layer.get_submodule("feed_forward") for layer in decoder]),
        _part("all Add & Norm", [module for module in network.modules() if isinstance(module, AddNorm)]),
    )


def _part(name: str, modules: Iterable[nn.Module]) -> Part:
    return Part(name, sum(parameters(module) for module in modules))
