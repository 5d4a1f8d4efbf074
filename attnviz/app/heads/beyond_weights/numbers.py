"""The measures as a table of numbers, on the page and as a CSV file."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

import streamlit as st

from attnviz.analysis.display_tokens import visible_text
from attnviz.analysis.table import Cells, facts_text, numbered
from attnviz.app.heads.beyond_weights.choices import TokenSelection
from attnviz.app.heads.beyond_weights.comparison import job_of
from attnviz.app.heads.beyond_weights.explained import measure_name
from attnviz.app.models import lookup
from attnviz.app.saving import picture_file, save_file
from attnviz.app.state.choices import MEASURE
from attnviz.experiments import beyond_weights
from attnviz.experiments.beyond_weights import HEAD_WEIGHTS, OCCLUSION, MeasuredToken

_THREE_DIGITS = "%.3g"


def draw(chosen: TokenSelection) -> None:
    """Draw the numbers computed so far."""
    latest = job_of(chosen).latest
    if latest is None:
        st.markdown("The numbers appear with the first measures.")
        return
    table = columns(chosen, latest.found, _beside(MEASURE.get(OCCLUSION)))
    st.dataframe(
        table,
        hide_index=True,
        height=300,
        placeholder="–",
        column_config={
            name: st.column_config.NumberColumn(format=_THREE_DIGITS) for name in table if name != "token"
        },
    )
    st.caption("Another measure is chosen above. The file has all of them.")
    save_file(
        "CSV",
        lambda: csv_of(chosen, latest.found),
        f"{picture_file('beyond weights')['name']}.csv",
        "All tokens and all measures, as the model gives them: not rescaled, nothing excluded.",
    )


def _beside(measure: str) -> tuple[str, ...]:
    """Return occlusion and the explained measure: more columns would be clipped."""
    return (OCCLUSION, HEAD_WEIGHTS if measure == OCCLUSION else measure)


def columns(
    chosen: TokenSelection, found: MeasuredToken, measures: Sequence[str] = beyond_weights.MEASURES
) -> dict[str, list[str] | list[float]]:
    """Return the tokens and the values of each computed measure, by column name.

    Occlusion has a column for each method; NaN where it cannot remove the token.
    """
    table: dict[str, list[str] | list[float]] = {"token": [numbered(group) for group in chosen.queries]}
    for measure in measures:
        if measure == OCCLUSION:
            table |= {way: values.tolist() for way, values in found.omitted.items()}
        elif (values := found.values_for(measure, chosen.layer, chosen.head)) is not None:
            table[measure_name(measure, chosen.name)] = values.tolist()
    return table


def csv_of(chosen: TokenSelection, found: MeasuredToken) -> str:
    """Return the table as CSV, with the model and the text in each row.

    Numbers have 9 significant digits, enough to restore every float32 exactly; missing ones are empty.
    """
    followed = "its output" if found.followed is None else f"the probability of “{found.followed.text}”"
    facts = {
        "model": lookup.called(chosen.entry),
        "text": visible_text(chosen.given.text),
        "chosen token": numbered(chosen.queries[chosen.query]),
        "measured outcome": visible_text(followed),
    }
    table = columns(chosen, found)
    rows: list[Cells] = [
        [token, *(None if isnan(value) else float(f"{value:.9g}") for value in values)]
        for token, *values in zip(*table.values(), strict=True)
    ]
    return facts_text(facts, [*table], rows)
