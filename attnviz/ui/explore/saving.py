"""Take it along: the link to this very view, and the numbers as files."""

from __future__ import annotations

import io
from dataclasses import replace

import streamlit as st

from attnviz import trace_file
from attnviz.analysis.table import head_table
from attnviz.ui import caches
from attnviz.ui.caches import View
from attnviz.ui.components.copy_link import copy_link
from attnviz.ui.explore import attention
from attnviz.ui.explore.choices import Heads, parameters
from attnviz.ui.explore.file_names import file_name_of
from attnviz.ui.explore.one_head import explanation, file_name


def draw(view: View, heads: Heads) -> None:
    """Draw the buttons."""
    copy_link("link", parameters())
    with st.popover("Save"):
        st.download_button(
            f"CSV of head {heads.name}",
            lambda: csv_of(view, heads),
            file_name=f"{file_name(view, replace(heads, also=()))}.csv",
            mime="text/csv",
            on_click="ignore",
            help="The numbers of the open head as they are shown, with a header that says what they are.",
        )
        st.download_button(
            "All heads (NPZ)",
            lambda: npz_of(view),
            file_name=f"{file_name_of(caches.called(view.model))}.npz",
            mime="application/zip",
            on_click="ignore",
            help="Every query, key, value, score and weight of this sentence as the model computed them, "
            "nothing hidden, merged or rescaled: for Python, numpy.load.",
        )
        st.download_button(
            "Report (HTML)",
            lambda: report_of(view),
            file_name=f"{file_name_of(caches.called(view.model))}.html",
            mime="text/html",
            on_click="ignore",
            help="One file with every head to point at, to mail, to keep or to print: it needs neither this "
            "server nor a network.",
        )


def csv_of(view: View, heads: Heads) -> str:
    """The shown numbers of the open head; spreadsheets know by the first character that it is UTF-8."""
    queries, keys = caches.groups(view)
    [numbers] = caches.readable(view, heads.layer, [heads.head])
    read = caches.trace(view.model, view.changed or view.given)
    return "\ufeff" + head_table(
        numbers,
        queries,
        keys,
        text=read.text,
        second=read.second,
        target=read.target,
        compared_with=caches.trace(view.model, view.given).text if view.changed else None,
        model=caches.called(view.model),
        attention=attention.of(view.model, view.kind).strip() or None,
        layer=heads.layer - 1,
        head=heads.head - 1,
        stage=view.stage,
        explanation=explanation(view),
    )


def npz_of(view: View) -> bytes:
    """The whole forward pass over the sentence on show."""
    file = io.BytesIO()
    trace_file.write(caches.trace(view.model, view.given), file)
    return file.getvalue()


def report_of(view: View) -> str:
    """One page with all heads of the sentence on show, which needs no server and no network."""
    from attnviz.report.page import report

    return report(caches.trace(view.model, view.given))
