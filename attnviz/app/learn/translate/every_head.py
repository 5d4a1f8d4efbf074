"""What every single head of the translator read for one French word: no average, none left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from attnviz.analysis.sentence import looks
from attnviz.analysis.shown import Shown
from attnviz.app import markdown
from attnviz.app.learn.measured import measured
from attnviz.errors import ModelFilesDamaged
from attnviz.text import head_name, percent
from attnviz.trace import Floats, Kind

if TYPE_CHECKING:
    from attnviz.app.learn.translate.translating import ShownTranslation

_LISTED = 2  # tokens named for each head


def every_head(chosen: ShownTranslation) -> None:
    """Draw a table for each kind of attention: its heads, and what they read most."""
    row, read = chosen.row, chosen.read(chosen.row)
    word = markdown.code(chosen.translation.choices[row][0][0])
    st.header("What every head read, for this word", anchor=False)
    st.markdown(
        f"For the choice of {word}, each head's strongest :violet[weights]. Heads are numbered layer-head; "
        "choose others for the picture above it."
    )
    st.markdown(_finder(chosen))
    encoder, cross, decoder = st.columns(3, gap="large")
    with encoder:
        st.markdown(f"**Encoder**, the row of {chosen.source_name(read)}")
        _table(chosen, "encoder", read, chosen.sources, chosen.sources)
    after = chosen.target_name(row)
    with cross:
        st.markdown(f"**Cross-attention**, the row after {after}")
        _table(chosen, "cross", row, chosen.targets, chosen.sources)
    with decoder:
        st.markdown(f"**Decoder**, the row after {after}")
        _table(chosen, "decoder", row, chosen.targets, chosen.targets)


def _finder(chosen: ShownTranslation) -> str:
    """Which of the encoder's heads finds the noun that *it* means, over many sentences."""
    try:
        found = measured(chosen.model)
    except ModelFilesDamaged as error:
        return markdown.plain(str(error))
    subject, object_ = (percent(found[noun]["found"]) for noun in ("subject", "object"))
    head = f"{found['layer']}-{found['head']}"
    return (
        f"Of this translator's encoder heads, {head} finds the noun that *it* means most often: in {subject} "
        f"of the new sentences in which that is the subject, and in {object_} of those in which it is the "
        "object."
    )


def _table(chosen: ShownTranslation, kind: Kind, query: int, queries: Shown, keys: Shown) -> None:
    lines = ["| head | read |", "|:--|:--|"]
    for block in chosen.translation.trace.of_kind(kind):
        for head, weights in enumerate(block.weights):
            lines.append(f"| {head_name(block.layer, head)} | {_strongest(weights, query, queries, keys)} |")
    st.markdown("\n".join(lines))


def _strongest(weights: Floats, query: int, queries: Shown, keys: Shown) -> str:
    return markdown.shares(looks(weights, query, queries.groups, keys.groups, _LISTED).keys, bold=False)
