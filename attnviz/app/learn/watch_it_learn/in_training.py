"""How a model in training is shown: what it says, where a head looks, and how well it does so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from attnviz.app import markdown
from attnviz.app.learn.film import over_steps
from attnviz.app.weights_picture import shown_tokens, weights_picture
from attnviz.text import head_name, percent
from attnviz.trace import Kind
from attnviz.trained.translator import reading
from attnviz.trained.translator.grammar import written
from attnviz.trained.translator.learning import Probe, ProbeAnswer, Snapshot
from attnviz.trained.translator.variants import TAUGHT_CROSS_HEAD, TAUGHT_HEAD, TAUGHT_LAYER
from attnviz.widgets.tokens import ShownToken

LINES, MATRIX = "Lines", "Matrix"
_LISTED = 3  # words that a row is said to look at, at most
_HALF = 500  # thousandths
_LEAST = 10  # thousandths: less is not worth telling
_CHANCE = 1 / len(("il", "elle"))
_MOST_WORDS = 16  # of a translation that does not end
_NAMES: dict[Kind, str] = {"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross-attention"}


@dataclass(frozen=True)
class Head:
    """A head of the translator: its kind of attention, and layer and head from 0."""

    kind: Kind
    layer: int
    head: int

    @property
    def name(self) -> str:
        """As on screen: "Encoder 2-1"."""
        return f"{_NAMES[self.kind]} {head_name(self.layer, self.head)}"


TAUGHT = Head("encoder", TAUGHT_LAYER, TAUGHT_HEAD)
TAUGHT_CROSS = Head("cross", 0, TAUGHT_CROSS_HEAD)


def heads_of(glance: ProbeAnswer) -> list[Head]:
    """All heads, in the order in which the model uses them."""
    return [
        Head(kind, layer, head)
        for kind in ("encoder", "decoder", "cross")
        for layer, heads in enumerate(glance.weights[kind])
        for head in range(len(heads))
    ]


def says(probe: Probe, glance: ProbeAnswer) -> None:
    """Write the sentence, the model's translation, and how probable it finds the two pronouns."""
    said = written(glance.said[:_MOST_WORDS]) or "(nothing)"
    if len(glance.said) > _MOST_WORDS:
        said = f"{said.removesuffix('.')} …"
    right = glance.said == probe.target
    verdict = ":green-badge[:material/check: every word right]" if right else ":gray-badge[not yet right]"
    st.markdown(
        f"{written(probe.source)}\n\n**{markdown.plain(said)}** {verdict}\n\n"
        f"Where the pronoun is due: *il* with **{percent(glance.il / 1000, 1)}** and *elle* with "
        f"**{percent(glance.elle / 1000, 1)}**."
    )


def weights(
    name: str,
    shown: Head,
    probe: Probe,
    glance: ProbeAnswer,
    step: int,
    view: str,
    on_pick: Callable[[int | None, int | None], None] | None = None,
) -> None:
    """Draw where a head looks in a sentence after so many steps, as LINES or MATRIX.

    `on_pick` is called with the query and the key, from 0, that the visitor pins.
    """
    queries, keys, row = rows_and_columns(shown.kind, probe)
    weights_picture(
        f"{name} weights",
        glance.shares(shown.kind)[shown.layer, shown.head][None],
        queries,
        keys,
        view="matrix" if view == MATRIX else "lines",
        query=row,
        layer=shown.layer + 1,
        heads=[shown.head + 1],
        heading=f"{shown.name} after {step} steps",
        note="Weights are kept to a tenth of a percent, so a row may not sum to exactly 100 %.",
        caption=f"“{written(probe.source)}” · {shown.name} after {step} steps of training",
        filename=f"attnviz-{name}-step{step}",
        on_pick=on_pick,
    )


def first_majority(snapshots: Sequence[Snapshot], number: int, shown: Head, row: int) -> dict[int, int]:
    """For each word that a row ever gives more than half to, from 0, the first stored step at which it does.

    Args:
        number: of the watched sentence, from 0.
        row: which token looks, from 0.
    """
    first: dict[int, int] = {}
    for snapshot in snapshots:
        weights_there = snapshot.glances[number].weights[shown.kind][shown.layer, shown.head, row]
        if weights_there.max() > _HALF:
            first.setdefault(int(weights_there.argmax()), snapshot.step)
    return first


def rows_and_columns(kind: Kind, probe: Probe) -> tuple[list[ShownToken], list[ShownToken], int]:
    """The tokens that look, those that are looked at, and the row that the pronoun hangs on, from 0."""
    english, french = written(probe.source), written(probe.target)
    source = shown_tokens(reading.tokens(english), english)
    if kind == "encoder":
        return source, source, probe.it
    target = shown_tokens(reading.french(french), french)
    return target, target if kind == "decoder" else source, probe.pronoun


def looks(shown: Head, probe: Probe, glance: ProbeAnswer, step: int) -> str:
    """What the row that the pronoun hangs on looks at, in Markdown."""
    queries, keys, row = rows_and_columns(shown.kind, probe)
    thousandths = glance.weights[shown.kind][shown.layer, shown.head, row].tolist()
    most = sorted(range(len(keys)), key=lambda key: -thousandths[key])[:_LISTED]
    told = [key for key in most if thousandths[key] >= _LEAST]
    listed = ", ".join(
        f"{markdown.code(keys[key]['name'])} **{percent(thousandths[key] / 1000, 1)}**" for key in told
    )
    return f"After **{step:,}** steps, {markdown.code(queries[row]['name'])} looks at {listed}."


def measured(snapshot: Snapshot) -> str:
    """How well the model does on held-out sentences, in Markdown."""
    measures = snapshot.measures
    return (
        f"Of new sentences it translates **{percent(measures.exact)}** without an error. After the right "
        f"French, it prefers the right pronoun in **{percent(measures.pronoun)}** (chance is "
        f"{percent(_CHANCE)}). From *it*, {TAUGHT.name} gives on average **{percent(measures.referent)}** to "
        f"the noun that is meant, **{percent(measures.other)}** to the other one."
    )


def progress(name: str, title: str, snapshots: tuple[Snapshot, ...], marked: int, steps: int) -> None:
    """Draw how the measures grow over the steps, as far as the training goes, with a line at `marked`."""
    last = snapshots[-1].measures
    over_steps(
        f"{name} progress",
        snapshots,
        ("translated without an error", lambda each: each.measures.exact, "solid", "circle", "text"),
        ("pronoun right", lambda each: each.measures.pronoun, "dash", "square", "feed-forward"),
        ("it → noun that is meant", lambda each: each.measures.referent, "solid", "diamond", "weights"),
        ("it → the other noun", lambda each: each.measures.other, "dot", "cross", "weights"),
        title=title,
        up="percent of held-out sentences, or of the weight from “it”",
        percents_until=steps,
        marked=marked,
        alt=f"After {snapshots[-1].step} steps, {percent(last.exact)} of the held-out sentences are "
        f"translated without an error and {percent(last.pronoun)} have the right pronoun; "
        f"{TAUGHT.name} gives {percent(last.referent)} to the noun that is meant and "
        f"{percent(last.other)} to the other one.",
        about="Measured on held-out sentences while a translator learned.",
    )
