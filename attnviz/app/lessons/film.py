"""A training on a page: the button that plays its slider like a film, and curves over its steps."""

from __future__ import annotations

import time
from collections.abc import Sequence

import streamlit as st

from attnviz.app.components.curves import Axis, Colour, Dash, Line, Marker, curves
from attnviz.app.state import memory
from attnviz.app.state.choice import OneOf
from attnviz.trained.snapshots import Snapshot

_EVERY_SECONDS = 0.7


Curve = tuple[str, str, Dash, Marker, Colour]
"""A label, the name of a measure or score, and how it is drawn."""


def over_steps(
    name: str,
    snapshots: Sequence[Snapshot],
    /,
    *drawn: Curve,
    up: str,
    percents_until: int | None = None,
    digits: int = 1,
    height: int = 180,
    title: str,
    alt: str,
    marked: float | None = None,
) -> None:
    """Draw measures over the steps of a training.

    Args:
        name: of the widget and, with hyphens, of the saved files.
        snapshots: in order.
        drawn: a line each.
        up: what the axis is called.
        percents_until: the last step that is planned, if the measures are shares of 1, drawn as percent.
        digits, height, title, alt, marked: as for `curves`.
    """
    times = 1 if percents_until is None else 100
    at = [snapshot.step for snapshot in snapshots]
    lines = [
        Line(
            label, at, [times * each.value(of) for each in snapshots], dash=dash, marker=marker, colour=colour
        )
        for label, of, dash, marker, colour in drawn
    ]
    if percents_until is not None:
        lines.append(Line("", (0, percents_until), (0, 100), dash=None))
    curves(
        name,
        lines,
        across=Axis("steps of training", at="after {x} steps"),
        up=Axis(up, zero=True, digits=digits),
        height=height,
        title=title,
        alt=alt,
        marked=marked,
    )


def slide(slider: OneOf, steps: Sequence[int]) -> int:
    """Draw the slider with the button that plays it; return the step, at first the first one."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        place, button = st.container(), st.container(width="content")
    with button:  # only before the slider is drawn may it be moved
        _play(slider, steps)
    with place:
        return slider.slide("After how many steps of training", steps)


def headed(head: str, step: int, view: OneOf, views: Sequence[str]) -> str:
    """Draw what the picture shows, and the choice of its view; return that."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.header(f"{head} after {step:,} steps", anchor=False, width="content")
        with st.container(width="content"):
            return view.segments("Picture", views)


def _play(slider: OneOf, options: Sequence[int]) -> None:
    """Draw the button; while it plays, the slider moves on through its places."""
    plays = memory.get(_plays(slider), False)
    label, icon = ("Pause", ":material/pause:") if plays else ("Play", ":material/play_arrow:")
    st.button(label, key=f"{slider.name} plays or pauses", icon=icon, on_click=_press, args=(slider, options))
    if plays:
        st.fragment(_move, run_every=_EVERY_SECONDS)(slider, options, time.monotonic())


def _plays(slider: OneOf) -> str:
    return f"{slider.name} moves by itself"


def _press(slider: OneOf, options: Sequence[int]) -> None:
    plays = not memory.get(_plays(slider), False)
    memory.put(_plays(slider), plays)
    if plays and slider.get(options[0]) == options[-1]:
        slider.set(options[0])


def _move(slider: OneOf, options: Sequence[int], drawn: float) -> None:
    if time.monotonic() - drawn < _EVERY_SECONDS / 2:
        return  # the page has just been drawn, and its picture wants to be seen
    place = options.index(slider.get(options[0])) + 1
    if place < len(options):
        slider.set(options[place])
    else:
        memory.put(_plays(slider), False)
    st.rerun()
