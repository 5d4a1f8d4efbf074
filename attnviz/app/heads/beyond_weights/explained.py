"""Explanations of the measures: definition, formula and limits of each."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from attnviz.app import markdown
from attnviz.app.references import cited_markdown
from attnviz.app.state.choices import MEASURE
from attnviz.capture.model import OCCLUSION_METHODS
from attnviz.experiments.beyond_weights import (
    HEAD_NORMS,
    HEAD_WEIGHTS,
    LAYER_NORMS,
    LAYER_WEIGHTS,
    MEASURES,
    NORMS_AROUND,
    OCCLUSION,
)

# Otherwise a tall formula gets its own scroll bar, which the keyboard cannot reach.
_STYLE = """
<style>
.stMain .katex-display { overflow: auto hidden; padding: 0.55em 0.25em; margin: 0.2em 0; }
</style>
"""


EXPLAINED = markdown.parts(Path(__file__).with_suffix(".md"))
"""Help on the picture, and the definition, formulas, limits and references of each measure."""


def measure_name(measure: str, head: str) -> str:
    """Return the displayed name of a measure or an occlusion method.

    The name includes the head or the layer, if the measure has one: "Weights of head 4-2".
    """
    layer = head.split("-", maxsplit=1)[0]
    names: dict[str, str] = {
        **{method: f"{OCCLUSION}: {method}" for method in OCCLUSION_METHODS},
        HEAD_WEIGHTS: f"Weights of head {head}",
        LAYER_WEIGHTS: f"Weights of layer {layer}, mean over heads",
        HEAD_NORMS: f"Norms of head {head}",
        LAYER_NORMS: f"Norms of layer {layer}",
        NORMS_AROUND: f"Norms of layer {layer} after Add & Norm",
    }
    return names.get(measure, measure)


HEADING = "What is each measure?"
"""Title of the section."""


def draw() -> None:
    """Draw a select of measures, and the explanation of the selected measure."""
    measure = MEASURE.select("What is …", MEASURES)
    st.html(_STYLE)
    cited_markdown(EXPLAINED[measure])


def how_to_read() -> None:
    """Explain how to read the picture."""
    st.markdown(EXPLAINED["How to read the picture"])
