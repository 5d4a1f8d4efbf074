"""One token's vector on its way through a layer, station by station, with every number worked out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict

from attnviz.app.components.steps import DrawnStep, Made, column, steps


class Facts(TypedDict):
    """What is said of a vector: its Euclidean norm, the mean of its entries, and a cosine.

    The cosine is that of the angle to the vector that came in; None for the neurons, which are of another
    size.
    """

    length: float
    mean: float
    cosine: float | None


class NormFacts(TypedDict):
    """The numbers of one layer norm that are the same in every dimension."""

    mean: float
    variance: float
    epsilon: float


# Each vector: how it is made, and what formulas call it.
_VECTORS: dict[str, tuple[str, str, str]] = {
    "came_in": ("value", "", "x"),
    "attention": ("value", "", "a"),
    "first_sum": ("add", "came_in attention", "x + a"),
    "attended": ("norm", "first_sum first_gain first_offset 0", "y"),
    "expanded": ("layer", "attended neuron_place neuron_weight", "y W₁ + b₁"),
    "activated": ("gelu", "expanded", "GELU"),
    "feed_forward": ("layer", "activated dimension_place dimension_weight", "f"),
    "second_sum": ("add", "attended feed_forward", "y + f"),
    "came_out": ("norm", "second_sum second_gain second_offset 1", "z"),
}


def _steps(tokens: int, layer: int, layers: int) -> list[DrawnStep]:
    """The seven steps; attention and the feed-forward network branch off the stream and are added to it."""

    def step(title: str, formula: str, about: str, *vectors: str) -> DrawnStep:
        return {
            "title": title,
            "formula": formula,
            "sentence": [about],
            "columns": [column(top=vectors)],
            "lane": "stream",
        }

    read = "1 token" if tokens == 1 else f"all {tokens} tokens"
    came = "its embedding" if layer == 1 else f"the output of layer {layer - 1}"
    goes = f"the input of layer {layer + 1}" if layer < layers else "the output of the model"
    feed_forward = "expanded", "activated", "feed_forward"
    return [
        {**step("The token comes in", "x", came, "came_in"), "splits": "attention"},
        {
            **step("Attention", "a = MultiHead(x)", f"what it reads from {read}", "attention"),
            "lane": "attention",
        },
        {**step("Add", "x + a", "x stays in the sum", "first_sum"), "merges": "attention"},
        {
            **step("Norm", "y = LayerNorm(x + a)", "mean 0, variance 1, then × γ + β", "attended"),
            "splits": "feed-forward",
        },
        {
            **step("Feed-forward", "f = GELU(y W₁ + b₁) W₂ + b₂", "from this token alone", *feed_forward),
            "lane": "feed-forward",
        },
        {**step("Add", "y + f", "y stays in the sum", "second_sum"), "merges": "feed-forward"},
        step("Norm", "z = LayerNorm(y + f)", goes, "came_out"),
    ]


def stream(
    key: str,
    /,
    *,
    arrays: str,
    step: int,
    tokens: int,
    layer: int,
    layers: int,
    facts: Mapping[str, Facts],
    norms: Sequence[NormFacts],
    firing: int,
    strongest: Sequence[tuple[int, float]],
    reach: float,
    on_step: Callable[[int], None] | None = None,
    on_layer: Callable[[int], None] | None = None,
) -> None:
    """Draw the layer as steps: the vectors up to the current one are open, later ones are named.

    Pointing at a number shows how it was made in every open vector of that length.

    Args:
        arrays: what `store.publish` returned for these arrays, float32:

            came_in, attention, first_sum, attended            [d_model]
            expanded, activated                                [d_feed_forward]
            feed_forward, second_sum, came_out                 [d_model]
            first_gain, first_offset                           [d_model], γ and β of the first layer norm
            second_gain, second_offset                         [d_model]
            neuron_place, neuron_weight                        [d_feed_forward]: the largest product of
                                                               each sum, its dimension (from 0) times what
            dimension_place, dimension_weight                  [d_model], the same for the way back
        step: how far the walk has come, 1 to 7.
        tokens: how many tokens attention reads.
        layer, layers: which layer, from 1, and how many there are.
        facts: of each vector, by the name of its array.
        norms: the two layer norms.
        firing: how many neurons are above 0.
        strongest: (neuron from 0, activation) of those that fire most, strongest first; at least one.
        reach: numbers of this size and beyond have the strongest colour.
        on_step: called with the step that the visitor walked to.
        on_layer: called with the layer, from 1, that the visitor went on to.
    """
    drawn: dict[str, Made] = {
        name: {
            "op": op,
            "of": of.split(),
            "drawn_as": "wrapped",
            "role": "plain",
            "symbol": [symbol],
            "title": symbol,
            "start": "activated" if name in {"expanded", "activated"} else "attention",
        }
        for name, (op, of, symbol) in _VECTORS.items()
    }
    said = {name: _said(name, of) for name, of in facts.items()}
    said["activated"] = [
        {"label": "above 0", "part": "firing", "value": firing},
        {"label": "largest", "part": "largest", "value": strongest[0][1]},
    ]
    steps(
        key,
        source=arrays,
        step=step,
        steps=_steps(tokens, layer, layers),
        arrays=drawn,
        keep_open=True,
        onward=f"On to layer {layer + 1} →" if layer < layers else "",
        on_step=on_step,
        on_onward=on_layer and (lambda: on_layer(layer + 1)),
        facts=said,
        norms=norms,
        reach=reach,
    )


def _said(name: str, of: Facts) -> list[dict[str, object]]:
    """The numbers below a vector."""
    if of["cosine"] is None:
        return []
    cosine = [] if name == "came_in" else [{"label": "cosine to x", "part": "cosine", "value": of["cosine"]}]
    return [
        {"label": "length", "part": "length", "value": of["length"]},
        {"label": "mean", "part": "mean", "value": of["mean"]},
        *cosine,
    ]
