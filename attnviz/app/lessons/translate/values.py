"""The translation of a sentence, and the alternatives to each word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from attnviz.capture import loading
from attnviz.capture.translator import words
from attnviz.trace import Kind, Token, Trace
from attnviz.trained.translator import reading
from attnviz.trained.translator.grammar import format_sentence
from attnviz.trained.translator.vocabulary import FRENCH
from attnviz.transformer.encoder_decoder import EncoderDecoderSteps
from attnviz.transformer.multi_head import MultiHeadSteps

PRONOUNS = ("il", "elle")
CHOICES = 5
"""Number of most probable words to return."""


@dataclass(frozen=True)
class PronounChoice:
    """The probabilities of "il" and "elle" in decoder row `step`, from 0, which predicts the pronoun."""

    step: int
    il: float
    elle: float


@dataclass(frozen=True, eq=False)
class Translation:
    """A sentence, its translation, and the attention and predictions of the translator.

    Attributes:
        trace: All attention weights.
        source: Input of the encoder: the English tokens, including [END].
        target: Input of the decoder: [START] and the French words.
        words: French words.
        text: French sentence.
        choices: For each target token, the most probable next words, with their probabilities.
        pronoun: Probabilities at the first "il" or "elle" of the translation; None without a pronoun.
        outside: True if the grammar of the training set cannot generate the English sentence.
    """

    trace: Trace
    source: tuple[Token, ...]
    target: tuple[Token, ...]
    words: tuple[str, ...]
    text: str
    choices: tuple[tuple[tuple[str, float], ...], ...]
    pronoun: PronounChoice | None
    outside: bool

    @property
    def written(self) -> tuple[str, ...]:
        """The word that each decoder row predicts: the French words, then usually [END]."""
        (last, _), *_ = self.choices[-1]
        return (*self.words, last)


def translate(model: str, text: str) -> Translation:
    """Translate by greedy decoding: append the most probable word until it is [END].

    Args:
        model: Name of a translator in the catalogue.
        text: English sentence.

    Raises:
        EmptyText, TextTooLong, UnreadableText, UnknownWords: the text is invalid.
        ModelNotSupported, UnknownModel, ModelFilesDamaged: the model cannot be used.
    """
    loaded = loading.load_translator(model)
    trace = loaded.trace(text)
    cross = trace.of_kind("cross")[0]
    source, target = cross.key_tokens, cross.query_tokens
    english, french = words(source), words(target)
    probabilities = loaded.translator.steps(english, french).probabilities
    step = pronoun_step(french)
    return Translation(
        trace=trace,
        source=source,
        target=target,
        words=french,
        text=format_sentence(french),
        choices=tuple(likeliest_words(row) for row in probabilities),
        pronoun=None if step is None else PronounChoice(step, *pronoun_probabilities(probabilities[step])),
        outside=reading.is_outside_grammar(english),
    )


def likeliest_words(row: Float[Tensor, " vocabulary"]) -> tuple[tuple[str, float], ...]:
    """Return the most probable words of one step with their probabilities, in decreasing order."""
    best = row.topk(CHOICES)
    return tuple(
        (FRENCH.word(number), probability)
        for probability, number in zip(best.values.tolist(), best.indices.tolist(), strict=True)
    )


def pronoun_step(french: Sequence[str]) -> int | None:
    """Return the number of words before the first "il" or "elle"; None without a pronoun."""
    return next((step for step, word in enumerate(french) if word in PRONOUNS), None)


def pronoun_probabilities(row: Float[Tensor, " vocabulary"]) -> tuple[float, float]:
    """Return the probabilities of the two pronouns as the next word."""
    il, elle = row[FRENCH.ids(PRONOUNS)].tolist()
    return il, elle


def attention_of(steps: EncoderDecoderSteps, kind: Kind, layer: int) -> MultiHeadSteps:
    """Return the attention of this kind in one layer, from 0, of a translator's forward pass."""
    if kind == "encoder":
        return steps.encoder.layers[layer].attention
    decoding = steps.decoder.layers[layer]
    return decoding.attention if kind == "decoder" else decoding.cross_attention


def feed_forward_size(model: str) -> int:
    """Return the hidden size of the feed-forward networks of a translator in the catalogue.

    Raises:
        ModelNotSupported, UnknownModel, ModelFilesDamaged: the model cannot be used.
    """
    return loading.load_translator(model).translator.sizes.d_feed_forward
