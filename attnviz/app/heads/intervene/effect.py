"""The effect of the edits: on predicted words, or else on each token's output."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.app import markdown
from attnviz.app.heads.intervene import computed, outputs, picture, words
from attnviz.app.heads.intervene.choices import Intervention
from attnviz.app.models import lookup

_LIMITS = Path(__file__).with_name("limits.md").read_text("utf-8")


def draw(chosen: Intervention, figure: DeltaGenerator, beside: DeltaGenerator) -> int | None:
    """Draw what the changes move; while nothing is changed, what the head attends to.

    Args:
        chosen: the selection and its changes.
        figure, beside: the places of the picture and of the words beside it.

    Returns:
        The token at which the model is asked what it expects, from 0; None where it expects nothing.
    """
    with beside:
        place = words.place(chosen)
    if not chosen.edits:
        beside.markdown(
            "**Ablate the head**: the model is run again without it, and the effect is shown here."
        )
        with figure:
            picture.draw(chosen)
        return place
    found = computed.effect(chosen, place)
    with beside:
        if len(chosen.entry.kinds) > 1:
            words.written(chosen)
        if place is not None:
            st.markdown(words.in_short(chosen, found, place))
        else:
            outputs.show(chosen, found)
            if mask := lookup.mask_token(chosen.entry):
                st.markdown(
                    f":small[This model can predict a masked word: type {markdown.code(mask)} in place of a "
                    "word to see how the prediction changes.]"
                )
    with figure:
        if place is None:
            outputs.every_token(chosen, found)
        else:
            words.expected(chosen, found, place)
    return place


def limits() -> None:
    """Draw what cannot be concluded."""
    st.markdown(_LIMITS)
