"""The button that plays a slider like a film."""

from __future__ import annotations

import time
from collections.abc import Sequence

import streamlit as st

from attnviz.app.state import memory
from attnviz.app.state.choice import OneOf

_EVERY_SECONDS = 0.7


def play(slider: OneOf, options: Sequence[int]) -> None:
    """Draw the button; while it plays, the slider moves on through its places.

    The slider must be drawn after the button: only before that may it be moved.
    """
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
