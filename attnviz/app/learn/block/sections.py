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


def choose(text: str) -> TokenInLayer:
    """Draw the choice of a token of this sentence, of a layer, and of the step of the walk."""
    token_column, layer_column, step_column = st.columns([1.4, 1, 1])
    with token_column:
        token = choosing.token(text, "Token")
    with layer_column:
        layer = choosing.layer()
    with step_column:
        step = STAGE_IN_BLOCK.draw("Step")
    return TokenInLayer(text, token, layer, step)


def question(chosen: TokenInLayer) -> None:
    """Ask which is longer, the vector or what attention adds to it."""
    vector, update = chosen.walk.came_in.length, chosen.walk.attention.length
    size = len(chosen.walk.came_in.values)
    options = ["the old vector", "the update"]
    guess(
        f"{chosen.name} comes into layer {chosen.layer + 1} as a vector of {size} numbers. Attention works "
        "out an **update**, a vector of the same size, and *adds* it. Which of the two vectors is longer (a "
        "vector's length is the root of its summed squares)?",
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
    """Explain every part of the layer, with the numbers of the picture."""
    walk = chosen.walk
    size, wide = len(walk.came_in.values), len(walk.expanded.values)
    least = float(walk.activated.values.min())
    st.header("What the parts are for", anchor=False)
    st.markdown(
        "A **layer**, often called a block, holds the attention block of page 4 and a feed-forward network. "
        f"It takes one vector of {size} numbers for each token and hands on one of the same size. This "
        "vector, from the first layer to the last, is the token's **residual stream** (Elhage et al. 2021): "
        "both parts read from it and *add* to it."
    )
    st.latex(r"y = \operatorname{LayerNorm}\big(x + \operatorname{MultiHead}(x)\big)")
    st.latex(r"z = \operatorname{LayerNorm}\big(y + \operatorname{FFN}(y)\big)")
    st.markdown(
        f"$x$ is the vector that comes in, $y$ the one between the two halves, $z$ the one that goes out. "
        f"MultiHead is attention with all its heads, FFN the feed-forward network.\n\n"
        f"**Why add?** An update does not replace the vector: to keep what is old, it only has to be small "
        f"(He et al. 2016). Here the old vector has length {decimal(walk.came_in.length)}, "
        f"attention's update {decimal(walk.attention.length)}. The cosine of the angle "
        f"between $x$ and the sum is {decimal(_cosine(walk.first_sum))} (1: same direction, 0: right angle); "
        f"the update alone, put in place of $x$, would have {decimal(_cosine(walk.attention))}.\n\n"
        "**Why norm?** For training: where the norm stands decides how large the gradients are at its start "
        "(Xiong et al. 2020). The layer norm (Ba et al. 2016) subtracts a "
        f"token's own mean $\\mu$ and divides by the root of its own variance $\\sigma^2$, then gives every "
        f"dimension its learned size $\\gamma$ and offset $\\beta$ ($\\odot$: number by number):"
    )
    st.latex(
        r"\operatorname{LayerNorm}(s) = \frac{s - \mu}{\sqrt{\sigma^2 + \varepsilon}} \odot \gamma + \beta"
    )
    st.markdown(
        f"In the first norm of this layer $\\mu$ = {decimal(walk.first_norm.mean, 3)} and $\\sigma^2$ = "
        f"{decimal(walk.first_norm.variance, 3)}; $\\varepsilon = {_scientific(walk.first_norm.epsilon)}$ "
        "only keeps the root away from 0. Adding first and norming then, as Vaswani et al. (2017) and BERT "
        "do, is called *post-norm*; many later models norm first (*pre-norm*).\n\n"
        f"**The feed-forward network** widens the vector from {size} to {wide} numbers, the **neurons**: "
        f"{decimal(wide / size, 0)} times as many, as in that paper. It passes each through an **activation "
        f"function** and comes back to {size}:"
    )
    # The space at the end makes room for the last index, which would stand two pixels over the edge.
    st.latex(r"\operatorname{FFN}(y) = \operatorname{GELU}(y W_1 + b_1)\, W_2 + b_2\,")
    st.markdown(
        "That paper's is **ReLU**, $\\max(0, h)$: a neuron below 0 is switched off. BERT uses its smooth "
        "cousin $\\operatorname{GELU}(h) = h \\cdot \\Phi(h)$, where $\\Phi(h)$ is the chance that a "
        "standard normal number is below $h$ (Hendrycks & Gimpel 2016). Here "
        f"{wide - walk.firing} neurons are not above 0: ReLU would give exactly 0, GELU gives down to "
        f"{decimal(least)}.\n\n"
        f"**It never mixes tokens.** {_mixing(chosen)}"
    )


def more(chosen: TokenInLayer) -> None:
    """Draw the lengths and directions layer by layer, and say which neurons fire."""
    through = _journey(chosen.text)
    token = chosen.query
    st.header("Layer by layer", anchor=False)
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
    st.header(f"The neurons of layer {chosen.layer + 1}", anchor=False)
    st.markdown(_neurons_in_words(chosen))


def _lengths_chart(through: compute.Journey, token: int) -> None:
    layers = range(1, len(through.came_in) + 1)
    curves(
        "lengths by layer",
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
        across=Axis("layer"),
        up=Axis("length", zero=True),
        at="layer {x}",
        alt=_lengths_in_words(through, token, "The token"),
        caption="The length of one token's vector in front of each layer, and of what the layer adds to it.",
        filename="lengths-by-layer",
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
        "similarity by layer",
        [main, *faint],
        title="How much of the embedding is left?",
        across=Axis("after layer (0: the embedding)"),
        up=Axis("cosine to the embedding", zero=True),
        at="after layer {x}",
        faint="other tokens",
        alt=_similarity_in_words(through, token, "The token"),
        caption="The cosine between each token's vector after every layer and its embedding.",
        filename="similarity-by-layer",
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
    share = 100 * walk.parameters_of_feed_forward / walk.parameters
    change = "exactly 0" if walk.change_of_feed_forward == 0 else f"{walk.change_of_feed_forward:.1e}"
    return (
        f"Replace the vectors of all tokens but {chosen.name} by zeros: attention's update for {chosen.name} "
        f"changes by {decimal(walk.change_of_attention)} (the length of the difference), that of the "
        f"feed-forward network by {change}. Attention moves information between tokens; the feed-forward "
        f"network works on what has arrived, with {share:.0f}\u00a0% of the layer's learned numbers "
        f"({walk.parameters_of_feed_forward:,} of {walk.parameters:,})."
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
