"""How a model in training is shown: what it writes, its attention, and how well it does so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from attnviz.app import markdown
from attnviz.app.learn.film import Curve, over_steps
from attnviz.app.weights_picture import shown_tokens, weights_picture
from attnviz.text import head_name, percent
from attnviz.trace import Kind
from attnviz.trained.snapshots import Glance, Snapshot
from attnviz.trained.storyteller.grammar import CHANT
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.storyteller.tasks import WATCHED
from attnviz.trained.translator import reading
from attnviz.trained.translator.grammar import written
from attnviz.trained.translator.probes import PROBES, Probe
from attnviz.trained.translator.variants import TAUGHT_CROSS_HEAD, TAUGHT_HEAD, TAUGHT_LAYER
from attnviz.widgets.tokens import ShownToken

LINES, MATRIX = "Lines", "Matrix"
_MAX_WORDS = 16  # of a translation that does not end
_SAID_AGAIN = len(WATCHED) // 2 + len(WATCHED) // 4  # a token in the middle of the second time
_NAMES: dict[Kind, str] = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross-attention"}

_TRANSLATOR_CURVES: tuple[Curve, ...] = (
    ("translated without an error", "exact", "solid", "circle", "text"),
    ("pronoun right", "pronoun", "dash", "square", "feed-forward"),
    ("it → noun that is meant", "referent", "solid", "diamond", "weights"),
    ("it → the other noun", "other", "dot", "cross", "weights"),
)
_STORYTELLER_CURVES: tuple[Curve, ...] = (
    ("copied", "right", "solid", "circle", "text"),
    ("to what followed, in the best head", "prefix_matching", "solid", "diamond", "weights"),
    ("to the word before, in the best head", "previous_word", "dash", "square", "key"),
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


TAUGHT = Head("encoder", TAUGHT_LAYER, TAUGHT_HEAD)
TAUGHT_CROSS = Head("cross", 0, TAUGHT_CROSS_HEAD)


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
        return TAUGHT
    scores = snapshot.scores["prefix_matching"]
    return Head("decoder", *divmod(int(scores.argmax()), scores.shape[1]))


def translation(probe: Probe, glance: Glance) -> None:
    """Write the sentence, the translator's translation, and how probable it finds the two pronouns."""
    said = written(glance.said[:_MAX_WORDS]) or "(nothing)"
    if len(glance.said) > _MAX_WORDS:
        said = f"{said.removesuffix('.')} …"
    right = glance.said == probe.target
    verdict = ":green-badge[:material/check: every word right]" if right else ":gray-badge[not yet right]"
    st.markdown(
        f"{written(probe.source)}\n\n**{markdown.plain(said)}** {verdict}\n\n"
        f"Where the pronoun is due: *il* with **{percent(glance.il / 1000, 1)}** and *elle* with "
        f"**{percent(glance.elle / 1000, 1)}**."
    )


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
        return tokens, tokens, _SAID_AGAIN
    probe = PROBES[number]
    english, french = written(probe.source), written(probe.target)
    source = shown_tokens(reading.tokens(english), english)
    if kind == "encoder":
        return source, source, probe.it
    target = shown_tokens(reading.french(french), french)
    return target, target if kind == "decoder" else source, probe.pronoun


def progress(
    name: str, title: str, variant: str, snapshots: Sequence[Snapshot], marked: int, steps: int
) -> None:
    """Draw the measures over the steps, as far as the training goes, with a line at `marked`."""
    chosen = _STORYTELLER_CURVES if variant in SIZES else _TRANSLATOR_CURVES
    last = snapshots[-1]
    over_steps(
        f"{name} progress",
        snapshots,
        *chosen,
        title=title,
        up="percent of random words said again, or of the weight from them"
        if variant in SIZES
        else "percent of held-out sentences, or of the weight from “it”",
        percents_until=steps,
        marked=marked,
        alt=f"After {last.step} steps: "
        + "; ".join(f"{label} {percent(last.value(of))}" for label, of, *_ in chosen)
        + ".",
    )
