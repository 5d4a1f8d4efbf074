"""A model in training: its attention, its measures and the attention terms of its loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attnviz.app.components.curves import Colour, Dash, Marker
from attnviz.app.weights_picture import shown_tokens
from attnviz.text import head_name
from attnviz.trace import Kind
from attnviz.trained.snapshots import Snapshot, Stored, TextSnapshot
from attnviz.trained.storyteller.grammar import CHANT, TRACKED_TEXT
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.translator import reading
from attnviz.trained.translator.grammar import format_sentence
from attnviz.trained.translator.probes import PROBES
from attnviz.trained.translator.variants import GUIDED_CROSS_HEAD, GUIDED_HEAD, GUIDED_LAYER, VARIANTS
from attnviz.widgets.tokens import ShownToken

LINES, MATRIX = "Lines", "Matrix"
_MAX_WORDS = 16  # maximum number of words shown; a translation without [END] is longer
_REPEATED = len(TRACKED_TEXT) // 2 + len(TRACKED_TEXT) // 4  # position of the pinned token, in the repetition
_NAMES: dict[Kind, str] = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross-attention"}

GOOD_ACCURACY = 0.95
"""Minimum fraction of correct pronouns for a translator to be good."""
QUARTERS = 0.25, 0.75
"""Fractions of copied words at the start and the end of the transition."""

Style = tuple[str, Dash, Marker, Colour]
"""Name and line style of a measure or score."""

_TRANSLATOR_CURVES: tuple[Style, ...] = (
    ("exact", "solid", "circle", "text"),
    ("pronoun", "dash", "square", "feed-forward"),
    ("referent", "solid", "diamond", "weights"),
    ("other", "dot", "cross", "weights"),
)
_STORYTELLER_CURVES: tuple[Style, ...] = (
    ("right", "solid", "circle", "text"),
    ("prefix_matching", "solid", "diamond", "weights"),
    ("previous_word", "dash", "square", "key"),
)


@dataclass(frozen=True)
class Head:
    """A head: its kind of attention, and layer and head from 0."""

    kind: Kind
    layer: int
    head: int

    @property
    def name(self) -> str:
        """Name on screen: "Encoder 2-1"."""
        return f"{_NAMES[self.kind]} {head_name(self.layer, self.head)}"


GUIDED = Head("encoder", GUIDED_LAYER, GUIDED_HEAD)
GUIDED_CROSS = Head("cross", 0, GUIDED_CROSS_HEAD)


def heads_of(snapshot: Snapshot) -> list[Head]:
    """Return all heads, in the order in which the model uses them."""
    return [
        Head(kind, layer, head)
        for kind, weights in snapshot.texts[0].weights.items()
        for layer, heads in enumerate(weights)
        for head in range(len(heads))
    ]


def first_head(variant: str, snapshot: Snapshot) -> Head:
    """Return the default head.

    This is the storyteller's head with the highest prefix-matching score, or the translator's guided head.
    Without a guided head, it is the encoder head with the largest mean weight from "it" to its noun.
    """
    if variant in SIZES:
        scores = snapshot.scores["prefix_matching"]
        return Head("decoder", *divmod(int(scores.argmax()), scores.shape[1]))
    if is_guided(variant):
        return GUIDED
    weights = sum(
        text.shares("encoder")[..., probe.it, probe.source.index(probe.referent)]
        for text, probe in zip(snapshot.texts, PROBES, strict=True)
    )
    return Head("encoder", *divmod(int(np.argmax(weights)), np.shape(weights)[1]))


def is_guided(variant: str) -> bool:
    """Return whether the loss of a model has a term for the weights from "it" in head 2-1."""
    return variant in VARIANTS and VARIANTS[variant].is_guided


def curves(variant: str) -> tuple[Style, ...]:
    """Return the name and line style of each measure drawn for a model."""
    return _STORYTELLER_CURVES if variant in SIZES else _TRANSLATOR_CURVES


def quarters(training: Stored) -> tuple[Snapshot, Snapshot]:
    """Return the first snapshots in which a storyteller copies a quarter and three quarters of the words."""
    quarter, three_quarters = (
        next(each for each in training.snapshots if each.measures["right"] >= minimum) for minimum in QUARTERS
    )
    return quarter, three_quarters


def first_good(training: Stored) -> Snapshot:
    """Return the first snapshot in which at least `GOOD_ACCURACY` of a translator's pronouns are correct."""
    return next(each for each in training.snapshots if each.measures["pronoun"] >= GOOD_ACCURACY)


def attention_loss(variant: str) -> list[tuple[float, str, Head]]:
    """Return the attention terms of a model's loss: the factor, its name in `Variant`, and the head."""
    if variant in SIZES:
        return []
    found = VARIANTS[variant]
    terms = (
        (found.referent, "referent", GUIDED),
        (found.candidates, "candidates", GUIDED),
        (found.alignment, "alignment", GUIDED_CROSS),
    )
    return [term for term in terms if term[0]]


def translation(text_snapshot: TextSnapshot) -> str:
    """Return the translation in a snapshot, truncated to `_MAX_WORDS` words."""
    text = format_sentence(text_snapshot.translation[:_MAX_WORDS]) or "–"
    return f"{text.removesuffix('.')} …" if len(text_snapshot.translation) > _MAX_WORDS else text


def text_of(variant: str, number: int) -> str:
    """Return a tracked text by its index."""
    return " ".join(TRACKED_TEXT) if variant in SIZES else format_sentence(PROBES[number].source)


def rows_and_columns(variant: str, kind: Kind, number: int) -> tuple[list[ShownToken], list[ShownToken], int]:
    """Return the query tokens, the key tokens, and the pinned row, from 0.

    The pinned row is "it" (encoder), the token that predicts the pronoun, or a repeated word (storyteller).
    """
    if variant in SIZES:
        tokens = [
            ShownToken(
                label=word,
                name=f"{word} ({place})" if TRACKED_TEXT.count(word) > 1 else word,
                title=word,
                special=word == CHANT,
            )
            for place, word in enumerate(TRACKED_TEXT, start=1)
        ]
        return tokens, tokens, _REPEATED
    probe = PROBES[number]
    english, french = format_sentence(probe.source), format_sentence(probe.target)
    source = shown_tokens(reading.tokens(english), english)
    if kind == "encoder":
        return source, source, probe.it
    target = shown_tokens(reading.french(french), french)
    return target, target if kind == "decoder" else source, probe.pronoun
