"""Which of Kovaleva's five shapes each head's weights have."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.analysis.sentence import percent
from attnviz.analysis.shapes import MEASURE, SHAPES, ShapeSums
from attnviz.ui import caches
from attnviz.ui.heads.behaviour.choices import Chosen
from attnviz.ui.heads.behaviour.findings import Findings, listed, shapes_of_pair

PARAMETERS = ("pair",)


def draw(findings: Findings, chosen: Chosen) -> None:
    """Draw how many heads have each shape, which, and by what rule.

    Raises:
        AttnvizError: the model cannot read the second sentence that was typed.
    """
    st.header("Five shapes", anchor=False)
    sums, where = _read(findings)
    found = sums.shapes
    counts = np.bincount(found.ravel(), minlength=len(SHAPES))
    largest = int(counts.argmax())
    here = chosen.layer, chosen.head
    columns, diagonals, blocks = sums.beyond_even[:, *here]
    in_blocks = "" if np.isnan(blocks) else f", its own sentence {_percent(blocks)}"
    st.markdown(
        f"{where}, **{counts[largest]} of {found.size} heads are {SHAPES[largest].name}**. Head "
        f"**{chosen.name}** is **{SHAPES[found[here]].name}**: columns {_percent(columns)}, diagonals "
        f"{_percent(diagonals)}{in_blocks} of the way from even attention to nothing else."
    )
    names = np.array(findings.names)
    left, right = st.columns([7, 5], gap="large")
    with left:
        for number, shape in enumerate(SHAPES):
            which = names[found.ravel() == number]
            size = f"{len(which)} head{'s' * (len(which) != 1)}"
            st.markdown(f"**{shape.name}**, {size}: {shape.rule}.\n\n:small[{listed(which.tolist())}]")
    no_pairs = (
        " **No head can be called block here:** blocks are what a pair of sentences shows, and this is read "
        "one sentence at a time."
        if np.isnan(blocks)
        else ""
    )
    right.markdown(
        f":small[{MEASURE}. The shapes are those of Kovaleva et al. 2019, “Revealing the Dark Secrets of "
        "BERT”. They trained a network on pictures that people had labelled; ours are the rules beside this, "
        f"so counts are not comparable with theirs.{no_pairs}]"
    )


def _read(findings: Findings) -> tuple[ShapeSums, str]:
    """The sums, of a pair where the visitor gives a second sentence, and what they are about."""
    entry = caches.entry(findings.model)
    if findings.text is None or not entry.pairs:
        return findings.shapes, findings.where
    second = st.text_input(
        "A second sentence, read in one go with yours, shows blocks",
        key="pair",
        bind="query-params",
        placeholder="It slept by the fire.",
    )
    if not second.strip():
        return findings.shapes, findings.where
    return shapes_of_pair(entry, findings.text, second), "In this pair of sentences"


def _percent(share: float) -> str:
    """A share of the way, which is negative for less than even attention."""
    if np.isnan(share):
        return "–"
    return f"−{percent(-share)}" if round(100 * share) < 0 else percent(max(share, 0.0))
