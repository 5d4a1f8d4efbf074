"""The picture as a table of numbers, on the page and as a file."""

from __future__ import annotations

import csv
import io

import streamlit as st

from attnviz.analysis.shown import visible_text
from attnviz.analysis.table import numbered
from attnviz.heads import beyond_weights
from attnviz.heads.beyond_weights import Found
from attnviz.ui import caches
from attnviz.ui.explore.file_names import file_name_of
from attnviz.ui.heads.beyond_weights.choices import Chosen
from attnviz.ui.heads.beyond_weights.comparison import work_of
from attnviz.ui.heads.beyond_weights.explained import name_here


def draw(chosen: Chosen) -> None:
    """Draw the numbers that are there."""
    with st.container(border=True, height="stretch"):
        st.subheader("The numbers", anchor=False)
        latest = work_of(chosen).latest
        if latest is None:
            st.markdown("They come in one by one.")
            return
        table = columns(chosen, latest.found)
        st.dataframe(table, hide_index=True, height=300, placeholder="–")
        st.download_button(
            "CSV",
            lambda: csv_of(chosen, latest.found),
            file_name=f"{file_name_of(caches.called(chosen.entry.name))}-beyond-weights.csv",
            mime="text/csv",
            on_click="ignore",
            help="All tokens and all measures, as the model gives them: nothing rescaled, nothing left out.",
        )


def columns(chosen: Chosen, found: Found) -> dict[str, list[str] | list[float]]:
    """The tokens, and the values of each measure, by what the column is called."""
    table: dict[str, list[str] | list[float]] = {"token": [numbered(group) for group in chosen.groups]}
    for measure in beyond_weights.MEASURES:
        values = found.of(measure, chosen.layer, chosen.head)
        if values is not None:
            table[name_here(measure, chosen.head_name)] = values.tolist()
    return table


def csv_of(chosen: Chosen, found: Found) -> str:
    """The table, below lines that say what it is; spreadsheets know by the first character that it is UTF-8.

    Numbers have 9 significant digits, enough to give every float32 back exactly. A text stands in quotation
    marks and a token behind its number, so that no spreadsheet takes either for a formula.
    """
    followed = "its output" if found.followed is None else f"the probability of “{found.followed.text}”"
    stand_in = "the mean of all word vectors" if found.stand_in is None else f"“{found.stand_in}”"
    facts = [
        ("model", caches.called(chosen.entry.name)),
        ("text", f"“{visible_text(chosen.text)}”"),
        ("token", numbered(chosen.groups[chosen.place])),
        ("what is followed", visible_text(followed)),
        ("what replaces a word", stand_in),
    ]
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows((f"# {name}", fact) for name, fact in facts)
    table = columns(chosen, found)
    writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(table)
    for token, *values in zip(*table.values(), strict=True):
        writer.writerow([token, *(float(f"{value:.9g}") for value in values)])
    return "\ufeff" + file.getvalue()
