"""Controls whose value stands in the link, and which no link can leave without one."""

from collections.abc import Sequence
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

Option = TypeVar("Option", bound=str)


def one_of(
    label: str, options: Sequence[Option], default: Option, key: str, place: DeltaGenerator | None = None
) -> Option:
    """Draw a choice of exactly one option; a link that leaves it empty gets the default."""
    if st.session_state.get(key, default) is None:
        st.session_state[key] = default
    chosen = (place or st).segmented_control(
        label,
        options,
        default=default,
        key=key,
        bind="query-params",
        required=True,
        label_visibility="collapsed",
    )
    if chosen is None:
        st.rerun()
    return chosen


def choose_token(key: str, label: str, options: Sequence[str], default: str, sentences: object) -> str:
    """Draw the choice of one token; it keeps its place when the same sentences are shown in another way.

    Args:
        key: the parameter's name.
        label: what the choice is called.
        options: "11 it": number and token, in order.
        default: one of the options.
        sentences: while this stays the same, a token that changed its name is found again by its number.
    """
    memory, before = f"{key} was chosen in", f"{key} began at"
    chosen = st.session_state.get(key)
    if memory in st.session_state and chosen not in options:
        number = str(chosen).split(" ", 1)[0] if st.session_state[memory] == sentences else None
        same_place = [option for option in options if option.split(" ", 1)[0] == number]
        st.session_state[key] = same_place[0] if same_place else default
    elif key in st.session_state and st.session_state.get(before, default) != default:
        # The browser left the old default out of the link, and must now write what is chosen into it.
        st.session_state[key] = chosen
    st.session_state[memory], st.session_state[before] = sentences, default
    return st.selectbox(label, options, options.index(default), key=key, bind="query-params")
