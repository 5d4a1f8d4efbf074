"""Controls whose value stands in the link, and which no link can leave without one."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator


def one_of(
    label: str, options: Sequence[str], default: str, key: str, place: DeltaGenerator | None = None
) -> str:
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
