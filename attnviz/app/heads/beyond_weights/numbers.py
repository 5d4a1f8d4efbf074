"""The picture as a table of numbers, on the page and as a file."""

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
    """Draw the numbers that are there."""
    latest = job_of(chosen).latest
    if latest is None:
        st.markdown("They come in one by one.")
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
    """Leaving words out, and the measure that is explained: more columns would be cut off."""
    return (OCCLUSION, HEAD_WEIGHTS if measure == OCCLUSION else measure)


def columns(
    chosen: TokenSelection, found: MeasuredToken, measures: Sequence[str] = beyond_weights.MEASURES
) -> dict[str, list[str] | list[float]]:
    """The tokens, and the values of each measure that is there, by what the column is called.

    Leaving it out has a column for each way; NaN where that cannot leave the token out.
    """
    table: dict[str, list[str] | list[float]] = {"token": [numbered(group) for group in chosen.queries]}
    for measure in measures:
        if measure == OCCLUSION:
            table |= {way: values.tolist() for way, values in found.omitted.items()}
        elif (values := found.of(measure, chosen.layer, chosen.head)) is not None:
            table[measure_name(measure, chosen.name)] = values.tolist()
    return table


def csv_of(chosen: TokenSelection, found: MeasuredToken) -> str:
    """The table, and in each row what it is about.

    Numbers have 9 significant digits, enough to give every float32 back exactly; one that is not there is
    empty.
    """
    followed = "its output" if found.followed is None else f"the probability of “{found.followed.text}”"
    facts = {
        "model": lookup.called(chosen.entry),
        "text": visible_text(chosen.given.text),
        "token that is asked about": numbered(chosen.queries[chosen.query]),
        "what is followed": visible_text(followed),
    }
    table = columns(chosen, found)
    rows: list[Cells] = [
        [token, *(None if isnan(value) else float(f"{value:.9g}") for value in values)]
        for token, *values in zip(*table.values(), strict=True)
    ]
    return facts_text(facts, [*table], rows)
