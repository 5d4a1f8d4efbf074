"""One token on its way through one layer, and then through all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from attnviz.analysis.display_tokens import DisplayToken
from attnviz.analysis.sentence import name_of
from attnviz.app import markdown
from attnviz.app.components import store
from attnviz.app.components.curves import Axis, Line, curves
from attnviz.app.learn import choosing
from attnviz.app.learn.block.stream import stream
from attnviz.app.learn.computed import block as compute
from attnviz.app.learn.computed import computed
from attnviz.app.learn.lesson import guess
from attnviz.app.references import cited_markdown
from attnviz.app.state.choices import LAYER, STAGE_IN_BLOCK
from attnviz.text import decimal

_walk = computed(compute.walk)
_journey = computed(compute.journey)

STEPS = STAGE_IN_BLOCK.most
MOST_STRONGEST = 5  # neurons that are named
MOST_FAINT = 24  # other tokens' lines in a chart

VECTORS = (
    *("came_in", "attention", "first_sum", "attended", "expanded", "activated"),
    *("feed_forward", "second_sum", "came_out"),
)


@dataclass(frozen=True)
class TokenInLayer(choosing.TokenSelection):
    """The token that is followed, through which `layer`, from 0, and how far: `step`, 1 to 7."""

    layer: int
    step: int

    @property
    def walk(self) -> compute.Walk:
        """Its way through the layer."""
        return _walk(self.text, self.layer, self.query)


def choose() -> TokenInLayer:
    """Draw the choice of a sentence, a layer and a token."""
    sentence_column, layer_column, token_column = st.columns([5, 2, 3])
    with sentence_column:
        text = choosing.sentence()
    with layer_column:
        layer = choosing.layer()
    with token_column:
        token = choosing.token(text, "Token")
    # Out of sight: the picture has buttons for the steps.
    return TokenInLayer(text, token, layer, STAGE_IN_BLOCK.draw("Step"))


def question(chosen: TokenInLayer) -> None:
    """Ask which is longer, the vector or what attention adds to it."""
    vector, update = chosen.walk.came_in.length, chosen.walk.attention.length
    size = len(chosen.walk.came_in.values)
    options = ["the old vector", "the update"]
    guess(
        f"{chosen.name} comes into layer {chosen.layer + 1} as a vector of {size} numbers. Attention *adds* "
        "an **update** to it, another such vector. Which is longer (the root of its summed squares)?",
        options,
        right=options[0] if vector >= update else options[1],
        because=f"The old vector's length is **{decimal(vector)}**, the update's **{decimal(update)}**: "
        f"{decimal(update / vector)} times as long.",
    )


def picture(chosen: TokenInLayer) -> None:
    """Draw the layer as a walk, and say in words what the step does."""
    walk = chosen.walk
    arrays = {name: walk.station(name).values for name in VECTORS}
    arrays |= {
        "first_gain": walk.first_norm.gain,
        "first_offset": walk.first_norm.offset,
        "second_gain": walk.second_norm.gain,
        "second_offset": walk.second_norm.offset,
        "neuron_place": walk.into_neuron.place,
        "neuron_weight": walk.into_neuron.weight,
        "dimension_place": walk.into_dimension.place,
        "dimension_weight": walk.into_dimension.weight,
    }
    stream(
        "stream",
        arrays=store.publish("stream arrays", arrays),
        step=chosen.step,
        tokens=walk.tokens,
        layer=chosen.layer + 1,
        layers=walk.layers,
        facts={
            name: {"length": at.length, "mean": at.mean, "cosine": at.cosine}
            for name in VECTORS
            for at in [walk.station(name)]
        },
        norms=[
            {"mean": norm.mean, "variance": norm.variance, "epsilon": norm.epsilon}
            for norm in (walk.first_norm, walk.second_norm)
        ],
        firing=walk.firing,
        strongest=walk.strongest(MOST_STRONGEST),
        reach=walk.reach,
        on_step=STAGE_IN_BLOCK.set,
        on_layer=_go_to_layer,
    )
    st.markdown(_in_words(chosen))


def text(chosen: TokenInLayer) -> None:
    """Say what a layer is, and what its parts do."""
    walk = chosen.walk
    share = 100 * walk.parameters_of_feed_forward / walk.parameters
    st.markdown(
        f"A **layer**, often called a block, takes a vector $x$ of {len(walk.came_in.values)} numbers for "
        "each token, and hands on one of the same size, $z$. Two parts work on it, attention with all its "
        "heads and a **feed-forward network** (FFN), and both only *add* to it:"
    )
    st.latex(
        r"\begin{aligned}y &= \operatorname{LayerNorm}\big(x + \operatorname{MultiHead}(x)\big) \\"
        r"z &= \operatorname{LayerNorm}\big(y + \operatorname{FFN}(y)\big)\end{aligned}"
    )
    cited_markdown(
        "**Attention** moves information between tokens. The **feed-forward network** works on what has "
        f"arrived, on each token alone, with {share:.0f}\u00a0% of the layer's learned numbers. **Adding** "
        "keeps what is old, if the update is small. The **norm** keeps the numbers of a token within "
        "bounds.\n\nThis vector, from the first layer to the last, is the token's **residual stream** "
        "(Elhage et al. 2021)."
    )


def parts(chosen: TokenInLayer) -> None:
    """Explain every part of the layer, with the numbers of the picture."""
    walk = chosen.walk
    size, wide = len(walk.came_in.values), len(walk.expanded.values)
    cited_markdown(
        "**Why add?** An update does not replace the vector: to keep what is old, it only has to be small "
        f"(He et al. 2016). The old vector has length {decimal(walk.came_in.length)}, attention's update "
        f"{decimal(walk.attention.length)}. The cosine between $x$ and the sum is "
        f"{decimal(_cosine(walk.first_sum))}; the update alone, put in place of $x$, would have "
        f"{decimal(_cosine(walk.attention))}.\n\n"
        "**Why norm?** For training: where the norm stands decides how large the gradients are at its start "
        "(Xiong et al. 2020). The layer norm (Ba et al. 2016) subtracts a token's own mean $\\mu$, divides "
        "by the root of its own variance $\\sigma^2$, and gives every dimension its learned size $\\gamma$ "
        "and offset $\\beta$:"
    )
    st.latex(
        r"\operatorname{LayerNorm}(s) = \frac{s - \mu}{\sqrt{\sigma^2 + \varepsilon}} \odot \gamma + \beta"
    )
    cited_markdown(
        f"In the first norm of this layer $\\mu$ = {decimal(walk.first_norm.mean, 3)} and $\\sigma^2$ = "
        f"{decimal(walk.first_norm.variance, 3)}; $\\varepsilon = {_scientific(walk.first_norm.epsilon)}$ "
        "only keeps the root away from 0. Adding first and norming then, as Vaswani et al. (2017) and BERT "
        "do, is called *post-norm*; many later models norm first (*pre-norm*).\n\n"
        f"**The feed-forward network** widens the vector from {size} to {wide} numbers, the **neurons**, "
        f"passes each through an **activation function**, and comes back to {size}:"
    )
    # The space at the end makes room for the last index, which would stand two pixels over the edge.
    st.latex(r"\operatorname{FFN}(y) = \operatorname{GELU}(y W_1 + b_1)\, W_2 + b_2\,")
    cited_markdown(
        "Vaswani et al. took **ReLU**, $\\max(0, h)$: a neuron below 0 is switched off. BERT uses its smooth "
        "cousin $\\operatorname{GELU}(h) = h \\cdot \\Phi(h)$, where $\\Phi(h)$ is the chance that a "
        "standard normal number is below $h$ (Hendrycks & Gimpel 2016).\n\n"
        f"**It never mixes tokens.** {_mixing(chosen)}"
    )


def layer_by_layer(chosen: TokenInLayer) -> None:
    """Draw the lengths and directions layer by layer."""
    through = _journey(chosen.text)
    token = chosen.query
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("How long are the parts?", anchor=False)
        _lengths_chart(through, token)
        st.markdown(_lengths_in_words(through, token, chosen.name))
    with right:
        st.subheader("How much of the embedding is left?", anchor=False)
        near = _nearest(token, len(chosen.groups))
        _similarity_chart(through, [token, *near], chosen.groups)
        faint = "the other tokens"
        if len(near) < len(chosen.groups) - 1:
            faint = f"its {len(near)} nearest of {len(chosen.groups) - 1} other tokens"
        said = _similarity_in_words(through, token, chosen.name)
        st.markdown(f"{said} {_furthest(chosen, through)} The faint lines are {faint}.")


def neurons(chosen: TokenInLayer) -> None:
    """Say which neurons fire."""
    st.markdown(_neurons_in_words(chosen))


def _lengths_chart(through: compute.Journey, token: int) -> None:
    layers = range(1, len(through.came_in) + 1)
    curves(
        "lengths-by-layer",
        [
            Line("vector that comes in", layers, through.came_in[:, token], marker="circle", colour="muted"),
            Line("attention's update", layers, through.attention[:, token], dash="dash", marker="square"),
            Line(
                "feed-forward's update",
                layers,
                through.feed_forward[:, token],
                dash="dot",
                marker="diamond",
                colour="feed-forward",
            ),
        ],
        title="How long are the parts?",
        across=Axis("layer", at="layer {x}"),
        up=Axis("length of the vector", zero=True),
        alt=_lengths_in_words(through, token, "The token"),
    )


def _similarity_chart(
    through: compute.Journey, tokens: Sequence[int], groups: tuple[DisplayToken, ...]
) -> None:
    """The first of the tokens stands out."""
    after = range(len(through.similarity))
    token, *others = tokens
    cosines = through.similarity[:, token]
    main = Line(
        name_of(token, groups),
        after,
        cosines,
        marker="circle",
        colour="text",
        printed=[decimal(float(cosine)) for cosine in cosines],
    )
    faint = [
        Line(name_of(place, groups), after, through.similarity[:, place], colour="text", faint=True)
        for place in others
    ]
    curves(
        "similarity-by-layer",
        [main, *faint],
        title="How much of the embedding is left?",
        across=Axis("after layer (0: the embedding)", at="after layer {x}"),
        up=Axis("cosine to the embedding", zero=True),
        faint="other tokens",
        alt=_similarity_in_words(through, token, "The token"),
    )


CODE = (
    ("attnviz.transformer.layers", "EncoderLayer"),
    ("attnviz.transformer.add_norm", "AddNorm"),
    ("attnviz.transformer.feed_forward", "FeedForward"),
    ("attnviz.app.learn.block.compute", "walk_through"),
)

LIMITS = (
    "- **Who was read.** Attention's update is the sum of what all heads bring; *Many heads* takes it "
    "apart.\n"
    "- **Words, in deep layers.** What attention reads there are mixtures already: the vector of a token "
    "holds something of every token it looked at before (Abnar & Zuidema 2020).\n"
    "- **Meaning, in one number.** A single dimension or neuron need not stand for anything a person has "
    "a word for. A few that are large for nearly every token were found in many BERTs (Kovaleva et al. "
    "2021), and a cosine can depend mostly on them (Timkey & van Schijndel 2021).\n"
    "- **Importance, in a length.** A long update can be undone by the next one, and here each sum is "
    "normed.\n"
    "- **Every transformer.** GPT-2 (Radford et al. 2019) and many later models norm what each part "
    "reads, not the sum: their residual stream can grow."
)


def _go_to_layer(layer: int) -> None:
    LAYER.set(layer)
    STAGE_IN_BLOCK.set(1)


def _in_words(chosen: TokenInLayer) -> str:
    """What this step of the walk does to the token's vector, with its numbers."""
    walk, name = chosen.walk, chosen.name
    here = f"**Layer {chosen.layer + 1}, step {chosen.step}.**"
    length = {vector: decimal(walk.station(vector).length) for vector in VECTORS}
    cosine = {
        vector: decimal(_cosine(walk.station(vector)))
        for vector in ("attention", "first_sum", "attended", "feed_forward", "second_sum", "came_out")
    }
    said = (
        f"{name} comes in as {len(walk.came_in.values)} numbers of length **{length['came_in']}**.",
        (
            f"Attention reads {walk.tokens} tokens and makes an update of length "
            f"**{length['attention']}**, whose cosine to the old vector is {cosine['attention']}."
        ),
        (
            f"{length['came_in']} long and {length['attention']} long make a sum that is "
            f"**{length['first_sum']}** long; its cosine to the old vector is **{cosine['first_sum']}**."
        ),
        f"The norm takes {name} from length {length['first_sum']} to **{length['attended']}**.",
        (
            f"**{walk.firing}** of {len(walk.activated.values)} neurons are above 0 for {name}; they make "
            f"an update of length **{length['feed_forward']}**."
        ),
        (
            f"{length['attended']} long and {length['feed_forward']} long make a sum that is "
            f"**{length['second_sum']}** long."
        ),
        (
            f"{name} goes out with length **{length['came_out']}**; its cosine to the vector that came in "
            f"is **{cosine['came_out']}**."
        ),
    )
    return f"{here} {said[chosen.step - 1]}"


def _mixing(chosen: TokenInLayer) -> str:
    walk = chosen.walk
    change = "exactly 0" if walk.change_of_feed_forward == 0 else f"{walk.change_of_feed_forward:.1e}"
    return (
        f"Replace the vectors of all tokens but {chosen.name} by zeros: attention's update for {chosen.name} "
        f"changes by {decimal(walk.change_of_attention)} (the length of the difference), that of the "
        f"feed-forward network by {change}."
    )


def _lengths_in_words(through: compute.Journey, token: int, name: str) -> str:
    listed = [
        ", ".join(decimal(float(value), 1) for value in numbers[:, token])
        for numbers in (through.came_in, through.attention, through.feed_forward)
    ]
    ratio = through.feed_forward[:, token] / through.attention[:, token]
    layer = int(ratio.argmax())
    return (
        f"{name} comes into the layers with length {listed[0]}. Attention adds {listed[1]}, the feed-forward "
        f"network {listed[2]}. In layer {layer + 1} it adds {decimal(float(ratio[layer]), 1)} times as much "
        "as attention."
    )


def _similarity_in_words(through: compute.Journey, token: int, name: str) -> str:
    listed = ", ".join(decimal(float(value)) for value in through.similarity[1:, token])
    return (
        f"{name} begins as its embedding. After layers 1 to {len(through.similarity) - 1} the cosine between "
        f"its vector and that embedding is {listed}."
    )


def _furthest(chosen: TokenInLayer, through: compute.Journey) -> str:
    last = through.similarity[-1]
    least, most = (
        f"{markdown.token(place, chosen.groups)} ({decimal(float(last[place]))})"
        for place in (int(last.argmin()), int(last.argmax()))
    )
    return f"Of all tokens, {most} ends nearest to its embedding, {least} furthest from it."


def _neurons_in_words(chosen: TokenInLayer) -> str:
    walk, name = chosen.walk, chosen.name
    all_neurons = len(walk.activated.values)
    strongest = walk.strongest(MOST_STRONGEST)
    listed = ", ".join(f"neuron {neuron + 1} ({decimal(value)})" for neuron, value in strongest)
    order = np.argsort(-walk.strongest_everywhere, kind="stable")[:3]
    where = ", ".join(
        f"{markdown.token(place, chosen.groups)} {decimal(float(walk.strongest_everywhere[place]))}"
        for place in map(int, order)
    )
    share = 100 * walk.firing / all_neurons
    return (
        f"For {name}, **{walk.firing} of {all_neurons}** neurons ({share:.0f} %) are above 0. Those that "
        f"fire most: {listed}. In this sentence, neuron {strongest[0][0] + 1} is largest for {where}."
    )


def _nearest(token: int, tokens: int) -> Sequence[int]:
    """The other tokens, at most so many as a chart can show: those that stand nearest."""
    return sorted((place for place in range(tokens) if place != token), key=lambda place: abs(place - token))[
        :MOST_FAINT
    ]


def _cosine(station: compute.Station) -> float:
    assert station.cosine is not None  # noqa: S101 - only the neurons have none; for the type checker
    return station.cosine


def _scientific(value: float) -> str:
    """1e-12 as LaTeX."""
    digits, exponent = f"{value:.0e}".split("e")
    power = f"10^{{{int(exponent)}}}"
    return power if digits == "1" else rf"{digits} \cdot {power}"
