"""A model in training: its attention, its measures and what its loss counted."""

from __future__ import annotations

from dataclasses import dataclass

from attnviz.app.components.curves import Colour, Dash, Marker
from attnviz.app.weights_picture import shown_tokens, weights_picture
from attnviz.text import head_name
from attnviz.trace import Kind
from attnviz.trained.snapshots import Glance, Snapshot, Stored
from attnviz.trained.storyteller.grammar import CHANT
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.storyteller.tasks import WATCHED
from attnviz.trained.translator import reading
from attnviz.trained.translator.grammar import written
from attnviz.trained.translator.probes import PROBES
from attnviz.trained.translator.variants import GUIDED_CROSS_HEAD, GUIDED_HEAD, GUIDED_LAYER, VARIANTS
from attnviz.widgets.tokens import ShownToken

LINES, MATRIX = "Lines", "Matrix"
_MAX_WORDS = 16  # of a translation that does not end
_REPEATED_WORD = len(WATCHED) // 2 + len(WATCHED) // 4  # a token in the middle of the second time
_NAMES: dict[Kind, str] = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross-attention"}

GOOD = 0.95  # of the pronouns are right
QUARTERS = 0.25, 0.75  # of the words that are said again are copied

Style = tuple[str, Dash, Marker, Colour]
"""The name of a measure or score, and how it is drawn."""

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
        """As on screen: "Encoder 2-1"."""
        return f"{_NAMES[self.kind]} {head_name(self.layer, self.head)}"


GUIDED = Head("encoder", GUIDED_LAYER, GUIDED_HEAD)
GUIDED_CROSS = Head("cross", 0, GUIDED_CROSS_HEAD)


def heads_of(snapshot: Snapshot) -> list[Head]:
    """Return all heads, in the order in which the model uses them."""
    return [
        Head(kind, layer, head)
        for kind, weights in snapshot.glances[0].weights.items()
        for layer, heads in enumerate(weights)
        for head in range(len(heads))
    ]


def first_head(snapshot: Snapshot) -> Head:
    """Return the head to show first: the taught one, or the one with the highest prefix-matching score."""
    if not snapshot.scores:
        return GUIDED
    scores = snapshot.scores["prefix_matching"]
    return Head("decoder", *divmod(int(scores.argmax()), scores.shape[1]))


def curves(variant: str) -> tuple[Style, ...]:
    """Return the measures that are drawn for a model."""
    return _STORYTELLER_CURVES if variant in SIZES else _TRANSLATOR_CURVES


def quarters(training: Stored) -> tuple[Snapshot, Snapshot]:
    """Return the first snapshots of a storyteller that copy at least a quarter and three quarters."""
    quarter, three_quarters = (
        next(each for each in training.snapshots if each.measures["right"] >= minimum) for minimum in QUARTERS
    )
    return quarter, three_quarters


def first_good(training: Stored) -> Snapshot:
    """Return the first snapshot of a translator in which most pronouns are right."""
    return next(each for each in training.snapshots if each.measures["pronoun"] >= GOOD)


def attention_loss(variant: str) -> list[dict[str, object]]:
    """Return the attention terms of a model's loss: the factor, and which weight."""
    if variant in SIZES:
        return []
    found = VARIANTS[variant]
    terms = (
        (found.referent, f"from “it” to its noun in {GUIDED.name}"),
        (found.candidates, f"from “it” to both nouns, added up, in {GUIDED.name}"),
        (found.alignment, f"from “il” or “elle” to “it” in {GUIDED_CROSS.name}"),
    )
    return [{"weight": weight, "where": where} for weight, where in terms if weight]


def translation(glance: Glance) -> str:
    """Return the translation of a snapshot, at most so many words."""
    spoken = written(glance.spoken[:_MAX_WORDS]) or "–"
    return f"{spoken.removesuffix('.')} …" if len(glance.spoken) > _MAX_WORDS else spoken


def weights(name: str, variant: str, shown: Head, number: int, snapshot: Snapshot, view: str) -> None:
    """Draw the weights of a head in a watched text, a number from 0, as LINES or MATRIX."""
    queries, keys, row = rows_and_columns(variant, shown.kind, number)
    glance = snapshot.glances[number]
    weights_picture(
        f"{name} weights",
        glance.shares(shown.kind)[shown.layer, shown.head][None],
        queries,
        keys,
        view="matrix" if view == MATRIX else "lines",
        query=row,
        layer=shown.layer + 1,
        heads=[shown.head + 1],
        heading=f"{shown.name} after {snapshot.step} steps",
        note="Weights are kept to a tenth of a percent, so a row may not sum to exactly 100 %.",
        caption=f"“{text_of(variant, number)}” · {shown.name} after {snapshot.step} steps of training",
        filename=f"attnviz-{name}-step{snapshot.step}",
    )


def text_of(variant: str, number: int) -> str:
    """Return the watched text of this number."""
    return " ".join(WATCHED) if variant in SIZES else written(PROBES[number].source)


def rows_and_columns(variant: str, kind: Kind, number: int) -> tuple[list[ShownToken], list[ShownToken], int]:
    """Return the query tokens, the key tokens, and the row to read, from 0.

    That is the row of "it", the decoder's row that chooses the pronoun, or a word that is said again.
    """
    if variant in SIZES:
        tokens = [
            ShownToken(
                label=word,
                name=f"{word} ({place})" if WATCHED.count(word) > 1 else word,
                title=word,
                special=word == CHANT,
            )
            for place, word in enumerate(WATCHED, start=1)
        ]
        return tokens, tokens, _REPEATED_WORD
    probe = PROBES[number]
    english, french = written(probe.source), written(probe.target)
    source = shown_tokens(reading.tokens(english), english)
    if kind == "encoder":
        return source, source, probe.it
    target = shown_tokens(reading.french(french), french)
    return target, target if kind == "decoder" else source, probe.pronoun
