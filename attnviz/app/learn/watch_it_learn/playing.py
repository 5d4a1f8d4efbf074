"""A button that moves a slider by itself, as a film: one place after the other, to the last."""

from __future__ import annotations

import time
from collections.abc import Sequence

import streamlit as st

_EVERY_SECONDS = 0.7


def play(key: str, options: Sequence[int]) -> None:
    """Draw the button; while it plays, the slider moves on.

    Args:
        key: of the slider, which must be drawn after the button: only before that may it be moved.
        options: all its places, in order.
    """
    plays = st.session_state.get(_plays(key), False)
    label, icon = ("Pause", ":material/pause:") if plays else ("Play", ":material/play_arrow:")
    st.button(label, key=f"{key} plays or pauses", icon=icon, on_click=_press, args=(key, options))
    if plays:
        st.fragment(_move, run_every=_EVERY_SECONDS)(key, options, time.monotonic())


def _plays(key: str) -> str:
    return f"{key} moves by itself"


def _press(key: str, options: Sequence[int]) -> None:
    plays = not st.session_state.get(_plays(key), False)
    st.session_state[_plays(key)] = plays
    if plays and st.session_state[key] == options[-1]:
        st.session_state[key] = options[0]


def _move(key: str, options: Sequence[int], drawn: float) -> None:
    if time.monotonic() - drawn < _EVERY_SECONDS / 2:
        return  # the page has just been drawn, and its picture wants to be seen
    place = options.index(st.session_state[key]) + 1
    if place < len(options):
        st.session_state[key] = options[place]
    else:
        st.session_state[_plays(key)] = False
    st.rerun()
