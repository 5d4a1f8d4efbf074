"""Which head knows the grammar: for each relation the best head, with the best fixed offset beside it."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.analysis.intervals import CONFIDENCE
from attnviz.app import controls, markdown
from attnviz.app.components.head_map import head_map
from attnviz.app.heads.choosing import HeadSelection
from attnviz.app.heads.pronouns.figures import few, interval, names, numbers, of_few, rate, share, short
from attnviz.app.references import cited_markdown
from attnviz.app.state.choices import RELATION
from attnviz.experiments.progress import Progress
from attnviz.experiments.syntax import CALLED, LOOKS, SORTS, Grammar, Looks
from attnviz.text import plural
from attnviz.trace import Counts

_CASES = {sort: sort.capitalize() for sort in SORTS}


def _introduce() -> None:
    """Say what is asked of every head."""
    st.markdown(
        "In *The old dog chased her cat*, *the* belongs to *dog*, and *cat* is the object of *chased*. A "
        "head **finds** such a relation if the dependent word looks most at the right one of all others (or, "
        "as you choose, is looked at most by it). A head that only counts words is no better than the best "
        "fixed distance, such as “always the next word”."
    )


def choose() -> int:
    """Draw the choice of a relation; return its place in `SORTS`."""
    asked = RELATION.segments("Relation", tuple(_CASES.values()), _CASES[SORTS[0]])
    return list(_CASES.values()).index(asked)


def draw(chosen: HeadSelection, progress: Progress[Grammar], looks: Looks, sort: int, *, still: bool) -> None:
    """Draw the map of all heads for one relation, a place in `SORTS`, and beside it what is asked and found.

    Only while it is `still`, nothing being computed, can heads be picked.
    """
    found = progress.found
    left, right = st.columns([7, 5], gap="large")
    with right:
        _left_out(found)
        _introduce()
        if found.totals[sort]:
            _tell(chosen, found, looks, sort, still)
        elif found.sentences:
            st.markdown("None of the sentences that were read has this relation.")
    if found.totals[sort]:
        with left:
            _map(chosen, found, looks, sort, still)


def every(chosen: HeadSelection, found: Grammar, looks: Looks) -> None:
    """Draw the best head of each relation as a table, and open them."""
    st.markdown(_table(chosen, found, looks))
    offered = {
        f"{CALLED[name]}: {numbers(each[:1])}": each[0]
        for sort, name in enumerate(SORTS)
        if found.totals[sort] and (each := _best(found.hits[LOOKS.index(looks), sort]))
    }
    controls.buttons("Open", offered, "best heads", lambda at: controls.open_head(*at))
    cited_markdown(
        f":small[{plural(found.sentences, 'sentence')} of our own, annotated by hand, as in table 1 of Clark "
        f"et al. (2019). In brackets: Wilson’s {100 * CONFIDENCE:g} % interval of each head by itself. The "
        "best head and the best offset are both chosen by these very sentences.]"
    )


def _left_out(found: Grammar) -> None:
    """Say how many sentences the model could not read, and why."""
    if not found.unread:
        return
    total = found.sentences + len(found.unread)
    read = f"Only {found.sentences}" if found.sentences else "None"
    st.markdown(f"**{read} of {plural(total, 'sentence')} could be read.**")
    with st.expander(f"{plural(len(found.unread), 'sentence')} left out"):
        st.markdown(
            "\n".join(f"- {markdown.code(each.text)} {markdown.plain(each.why)}" for each in found.unread)
        )


def _table(chosen: HeadSelection, found: Grammar, looks: Looks) -> str:
    lines = [f"| Relation | Best head | Best offset | Head {chosen.name} |", "|---|---|---|---|"]
    for sort, name in enumerate(SORTS):
        total = int(found.totals[sort])
        if not total:
            continue
        hits = found.hits[LOOKS.index(looks), sort]
        offset, by_offset = found.best_offset(sort)
        # On a phone the interval may take a line of its own.
        best = rate(int(hits.max()), total).replace("\N{NO-BREAK SPACE}(", " (")
        lines.append(
            f"| {CALLED[name]} ({total}) "
            f"| **{numbers(_best(hits))}**: {best} "
            f"| {_offset(offset)}: {short(by_offset, total)} "
            f"| {short(int(hits[chosen.layer, chosen.head]), total)} |"
        )
    return "\n".join(lines)


def _tell(chosen: HeadSelection, found: Grammar, looks: Looks, sort: int, still: bool) -> None:
    hits, total = found.hits[LOOKS.index(looks), sort], int(found.totals[sort])
    most = int(hits.max())
    offset, by_offset = found.best_offset(sort)
    better = int((hits > by_offset).sum())
    best = _best(hits)
    st.markdown(
        f"{names(best).capitalize()} {'each find' if len(best) > 1 else 'finds'} {_found(most, total)}; "
        f"{_offset(offset)}, always: {short(by_offset, total)}. Of {hits.size} heads, {better or 'none'} "
        f"{'do' if better > 1 else 'does'} better than always {_offset(offset)}. "
        f"Head {chosen.name}: {short(int(hits[chosen.layer, chosen.head]), total)}."
    )
    if still and (chosen.layer, chosen.head) not in best:
        st.button(f"Open {names(best[:1])}", on_click=controls.open_head, args=best[0])


def _map(chosen: HeadSelection, found: Grammar, looks: Looks, sort: int, still: bool) -> None:
    hits, total = found.hits[LOOKS.index(looks), sort], int(found.totals[sort])
    _, by_offset = found.best_offset(sort)
    high = max(float(hits.max()) / total, by_offset / total)
    head_map(
        "grammar map",
        title=f"Found{of_few(total)}; one scale for all heads",
        values=(hits / total).astype(np.float32),
        texts=[
            f"{right} of {total} found{'' if few(total) else f' ({share(right, total)})'}"
            for right in hits.ravel().tolist()
        ],
        low=(0.0, short(0, total)),
        high=(high, short(high * total, total)),
        printed=[str(right) if few(total) else f"{100 * right / total:.0f}" for right in hits.ravel()],
        selected=(chosen.layer, chosen.head),
        on_pick=controls.open_head if still else None,
    )


def _best(hits: Counts) -> list[tuple[int, int]]:
    """The heads that find most, as layer and head from 0."""
    return [(int(layer), int(head)) for layer, head in np.argwhere(hits == hits.max())]


def _found(right: int, total: int) -> str:
    """How many, and their share; of few, no share and no bold letters."""
    if few(total):
        return f"{right} of only {total}"
    return f"**{right} of {total}, {share(right, total)}** ({interval(right, total)})"


def _offset(offset: int) -> str:
    """A fixed distance in words: "the next word", "2 words earlier"."""
    if abs(offset) == 1:
        return "the next word" if offset > 0 else "the word before"
    return f"{abs(offset)} words {'later' if offset > 0 else 'earlier'}"
