"""Which head matters most here: every head ablated alone, and all of them ranked by what that moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from attnviz.app import controls
from attnviz.app.components.head_map import head_map
from attnviz.app.heads.intervene.choices import Intervention
from attnviz.app.heads.intervene.written import angle, average
from attnviz.app.job_view import counted, show_job
from attnviz.app.references import cited_markdown
from attnviz.app.server.jobs import JOBS, Job
from attnviz.app.state.choices import KIND, RANKED_BY
from attnviz.experiments.ablation import Ablation, Numbers, OutcomeDistances, ablate, angles
from attnviz.experiments.progress import Progress
from attnviz.interventions.edit import Edit
from attnviz.text import head_name, percent
from attnviz.trace import Kind

_SHOWN = 10
TOKEN, MEAN, EXPECTED = "This token", "All tokens", "What is expected"
_TITLES = {
    TOKEN: "ablated alone, changes the token’s output by",
    MEAN: "ablated alone, changes outputs on average by",
    EXPECTED: "ablated alone, moves this much probability",
}


def draw(chosen: Intervention, place: int | None) -> None:
    """Draw the ranking, as far as it is computed."""
    cited_markdown(
        "Every head is ablated alone, and the model is run again each time (Michel et al. 2019). "
        "Click a head to open it above."
    )
    measures = [TOKEN, MEAN, *([EXPECTED] if place is not None else [])]
    by = RANKED_BY.segments("Measured by", measures)
    show_job(
        job(chosen, place),
        counted("Ablating every head", "heads"),
        lambda progress: _ranked(chosen, progress, by),
        key="ranking",
    )


def job(chosen: Intervention, place: int | None) -> Job[Ablation]:
    """The long computation: shared by all visitors with the same request."""
    name, given = chosen.entry.name, chosen.given
    key = ("ablation", chosen.entry, given, place)
    return JOBS.find(key, lambda: ablate(name, given, place))


def sizes(chosen: Intervention, moved: OutcomeDistances, by: str) -> Numbers:
    """[variant], what the heads are ranked by: 1 − cosine, or a share of probability."""
    if by == EXPECTED and moved.variation is not None:
        return moved.variation
    if by == TOKEN:
        of_encoder = chosen.kind == "encoder" and moved.source is not None
        cosine_change = moved.source if of_encoder else moved.cosine_change
        assert cosine_change is not None  # noqa: S101 - just looked; for the type checker
        return cosine_change[:, chosen.query]
    last = chosen.queries if chosen.kind != "encoder" or moved.source is None else None
    counted = slice(None) if last is None else [at for at, group in enumerate(last) if not group.special]
    return average(moved.cosine_change[:, counted])


def each_alone(chosen: Intervention, found: Ablation, by: str) -> tuple[list[Edit], Numbers]:
    """The heads that are ranked, as the edits that ablate them, and [head], `sizes` of what each does alone.

    An output of an encoder comes before all heads of a decoder: they are not ranked by what they do to it.
    """
    kinds = _kinds(chosen, by)
    ranked = [at for at, edit in enumerate(found.ablated) if edit.kind in kinds]
    return [found.ablated[at] for at in ranked], sizes(chosen, found.moved, by)[ranked]


def _kinds(chosen: Intervention, by: str) -> tuple[Kind, ...]:
    """Of which kinds of attention the ranked heads are."""
    return (chosen.kind,) if by == TOKEN and chosen.kind == "encoder" else chosen.entry.kinds


def _ranked(chosen: Intervention, progress: Progress[Ablation], by: str) -> None:
    ablated, size = each_alone(chosen, progress.found, by)
    parts = percent if by == EXPECTED else angle
    order = np.argsort(-size, kind="stable")
    here = Edit(chosen.kind, chosen.layer, chosen.head)
    if here in ablated:
        at = ablated.index(here)
        rank = int((size > size[at]).sum()) + 1
        st.markdown(
            f"Head {called(chosen, here)}: **number {rank} of {len(ablated)}**, {parts(float(size[at]))}"
        )
    shown = size if by == EXPECTED else angles(size)
    draw_map(
        "ablation map",
        chosen,
        ablated,
        shown,
        title=_TITLES[by],
        texts=[parts(float(one)) for one in size],
        printed=[f"{sign:.0f}" for sign in (100 * size if by == EXPECTED else shown)],  # percent, or degrees
        low=(0.0, "0"),
        high=(float(shown.max()) or 1.0, parts(float(size.max()))),
    )
    strongest = [at for at in order[:_SHOWN] if size[at] > 0]
    _list(chosen, [ablated[at] for at in strongest], [parts(float(size[at])) for at in strongest])


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
    """Draw a number for each head of the kind that is open; a click opens a head.

    Args:
        key: Streamlit's key of the map.
        chosen: the open head.
        heads: those that were tried already, of any kind.
        values, texts, printed: for each of them, as `head_map` takes them.
        title: what the numbers are.
        scale: for `head_map`.
    """
    layers = chosen.entry.layers_of(chosen.kind)
    grid = np.full((layers, chosen.entry.heads), np.nan, dtype=np.float32)
    parts = np.full(grid.shape, "not tried yet", dtype=object)
    for layer, what in chosen.entry.without_weights:
        parts[layer] = f"{what}, no attention weights"
    signs = np.full(grid.shape, "", dtype=object)
    for edit, *one in zip(heads, values, texts, printed, strict=True):
        if edit.kind == chosen.kind:
            at = edit.layer, edit.head
            grid[at], parts[at], signs[at] = one
    head_map(
        key,
        title=f"{title} ({chosen.kind} heads)" if len(chosen.entry.kinds) > 1 else title,
        values=grid,
        texts=parts.ravel().tolist(),
        printed=signs.ravel().tolist(),
        selected=(chosen.layer, chosen.head),
        on_pick=_open,
        **scale,
    )


def _list(chosen: Intervention, heads: list[Edit], parts: list[str]) -> None:
    """The strongest heads as buttons."""
    names = {f"{called(chosen, edit)} · {size}": edit for edit, size in zip(heads, parts, strict=True)}
    controls.buttons("The strongest", names, "ranked", open_edit)


def called(chosen: Intervention, edit: Edit) -> str:
    """A head's name, with its kind where the model has several: "encoder 2-1"."""
    of_kind = f"{edit.kind} " if len(chosen.entry.kinds) > 1 else ""
    return f"{of_kind}{head_name(edit.layer, edit.head)}"


def open_edit(edit: Edit) -> None:
    """Open the head that an edit names."""
    KIND.set(edit.kind)
    _open(edit.layer, edit.head)


def _open(layer: int, head: int) -> None:
    controls.open_head(layer, head)
    st.rerun()  # the choice is outside of this part of the page
