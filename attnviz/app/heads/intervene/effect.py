"""What moves: words where the model expects some, and each token's output."""

from __future__ import annotations

import streamlit as st

from attnviz.app.heads.intervene import computed, no_words, outputs, words
from attnviz.app.heads.intervene.choices import Intervention


def draw(chosen: Intervention) -> int | None:
    """Draw what the changes move, or what to do first.

    Returns:
        The token at which the model is asked what it expects, from 0; None where it expects nothing.
    """
    st.header("What moves", anchor=False)
    if not chosen.edits:
        st.markdown("Nothing is changed yet. **Silence a head**, and the model is run again without it.")
    elif len(chosen.entry.kinds) > 1:
        words.written(chosen)
    place = words.place(chosen)
    found = computed.effect(chosen, place) if chosen.edits else None
    if found is not None and place is not None:
        words.expected(chosen, found, place)
    if found is not None:
        outputs.tell(chosen, found, place)
    if place is None:
        no_words.draw(chosen)
    if found is not None and place is None:
        outputs.every_token(chosen, found)
    return place


def in_short(chosen: Intervention, place: int | None) -> None:
    """Say in a sentence what the changes did.

    Args:
        chosen: what is changed.
        place: what `draw` returned.
    """
    if not chosen.edits:
        st.markdown("Nothing is changed yet.")
        return
    found = computed.effect(chosen, place)
    st.markdown(outputs.in_short(chosen, found) if place is None else words.in_short(chosen, found, place))
