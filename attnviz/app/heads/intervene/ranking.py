"""All heads, ablated one at a time and ranked by their effect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import streamlit as st

from attnviz.app import controls
from attnviz.app.components.head_map import head_map
from attnviz.app.explore import attention
from attnviz.app.heads.intervene.choices import Intervention
from attnviz.app.job_view import progress_text, show_job
from attnviz.app.references import cited_markdown
from attnviz.app.server.jobs import JOBS, Job
from attnviz.app.state.choices import KIND
from attnviz.experiments.ablation import Ablation, Numbers, OutcomeDistances, ablate, angles
from attnviz.experiments.progress import Progress
from attnviz.interventions.edit import Edit
from attnviz.text import head_name, percent

_MAX_BUTTONS = 10


def draw(chosen: Intervention, place: int | None) -> None:
    """Draw the ranking computed so far."""
    cited_markdown(
        "The heads are ablated one at a time, and the model is run again each time (Michel et al. 2019). "
        "Click a head to open it above."
    )
    show_job(
        job(chosen, place),
        progress_text("Ablating every head", "heads"),
        lambda progress: _draw_ranking(chosen, progress),
        key="ranking",
    )


def job(chosen: Intervention, place: int | None) -> Job[Ablation]:
    """Return the job that ablates each head, shared by visitors with the same request."""
    name, given = chosen.entry.name, chosen.given
    key = ("ablation", chosen.entry, given, place)
    return JOBS.find(key, lambda: ablate(name, given, place))


def cosine_changes(chosen: Intervention, moved: OutcomeDistances) -> Numbers:
    """Return 1 − cosine of each output before and after, [variant, token], in the selected token's text."""
    of_encoder = chosen.kind == "encoder" and moved.source is not None
    cosine_change = moved.source if of_encoder else moved.cosine_change
    assert cosine_change is not None  # noqa: S101 - for the type checker
    return cosine_change


def sizes(chosen: Intervention, moved: OutcomeDistances) -> Numbers:
    """Return the size of each variant's effect, [variant], by which heads are ranked.

    The size is the total variation of the prediction or, without a prediction, 1 − cosine of the
    chosen token's output.
    """
    return cosine_changes(chosen, moved)[:, chosen.query] if moved.variation is None else moved.variation


def angle(cosine_change: float) -> str:
    """Format 1 − cosine as an angle: "5.7°", or "<0.1°" for a small angle above 0."""
    text = f"{float(angles(cosine_change)):.1f}°"
    return "<0.1°" if text == "0.0°" and cosine_change > 0 else text


def _draw_ranking(chosen: Intervention, progress: Progress[Ablation]) -> None:
    ablated, moved = progress.found.ablated, progress.found.distances
    size = sizes(chosen, moved)
    is_angle = moved.variation is None
    formatted: Callable[[float], str] = angle if is_angle else percent
    shown = angles(size) if is_angle else 100 * size
    measure = "change of the token’s output" if is_angle else "total variation of the prediction"
    selected = Edit(chosen.kind, chosen.layer, chosen.head)
    if selected in ablated:
        at = ablated.index(selected)
        rank = int((size > size[at]).sum()) + 1
        name = f"{attention.head_prefix(chosen.entry, chosen.kind)}head {chosen.name}".capitalize()
        st.markdown(f"{name}: **rank {rank} of {len(ablated)}**, {formatted(float(size[at]))}")
    draw_map(
        "ablation map",
        chosen,
        ablated,
        shown,
        title=f"Heads ablated one at a time: {measure}",
        texts=[formatted(float(one)) for one in size],
        printed=[f"{value:.0f}" for value in shown],
        low=(0.0, "0"),
        high=(float(shown.max()) or 1.0, formatted(float(size.max()))),
    )
    strongest = [at for at in np.argsort(-size, kind="stable")[:_MAX_BUTTONS] if size[at] > 0]
    offer(
        chosen, "ranked", [ablated[at] for at in strongest], [formatted(float(size[at])) for at in strongest]
    )


def draw_map(
    key: str,
    chosen: Intervention,
    heads: Sequence[Edit],
    values: Numbers,
    *,
    title: str,
    texts: Sequence[str],
    printed: Sequence[str],
    **scale: Any,
) -> None:
    """Draw a number for each head of the selected kind; a click selects a head.

    Args:
        key: Streamlit's key of the map.
        chosen: The selected head.
        heads: Heads evaluated so far, of any kind.
        values, texts, printed: One for each of these heads, as in `head_map`.
        title: Description of the numbers.
        scale: As in `head_map`.
    """
    layers = chosen.entry.layers_of(chosen.kind)
    grid = np.full((layers, chosen.entry.heads), np.nan, dtype=np.float32)
    descriptions = np.full(grid.shape, "not computed yet", dtype=object)
    for layer, name in chosen.entry.without_weights:
        descriptions[layer] = f"{name}, no attention weights"
    signs = np.full(grid.shape, "", dtype=object)
    for edit, *numbers in zip(heads, values, texts, printed, strict=True):
        if edit.kind == chosen.kind:
            at = edit.layer, edit.head
            grid[at], descriptions[at], signs[at] = numbers
    head_map(
        key,
        title=f"{title} ({chosen.kind} heads)" if len(chosen.entry.kinds) > 1 else title,
        values=grid,
        texts=descriptions.ravel().tolist(),
        printed=signs.ravel().tolist(),
        selected=(chosen.layer, chosen.head),
        on_pick=_open,
        **scale,
    )


def offer(chosen: Intervention, key: str, heads: Sequence[Edit], formatted: Sequence[str]) -> None:
    """Draw the heads with the largest effect, of any kind, as buttons that select a head."""
    names = {
        f"{head_label(chosen, edit)} · {size}": edit for edit, size in zip(heads, formatted, strict=True)
    }
    controls.buttons("Heads with the largest effect", names, key, _open_edit)


def head_label(chosen: Intervention, edit: Edit) -> str:
    """Return a head's name, with its kind if the model has several: "encoder 2-1"."""
    return f"{attention.head_prefix(chosen.entry, edit.kind)}{head_name(edit.layer, edit.head)}"


def _open_edit(edit: Edit) -> None:
    KIND.set(edit.kind)
    _open(edit.layer, edit.head)


def _open(layer: int, head: int) -> None:
    controls.open_head(layer, head)
    st.rerun()  # the control for the head is outside this fragment
