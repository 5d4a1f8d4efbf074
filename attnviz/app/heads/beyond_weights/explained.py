"""Explanations of the measures: definition, formula, and when each misleads."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from attnviz.app.references import cited_markdown
from attnviz.app.state.choices import MEASURE
from attnviz.capture.model import WAYS
from attnviz.experiments.beyond_weights import (
    GRADIENT,
    GRADIENT_ATTENTION,
    GRADIENT_INPUT,
    HEAD_NORMS,
    HEAD_WEIGHTS,
    LAYER_NORMS,
    LAYER_WEIGHTS,
    MEASURES,
    NORMS_AROUND,
    OCCLUSION,
    ROLLOUT,
)

# Without it, a tall formula has its own scroll bar, which the keyboard cannot reach.
_STYLE = """
<style>
.stMain .katex-display { overflow: auto hidden; padding: 0.55em 0.25em; margin: 0.2em 0; }
</style>
"""


@dataclass(frozen=True)
class MeasureText:
    """Explanation of one measure.

    Attributes:
        what: Definition, in two lines of Markdown.
        formulas: LaTeX formulas, one per line, so that they fit on a phone.
        misleads: When the measure misleads.
        paper: Who proposed it.
    """

    what: str
    formulas: tuple[str, ...]
    misleads: str
    paper: str


EXPLAINED = {
    OCCLUSION: MeasureText(
        "Each token in turn is removed, and the model is run again. The value is the change of the chosen "
        "token’s output or, where the model predicts a token, of that token’s log-probability. This tests "
        "the model itself, so the other measures are compared with it. There are four methods, and none is "
        "best: the token’s vector is replaced by that of the mask token or by the mean of all word vectors; "
        "its key is masked; or it is deleted.",
        (
            r"1-\cos\left(y_i,\;y_i^{\text{without }j}\right)",
            r"\text{or}\quad\left|\log p-\log p^{\text{without }j}\right|",
        ),
        "Each method gives the model an unusual input: a vector that is not a word, a token that no other "
        "token attends to, or a sentence whose later tokens move up by one. So the methods can "
        "disagree. And two words with the same meaning can replace each other, so that neither seems "
        "to matter.",
        "Zeiler & Fergus 2014; Li et al. 2016",
    ),
    HEAD_WEIGHTS: MeasureText(
        "The attention weights of one head of one layer, as in Explore.",
        (r"\alpha_{ij}=\text{softmax}_j\left(\text{score}_{ij}\right)",),
        "It is one head of many, and a large weight on a very short value vector has little effect. In "
        "deep layers a token’s vector is a mixture of several words.",
        "Vaswani et al. 2017; Jain & Wallace 2019; Wiegreffe & Pinter 2019",
    ),
    LAYER_WEIGHTS: MeasureText(
        "The mean of the weights over all heads of the chosen layer.",
        (r"\bar\alpha_{ij}=\frac1H\sum_h\alpha^h_{ij}",),
        "Averaging hides differences: in *The dog did not cross the road as it was too tired.*, "
        "*it* gives *dog* 66 % in head 4-2, and 13 % in the mean of that layer.",
        "Voita et al. 2019",
    ),
    HEAD_NORMS: MeasureText(
        "The norm of a token’s contribution to the head’s output: its weight times its value vector, after "
        "the head’s slice of $W_O$. A large weight on a short vector can become small.",
        (r"\left\|\alpha_{ij}\,f(x_j)\right\|", r"f(x)=(x\,W_V+b_V)\,W_O"),
        "It is still one head of one layer, and a norm ignores direction: the next layer can cancel a long "
        "vector.",
        "Kobayashi et al. 2020",
    ),
    LAYER_NORMS: MeasureText(
        "The same for all heads of the chosen layer together: the norm of the sum of their vectors, in which "
        "opposite vectors cancel.",
        (r"\left\|\sum_h\alpha^h_{ij}\,f^h(x_j)\right\|",),
        "It ignores the residual connection.",
        "Kobayashi et al. 2020",
    ),
    NORMS_AROUND: MeasureText(
        "The same including the residual connection: the token’s own vector is added to its contribution to "
        "itself, and each part passes through the layer norm, if the model has one there.",
        (
            r"\left\|\,\frac{u_j-\text{mean}(u_j)}{\sigma_i}\odot\gamma\,\right\|",
            r"u_j=\sum_h\alpha^h_{ij}f^h(x_j)+[i=j]\,x_i",
        ),
        "It excludes the feed-forward network, and covers one layer: from layer 2 on, a token’s vector "
        "is already a mixture. Models that normalize *before* their attention (GPT-2) have no norm here.",
        "Kobayashi et al. 2021",
    ),
    ROLLOUT: MeasureText(
        "The product over all layers of ½ (mean attention weights + identity): an estimate of how much of "
        "each input word reaches the chosen token.",
        (r"R_l=\tilde A_l\,R_{l-1}", r"\tilde A_l=\tfrac12\left(\bar A_l+I\right)"),
        "It averages heads, counts the residual connection as exactly one half, and ignores values and the "
        "feed-forward network. With more layers, the rows of different tokens can become more alike.",
        "Abnar & Zuidema 2020",
    ),
    GRADIENT_ATTENTION: MeasureText(
        "Each weight times the gradient of the measured outcome with respect to it; absolute values, summed "
        "over all layers, heads and query tokens.",
        (r"\sum_{l,h,i}\left|\alpha^{lh}_{ij}\,\frac{\partial s}{\partial \alpha^{lh}_{ij}}\right|",),
        "A gradient describes a very small change, not the removal of a word. It also changes each weight "
        "alone, although the weights of a row sum to 1.",
        "compare Barkan et al. 2021 (positive gradients only); Serrano & Smith 2019",
    ),
    GRADIENT_INPUT: MeasureText(
        "The change of the measured outcome if it were linear and the word’s vector were set to 0.",
        (r"\left\|\frac{\partial s}{\partial x_j}\cdot x_j\right\|",),
        "The model is not linear, and a vector of zeros is not a missing word.",
        "Denil et al. 2014; Shrikumar et al. 2017",
    ),
    GRADIENT: MeasureText(
        "The norm of the gradient of the measured outcome with respect to the word’s vector.",
        (r"\left\|\frac{\partial s}{\partial x_j}\right\|_F",),
        "It measures the model’s sensitivity to this word, not its contribution: an important word can have "
        "a gradient close to 0.",
        "Simonyan et al. 2014; Brunner et al. 2020 (hidden token attribution)",
    ),
}
"""By measure."""


def measure_name(measure: str, head: str) -> str:
    """Return the name of a measure or an occlusion method on the page.

    It includes the head or the layer, if the measure has one: "Weights of head 4-2".
    """
    layer = head.split("-", maxsplit=1)[0]
    names: dict[str, str] = {
        **{way: f"{OCCLUSION}: {way}" for way in WAYS},
        HEAD_WEIGHTS: f"Weights of head {head}",
        LAYER_WEIGHTS: f"Weights of layer {layer}, mean of heads",
        HEAD_NORMS: f"Norms of head {head}",
        LAYER_NORMS: f"Norms of layer {layer}",
        NORMS_AROUND: f"Norms of layer {layer} after Add & Norm",
    }
    return names.get(measure, measure)


HEADING = "What is each measure?"
"""Title of the section."""


def draw() -> None:
    """Draw the choice of a measure, and its explanation."""
    measure = MEASURE.select("What is …", MEASURES)
    explained = EXPLAINED[measure]
    st.html(_STYLE)
    st.markdown(explained.what)
    for formula in explained.formulas:
        st.latex(formula)
    st.markdown(f"**Where it can mislead.** {explained.misleads}")
    cited_markdown(f":small[{explained.paper}]")
