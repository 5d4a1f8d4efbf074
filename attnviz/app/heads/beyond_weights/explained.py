"""What each measure is, in two lines, how it is computed, and when it misleads."""

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

# A tall formula would else have a scroll bar of its own, which no key can reach.
_STYLE = """
<style>
.stMain .katex-display { overflow: auto hidden; padding: 0.55em 0.25em; margin: 0.2em 0; }
</style>
"""


@dataclass(frozen=True)
class MeasureText:
    """One measure in words.

    Attributes:
        what: what it is, in two lines of Markdown.
        formulas: in LaTeX, a line each: a phone has no room for two in one.
        misleads, paper: when it does, and who proposed it.
    """

    what: str
    formulas: tuple[str, ...]
    misleads: str
    paper: str


EXPLAINED = {
    OCCLUSION: MeasureText(
        "Each word in turn is removed, and the model is run again. How far does the chosen token’s output "
        "turn, or, where the model predicts, the expected token’s log-probability move? This tests the model "
        "itself, so the other measures are compared with it. There are four ways to leave a word out, and no "
        "best one: its vector is replaced, by that of the masked token or by the mean of all words; or "
        "its key is masked; or it is deleted.",
        (
            r"1-\cos\left(y_i,\;y_i^{\text{without }j}\right)",
            r"\text{or}\quad\left|\log p-\log p^{\text{without }j}\right|",
        ),
        "Each way shows the model something that it would rarely meet: a vector that is no word, a token at "
        "which no token attends, or a sentence with later tokens one place too early. So the ways can "
        "disagree. And two words with the same meaning can replace each other, so that neither seems "
        "to matter.",
        "Zeiler & Fergus 2014; Li et al. 2016",
    ),
    HEAD_WEIGHTS: MeasureText(
        "What one head of one layer reads, as shares of all that it gives: what Explore draws.",
        (r"\alpha_{ij}=\text{softmax}_j\left(\text{score}_{ij}\right)",),
        "One head of many; and a large weight on a vector of next to no length carries next to nothing. In "
        "deep layers a token’s vector is a mixture of several words.",
        "Vaswani et al. 2017; Jain & Wallace 2019; Wiegreffe & Pinter 2019",
    ),
    LAYER_WEIGHTS: MeasureText(
        "The mean of the weights over all heads of the chosen layer.",
        (r"\bar\alpha_{ij}=\frac1H\sum_h\alpha^h_{ij}",),
        "Averaging hides what single heads do: in *The dog did not cross the road as it was too tired.*, "
        "*it* gives *dog* 66 % in head 4-2, and 13 % in the mean of that layer.",
        "Voita et al. 2019",
    ),
    HEAD_NORMS: MeasureText(
        "The length of what the head really takes from a token: its weight times the value vector, after the "
        "head’s slice of $W_O$. A large weight on a short vector can become small.",
        (r"\left\|\alpha_{ij}\,f(x_j)\right\|", r"f(x)=(x\,W_V+b_V)\,W_O"),
        "Still one head of one layer, and length is not direction: what is long can be undone by the next "
        "layer.",
        "Kobayashi et al. 2020",
    ),
    LAYER_NORMS: MeasureText(
        "The same for all heads of the chosen layer together: their vectors are added first, then the length"
        " is taken, so that what cancels, cancels.",
        (r"\left\|\sum_h\alpha^h_{ij}\,f^h(x_j)\right\|",),
        "It ignores the residual connection.",
        "Kobayashi et al. 2020",
    ),
    NORMS_AROUND: MeasureText(
        "The same with what is around the attention: the token’s own vector is added to what it hands "
        "itself, and each part goes through the layer norm, where the model has one there.",
        (
            r"\left\|\,\frac{u_j-\text{mean}(u_j)}{\sigma_i}\odot\gamma\,\right\|",
            r"u_j=\sum_h\alpha^h_{ij}f^h(x_j)+[i=j]\,x_i",
        ),
        "It ends before the feed-forward network, and it is one layer: from layer 2 on, what a token holds "
        "has already been mixed. Models that norm *before* their attention (GPT-2) have no norm to go "
        "through here.",
        "Kobayashi et al. 2021",
    ),
    ROLLOUT: MeasureText(
        "All layers multiplied: half of each token stays, half is mixed by the mean weights of the layer. "
        "How much of each input word has arrived at the chosen token?",
        (r"R_l=\tilde A_l\,R_{l-1}", r"\tilde A_l=\tfrac12\left(\bar A_l+I\right)"),
        "It averages heads, takes the residual connection for exactly one half, and ignores values and the "
        "feed-forward network. With more layers, what has arrived at different tokens can become more alike.",
        "Abnar & Zuidema 2020",
    ),
    GRADIENT_ATTENTION: MeasureText(
        "Each weight times how much what we follow would move if that weight moved: of all weights that any "
        "token gives to this one, in all layers and heads, the sizes are added.",
        (r"\sum_{l,h,i}\left|\alpha^{lh}_{ij}\,\frac{\partial s}{\partial \alpha^{lh}_{ij}}\right|",),
        "A slope describes the smallest step, not of taking a word away. It also bends each weight alone, "
        "though in the model one grows only as others shrink.",
        "compare Barkan et al. 2021 (who keep positive slopes only); Serrano & Smith 2019",
    ),
    GRADIENT_INPUT: MeasureText(
        "How far what we follow would go if it were a straight line and the word’s vector shrank to 0.",
        (r"\left\|\frac{\partial s}{\partial x_j}\cdot x_j\right\|",),
        "The model is no straight line, and a vector of zeros is no missing word.",
        "Denil et al. 2014; Shrikumar et al. 2017",
    ),
    GRADIENT: MeasureText(
        "How strongly what we follow would move if the word’s vector moved a little, in whichever direction "
        "moves it most or least, all taken together.",
        (r"\left\|\frac{\partial s}{\partial x_j}\right\|_F",),
        "It measures the model’s sensitivity around this word, not its contribution: a word that the "
        "model is sure of can have a flat slope and all the influence.",
        "Simonyan et al. 2014; Brunner et al. 2020 (hidden token attribution)",
    ),
}
"""By measure."""


def measure_name(measure: str, head: str) -> str:
    """What a measure, or a way of leaving words out, is called on the page.

    With the head's or the layer's name where it is of one: "Weights of head 4-2".
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
"""Of the section."""


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
