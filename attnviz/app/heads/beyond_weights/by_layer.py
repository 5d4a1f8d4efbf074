"""Whether the weights of another layer, or of another head, would have told more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import streamlit as st

from attnviz.analysis.rank_correlation import by_chance
from attnviz.app import controls
from attnviz.app.components.curves import Axis, Line, curves
from attnviz.app.components.head_map import head_map
from attnviz.app.heads.beyond_weights.choices import TokenSelection, span, under
from attnviz.app.heads.beyond_weights.comparison import job_of
from attnviz.experiments.beyond_weights import (
    HEAD_WEIGHTS,
    LAYER_NORMS,
    LAYER_WEIGHTS,
    NORMS_AROUND,
    MeasuredToken,
    agreements,
    ways,
)
from attnviz.text import decimal, head_name, joined
from attnviz.trace import Floats, Mask

_LINES = {
    LAYER_WEIGHTS: Line("mean weights", (), (), marker="circle", colour="weights"),
    LAYER_NORMS: Line("norms", (), (), dash="dash", marker="square", colour="value"),
    NORMS_AROUND: Line("norms after Add & Norm", (), (), dash="dot", marker="diamond", colour="key"),
}


def draw(chosen: TokenSelection) -> None:
    """Draw the agreement of every head and of every layer, once it is known."""
    if known := _known(chosen):
        left, right = st.columns(2, gap="large")
        with left:
            _heads(chosen, *known)
        with right:
            _layers(*known[:2])


def _known(chosen: TokenSelection) -> tuple[MeasuredToken, Mask, Floats] | None:
    """What was found, which tokens are ranked, and how heads agree; or a word why nothing is drawn."""
    latest = job_of(chosen).latest
    if latest is None or not (latest.found.left_out or latest.finished):
        st.markdown("This is drawn when words have been left out.")
    elif not latest.found.left_out:
        st.markdown("In this model no word can be left out, so there is nothing to agree with.")
    elif by_chance(int((counted := chosen.counted(latest.found)).sum())) is None:
        st.markdown("Too few tokens are ranked: chance alone gives even their very order too often.")
    elif np.isnan((each := agreements(latest.found, HEAD_WEIGHTS, counted)).min(axis=0)).all():
        st.markdown("Here the ranked tokens have no order: one is like the other.")
    else:
        return latest.found, counted, each
    return None


def _heads(chosen: TokenSelection, found: MeasuredToken, counted: Mask, each: Floats) -> None:
    lowest, highest = each.min(axis=0), each.max(axis=0)
    most, size, count = _most(lowest), lowest.size, int(counted.sum())
    st.markdown(
        f"Of {size} heads, the weights of **{head_name(*most)}** order the {count} tokens most like leaving "
        f"them out does (agreement {span(lowest[most], highest[most])}). "
        f"{_best_of_each_way(found, counted, each, most)}{_beyond_chance(found, counted, lowest)}"
    )
    head_map(
        "agreement of heads",
        title="agreement of each head’s weights with leaving words out, at its lowest",
        values=lowest,
        texts=list(map(span, lowest.ravel().tolist(), highest.ravel().tolist())),
        printed=[decimal(value, 1) for value in lowest.ravel().tolist()],
        low=(-1.0, "−1"),
        high=(1.0, "1"),
        kind="diverging",
        selected=(chosen.layer, chosen.head),
        on_pick=controls.open_head,
    )


def _most(agreements: Floats) -> tuple[int, ...]:
    """Where the largest is that is a number."""
    return tuple(map(int, np.unravel_index(int(np.nanargmax(agreements)), agreements.shape)))


def _best_of_each_way(found: MeasuredToken, counted: Mask, each: Floats, most: tuple[int, ...]) -> str:
    """Whether each way of leaving words out has the same best head."""
    if len(each) == 1:
        return ""
    best: dict[tuple[int, ...], list[str]] = {}
    for way, rhos in zip(ways(found, counted), each, strict=True):
        best.setdefault(_most(rhos), []).append(way)
    if list(best) == [most]:
        return f"It is the best head {under(ways(found, counted))}. "
    listed = "; ".join(f"{head_name(*head)} ({joined(names)})" for head, names in best.items())
    return f"Which head is the best depends on how words are left out: {listed}. "


def _beyond_chance(found: MeasuredToken, counted: Mask, lowest: Floats) -> str:
    """How many heads beat chance, corrected for how many there are."""
    count, size = int(counted.sum()), lowest.size
    chance = by_chance(count, size)
    if chance is None:
        return (
            f"With {count} tokens and {size} heads to choose from, no head can beat chance: it alone makes "
            "even the same order too often."
        )
    far = int((chance.reached(lowest) & (lowest > 0)).sum())
    return (
        f"{size} heads have {size} chances, so a head beats chance with {chance.told} or more "
        f"{under(ways(found, counted))} (Bonferroni): {far or 'none'} of them do{'es' if far == 1 else ''}."
    )


def _layers(found: MeasuredToken, counted: Mask) -> None:
    lines, best = [], []
    for measure, line in _LINES.items():
        if measure in found.values:
            each = agreements(found, measure, counted)
            lowest, highest = each.min(axis=0), each.max(axis=0)
            x = np.arange(1, len(lowest) + 1)
            lines.append(replace(line, x=x, y=each.mean(axis=0), low=lowest, high=highest, band=True))
            best.append(f"{line.label}: {_best(lowest, highest)}")
    told = "; ".join(best)
    curves(
        "agreement-by-layer",
        lines,
        title="Agreement with leaving words out, layer by layer",
        across=Axis("layer", at="layer {x}"),
        up=Axis("agreement", zero=True),
        height=160,
        alt=f"Rank correlation with leaving words out, by layer. Best layers: {told}.",
        about="Spearman’s ρ over the ranked tokens, for all heads of a layer together: mean, lowest and "
        "highest over the ways of leaving a word out.",
    )
    st.markdown(
        "Lines are means over the ways of leaving a word out, and bands go from the lowest agreement to the "
        f"highest. With all heads of a layer together, the best layers by the lowest are: {told}."
    )


def _best(lowest: Floats, highest: Floats) -> str:
    if np.isnan(lowest).all():
        return "none"
    [layer] = _most(lowest)
    return f"layer {layer + 1} ({span(lowest[layer], highest[layer])})"
