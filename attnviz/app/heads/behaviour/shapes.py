"""Which of Kovaleva's five shapes each head's weights have, in words first and by rule for who asks."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.analysis.shapes import MEASURE, SHAPES, STRONGEST, ShapeSums
from attnviz.app.heads.behaviour.choices import RuledHead, offer
from attnviz.app.heads.behaviour.findings import Findings, shapes_of_pair
from attnviz.app.models import lookup
from attnviz.app.references import cited_markdown
from attnviz.app.state.choices import READ_WITH
from attnviz.text import percent, plural

_WORDS = (
    "much of the attention goes to the same one or two tokens",
    "much of a token’s attention goes to itself and its neighbours",
    "a token gives some to the same one or two tokens, and some to itself and its neighbours",
    "of two sentences, a token looks much at its own",
    "none of these shapes stands out",
)
"""The shapes in words, in the order of `SHAPES`."""

_ONLY_A_PAIR = "blocks are what a pair of sentences shows, and this is read one sentence at a time"


def draw(findings: Findings, chosen: RuledHead) -> None:
    """Draw how many heads have each shape, which, and behind a click by what rule.

    Raises:
        AttnvizError: the model cannot read the second sentence that was typed.
    """
    first = st.container()
    left, right = st.columns([7, 5], gap="large")
    with right:
        of_head = st.container()
        sums, where = _read(findings)
    found = sums.shapes.ravel()
    counts = np.bincount(found, minlength=len(SHAPES))
    largest = int(counts.argmax())
    here = chosen.layer * findings.tally.shape[1] + chosen.head
    pair = bool(sums.whole[-1].any())
    first.markdown(
        f"{where}, no shape is commoner than **{SHAPES[largest].name}** ({counts[largest]:,} of "
        f"{plural(found.size, 'head')}): {_WORDS[largest]}."
    )
    of_head.markdown(f"Head **{chosen.name}** is **{SHAPES[found[here]].name}**{_of_head(sums, chosen)}")
    with left:
        for number, (shape, words) in enumerate(zip(SHAPES, _WORDS, strict=True)):
            which = np.flatnonzero(found == number).tolist()
            needs = "; needs a pair of sentences" if shape.name == "block" and not pair else ""
            with st.container(
                horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", wrap=False
            ):
                st.markdown(f"**{shape.name}**, {plural(len(which), 'head')}: {words}{needs}.")
                if which:
                    offer(f"heads that are {shape.name}", which, findings.names, chosen)
    with st.expander("The exact rules, and the paper that they are from", icon=":material/calculate:"):
        _explain(sums, chosen)


def _of_head(sums: ShapeSums, chosen: RuledHead) -> str:
    """What the open head gives to columns and to diagonals, as the end of a sentence."""
    here = np.s_[:, chosen.layer, chosen.head]
    columns, near, _ = (sums.given[here] / np.maximum(sums.whole[:, chosen.layer], 1)).tolist()
    even_columns, even_near, _ = (sums.even / np.maximum(sums.whole, 1))[:, chosen.layer].tolist()
    return (
        f": the {STRONGEST} tokens that it looks at most receive {percent(columns)} of its attention (even "
        f"attention: {percent(even_columns)}), a token itself and its two neighbours {percent(near)} (even "
        f"attention: {percent(even_near)})."
    )


def _explain(sums: ShapeSums, chosen: RuledHead) -> None:
    """Write out the rules, what the open head reaches by them, and where they are from."""
    columns, diagonals, blocks = sums.beyond_even[:, chosen.layer, chosen.head]
    in_blocks = "" if np.isnan(blocks) else f", its own sentence {_percent(blocks)}"
    rules = "\n".join(f"- **{shape.name}:** {shape.rule}." for shape in SHAPES)
    no_pairs = f" **No head can be called block here:** {_ONLY_A_PAIR}." if np.isnan(blocks) else ""
    cited_markdown(
        f"{rules}\n\n{MEASURE}. Head **{chosen.name}**: columns {_percent(columns)}, diagonals "
        f"{_percent(diagonals)}{in_blocks} of the way from even attention to nothing else.{no_pairs}\n\n"
        "The shapes are those of Kovaleva et al. 2019, “Revealing the Dark Secrets of BERT”. They trained a "
        "network on pictures that people had labelled; ours are the rules above, so counts are not "
        "comparable with theirs."
    )


def _read(findings: Findings) -> tuple[ShapeSums, str]:
    """The sums, of a pair where the visitor gives a second sentence, and what they are about."""
    entry = lookup.entry(findings.model)
    if findings.text is None or not entry.pairs:
        return findings.shapes, findings.where
    second = READ_WITH.draw(
        "A second sentence, read in one go with yours, shows blocks", placeholder="It slept by the fire."
    )
    if not second.strip():
        return findings.shapes, findings.where
    return shapes_of_pair(entry.name, findings.text, second), "In this pair of sentences"


def _percent(share: float) -> str:
    """A share of the way, which is negative for less than even attention."""
    if np.isnan(share):
        return "–"
    return f"−{percent(-share)}" if round(100 * share) < 0 else percent(max(share, 0.0))
