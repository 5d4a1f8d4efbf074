"""One token's vector on its way through a layer, station by station, with every number worked out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict

from attnviz.app.components.component import widget


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


@widget
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
    """Draws the layer as a walk: the vectors up to the step are open, those ahead are named.

    The visitor walks by buttons and arrow keys, and points at a dimension (or a neuron) to see its numbers
    worked out at every open station. Every number stands unrounded in a `data-value` attribute.

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
