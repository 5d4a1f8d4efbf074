"""The measures as a table of numbers, with Streamlit's CSV download."""

from __future__ import annotations

import streamlit as st

from attnviz.analysis.table import numbered_label
from attnviz.app.heads.beyond_weights.choices import TokenSelection
from attnviz.app.heads.beyond_weights.comparison import job_of
from attnviz.app.heads.beyond_weights.explained import measure_name
from attnviz.experiments.beyond_weights import MEASURES, MeasuredToken


def draw(chosen: TokenSelection) -> None:
    """Draw the numbers computed so far, for all tokens of the text, including special tokens."""
    latest = job_of(chosen).latest
    if latest is None:
        st.markdown("The numbers appear after the first measure has been computed.")
        return
    table = columns(chosen, latest.found)
    st.dataframe(
        table,
        hide_index=True,
        height=300,
        placeholder="–",
        column_config={name: st.column_config.NumberColumn(format="%.3g") for name in [*table][1:]},
    )


def columns(chosen: TokenSelection, found: MeasuredToken) -> dict[str, list[str] | list[float]]:
    """Return the tokens and the values of each computed measure, by column name.

    Each occlusion method has a column, with NaN for tokens that it cannot remove.
    """
    table: dict[str, list[str] | list[float]] = {"token": [numbered_label(group) for group in chosen.queries]}
    table |= {measure_name(method, chosen.name): values.tolist() for method, values in found.occluded.items()}
    for measure in MEASURES:
        if (values := found.values_for(measure, chosen.layer, chosen.head)) is not None:
            table[measure_name(measure, chosen.name)] = values.tolist()
    return table
