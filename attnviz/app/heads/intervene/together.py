"""How many heads can go: silenced one after the other, those that matter least first, or most."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.app.components.curves import Axis, Line, curves
from attnviz.app.heads.intervene import ranking
from attnviz.app.heads.intervene.choices import Intervention
from attnviz.app.heads.intervene.written import angle
from attnviz.app.job_view import counted, show_job
from attnviz.app.models import lookup
from attnviz.app.server.jobs import JOBS
from attnviz.experiments.ablation import Ablation, Numbers, ablate_together, angles
from attnviz.experiments.progress import Progress
from attnviz.interventions.edit import Edit
from attnviz.text import head_name, isolated, percent


def ranked(chosen: Intervention, place: int | None) -> None:
    """Draw the ranking of all heads, each silenced alone, and beside it what they do together."""
    left, right = st.columns([6, 6], gap="large")
    with left:
        by = ranking.draw(chosen, place)
    with right:
        draw(chosen, place, by)


def draw(chosen: Intervention, place: int | None, by: str) -> None:
    """Draw the button that begins it, or what came of it; before all heads are ranked, what it waits for."""
    st.subheader("How many heads can go?", anchor=False)
    alone = ranking.job(chosen, place).latest
    if alone is None or not alone.finished:
        st.markdown("This needs the ranking above: it can begin when every head has been silenced alone.")
        return
    st.markdown(
        "Silence is not additive: heads can stand in for each other. So they are silenced **together**, one "
        "more each time, in the order of the ranking above: the weakest first, and the strongest first."
    )
    heads, size = ranking.each_alone(chosen, alone.found, by)
    rising = np.argsort(size, kind="stable")
    orders = [[heads[at] for at in order] for order in (rising, rising[::-1])]
    name, given = chosen.entry.name, chosen.given
    key = ("together", name, lookup.fingerprint(name), given, place, by, chosen.kind, chosen.query)
    show_job(
        JOBS.find(key, lambda: ablate_together(name, given, orders, place)),
        counted("Silencing heads together", "sets of heads"),
        lambda progress: _curves(chosen, progress, by, orders[1][0], float(size.max())),
        start="Silence them one after the other",
        key="together",
    )


def harmless(moved: Numbers, alone: float) -> int:
    """How many heads can go together before that moves more than the one head `alone` does.

    `moved` is [count], what silencing the first head moves, the first two, the first three …
    """
    return int(np.flatnonzero(np.append(moved, np.inf) > alone)[0])


def in_words(few: int, heads: int, strongest: str) -> str:
    """How many of all heads are harmless together, beside the strongest alone ("head 2-3"), in Markdown."""
    if few == heads:
        return f"Even all **{heads} heads** together move no more than {strongest} does alone"
    them = "head** that matters least alone" if few == 1 else "heads** that matter least alone"
    return f"The **{few} {them} can go together before that moves more than {strongest} does alone"


def _curves(
    chosen: Intervention, progress: Progress[Ablation], by: str, strongest: Edit, alone: float
) -> None:
    heads = progress.total // 2
    found = ranking.sizes(chosen, progress.found.moved, by)
    shown = 100 * found if by == ranking.EXPECTED else angles(found)
    told = percent if by == ranking.EXPECTED else angle
    lines = [
        Line("those that matter least first", np.arange(1, len(shown[:heads]) + 1), shown[:heads]),
        Line(
            "those that matter most first",
            np.arange(1, len(shown[heads:]) + 1),
            shown[heads:],
            dash="dash",
            colour="muted",
        ),
    ]
    unit = "probability that moves (%)" if by == ranking.EXPECTED else "turns by (degrees)"
    kind = f"{strongest.kind} " if len(chosen.entry.kinds) > 1 else ""
    head = f"{kind}head {head_name(strongest.layer, strongest.head)}"
    sentence = (
        f"{in_words(harmless(found[:heads], alone), heads, head)} ({told(alone)})."
        if len(found) >= heads
        else ""
    )
    st.markdown(sentence)
    curves(
        "heads-together",
        [line for line in lines if np.size(line.x)],
        title="Heads silenced together",
        across=Axis("heads silenced", at="{x} heads"),
        up=Axis(unit, zero=True, digits=1),
        alt=f"{unit} by the number of silenced heads. {sentence}".replace("**", ""),
        about=f"“{isolated(chosen.given.text)}” · {chosen.entry.title}",
    )
