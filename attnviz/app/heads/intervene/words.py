"""The effect of the edits on words: a model's predictions, or an encoder–decoder's output text."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from attnviz.analysis.display_tokens import DisplayToken
from attnviz.analysis.sentence import name_of
from attnviz.app import controls, markdown, traces
from attnviz.app.components.share_table import share_table
from attnviz.app.heads import choosing
from attnviz.app.heads.intervene import computed
from attnviz.app.heads.intervene.choices import Intervention
from attnviz.app.heads.intervene.computed import Effect
from attnviz.app.state.choices import EXPECTED_AT
from attnviz.text import percent
from attnviz.trace import Kind

_PRONOUNS = ("il", "elle")


def place(chosen: Intervention) -> int | None:
    """Draw a select for the positions at which the model predicts a token.

    Returns:
        The selected position, from 0; None if the model predicts no token.
    """
    places = computed.prediction_positions(chosen.entry, chosen.given)
    if not places:
        return None
    groups = _groups(chosen)
    masked = chosen.entry.expects == "masked"
    label = "Masked token" if masked else "Prediction after"
    default = 0 if masked else _default_index(groups, places)
    return places[
        controls.token([groups[place] for place in places], chosen.given, label, EXPECTED_AT, default)
    ]


def summary(chosen: Intervention, found: Effect, place: int) -> str:
    """Describe the change of the most likely token's probability, and the new most likely token."""
    best = found.likely[0]
    new_best = max(found.likely, key=lambda likely: likely.after)
    before, after = percent(best.before, 1), percent(best.after, 1)
    changed = f"stays at **{after}**" if before == after else f"changes from **{before}** to **{after}**"
    where = position_text(chosen, place)
    shown = f"{where[0].upper()}{where[1:]}, the probability of {markdown.code(best.label)} {changed}"
    if new_best is best:
        return f"{shown}."
    return f"{shown}; most probable now: {markdown.code(new_best.label)}, **{percent(new_best.after, 1)}**."


def expected(chosen: Intervention, found: Effect, place: int) -> None:
    """Draw the prediction at this position, without and with the changes."""
    share_table(
        "expected",
        title=f"Prediction {_preposition(chosen)} {name_of(place, _groups(chosen))}",
        columns=["before", "with the changes"],
        rows=[
            {"label": one.label, "place": str(one.rank or "…"), "shares": [one.before, one.after]}
            for one in found.likely
        ],
    )


def written(chosen: Intervention) -> None:
    """Draw the text that an encoder–decoder generates without and with the changes."""
    before = traces.trace(chosen.entry, chosen.given).target or ""
    after = computed.target(chosen.entry, chosen.given, chosen.edit_texts)
    if before == after:
        st.markdown(f"The output text does not change: {markdown.code(before)}.")
    else:
        st.markdown(
            f"Output text before: {markdown.code(before)}  \nWith the changes: {markdown.code(after)}"
        )


def _groups(chosen: Intervention) -> Sequence[DisplayToken]:
    """Return the query tokens of the decoder or, without a decoder, of the encoder."""
    kind: Kind = "decoder" if "decoder" in chosen.entry.kinds else "encoder"
    return choosing.groups(chosen.entry, chosen.given, kind)[0]


def position_text(chosen: Intervention, place: int) -> str:
    """Return the position of the prediction, in Markdown: "after `car`"."""
    return f"{_preposition(chosen)} {markdown.token(place, _groups(chosen))}"


def _preposition(chosen: Intervention) -> str:
    return "at" if chosen.entry.expects == "masked" else "after"


def _default_index(groups: Sequence[DisplayToken], places: Sequence[int]) -> int:
    """Return the index of the first position that predicts a French pronoun, else the last index."""
    for at, place in enumerate(places[1:]):
        if groups[place].label in _PRONOUNS:
            return at
    return len(places) - 1
