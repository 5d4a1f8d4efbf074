"""All heads and all rules as a table to sort, and as a file."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from attnviz.analysis.rules import OF_ALL
from attnviz.analysis.shapes import SHAPES
from attnviz.analysis.table import Cell, facts_text
from attnviz.analysis.tally import COLUMNS, RULES, rows
from attnviz.app.heads.behaviour import choices
from attnviz.app.heads.behaviour.alike import LETTERS
from attnviz.app.heads.behaviour.choices import RuledHead
from attnviz.app.heads.behaviour.findings import Findings
from attnviz.app.heads.behaviour.words import in_markdown
from attnviz.app.models import lookup
from attnviz.app.saving import file_name_of, save_file, with_sentence


def draw(findings: Findings, chosen: RuledHead) -> None:
    """Draw the table, and the buttons that open its heads and save it."""
    columns: dict[str, list[float] | list[str]] = {"head": findings.names}
    looks: dict[str, Any] = {"head": st.column_config.TextColumn("head", pinned=True, width="small")}
    special = in_markdown(findings.special)
    for rule in RULES:
        figures = findings.tally.of(rule.name)
        if not figures.count.any():
            continue
        numbers = {rule.title: (figures.mean, figures.baseline)}
        if rule.of:
            numbers[f"{rule.name}, {OF_ALL}"] = figures.raw, figures.raw_baseline
        share = rule.unit != "tokens"
        for title, (means, baseline) in numbers.items():
            columns[title] = (means.ravel() * (100 if share else 1)).tolist()
            evenly = rule.number(float(np.nanmean(baseline)))
            looks[title] = st.column_config.ProgressColumn(
                title,
                help=f"{special.fill(rule.short)}. Even attention: {evenly}",
                format="%.0f %%" if share else "%.1f",
                min_value=0.0,
                max_value=100.0 if share else float(np.nanmax(means)) or 1.0,
            )
    columns["shape"] = [SHAPES[number].name for number in findings.shapes.shapes.ravel()]
    columns["group"] = [LETTERS[number] for number in findings.alike.group]
    st.dataframe(columns, column_config=looks, hide_index=True, height=320)
    choices.offer("heads of the table", range(len(findings.names)), findings.names, chosen)
    name = f"{file_name_of(lookup.called(findings.model))}-behaviour"
    name = f"{with_sentence(name) if findings.text else name}.csv"
    save_file("Save as CSV", lambda: csv_of(findings), name, icon=":material/download:")


def csv_of(findings: Findings) -> str:
    """The table of the command `heads`, with what was read, and what each rule counts, in every row."""
    counts = {
        rule.name: f"on average a token {rule.defined(findings.special)}; counted: {rule.meaning}"
        for rule in RULES
    }
    facts: dict[str, Cell] = {
        "model": findings.model,
        "text": findings.text or "",
        "tokens": int(findings.tally.tokens),
    }
    lines = ((*line, counts[str(line[2])]) for line in rows(findings.tally))
    return facts_text(facts, (*COLUMNS, "what is counted"), lines)
