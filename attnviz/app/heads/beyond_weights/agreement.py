"""The rank correlation of each measure with occlusion."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.analysis.rank_correlation import SIGNIFICANCE_LEVEL, critical_value, rounded_up
from attnviz.app.heads.beyond_weights.choices import TokenSelection
from attnviz.app.heads.beyond_weights.comparison import job_of
from attnviz.app.heads.beyond_weights.explained import measure_name
from attnviz.experiments import beyond_weights
from attnviz.experiments.beyond_weights import Row
from attnviz.text import decimal, percent, plural


def draw(chosen: TokenSelection) -> None:
    """Draw a table of Spearman's ρ, as a range over the occlusion methods, and the critical value."""
    latest = job_of(chosen).latest
    if latest is None or not latest.found.occluded:
        st.markdown("The correlations appear after the first token has been occluded.")
        return
    ranked = chosen.ranked(latest.found)
    rows = beyond_weights.rows(latest.found, chosen.layer, chosen.head, ranked)
    compared = [row for row in rows if not np.isnan(row.lowest)]
    count = int(ranked.sum())
    bound = critical_value(count, max(1, len(compared)))
    if bound is None or not compared:
        tokens = plural(count, "ranked token")
        st.markdown(f"{tokens}: too few to compare rankings. Choose another token or a longer sentence.")
        return
    st.table(
        {
            "measure": [measure_name(row.measure, chosen.name) for row in compared],
            "Spearman’s ρ with occlusion (range over its methods)": [_range(row) for row in compared],
        },
        width="content",
    )
    st.markdown(
        f":small[Critical value of |ρ| for {count} tokens and one method of occlusion: {rounded_up(bound)} "
        f"({percent(SIGNIFICANCE_LEVEL)} level, Bonferroni-corrected for {len(compared)} measures).]"
    )


def _range(row: Row) -> str:
    """Return the range of ρ, "−0.12 to 0.45"; for a single method, "0.45"."""
    return " to ".join(dict.fromkeys((decimal(row.lowest), decimal(row.highest))))
