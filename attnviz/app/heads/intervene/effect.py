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


def draw(chosen: Intervention, figure: DeltaGenerator, effect_place: DeltaGenerator) -> int | None:
    """Draw the attention of the head, and the effect of the edits.

    Args:
        chosen: The selection and its edits.
        figure, effect_place: Containers of the attention and of the effect.

    Returns:
        The position of the shown prediction, from 0; None if the model does not predict.
    """
    with figure:
        picture.draw(chosen)
    with effect_place:
        place = words.place(chosen)
    if not chosen.edits:
        effect_place.markdown("**Ablate the head**: the model is run again, and the effect is shown here.")
        return place
    effect = computed.effect(chosen, place)
    with effect_place:
        if len(chosen.entry.kinds) > 1:
            words.written(chosen)
        if place is not None:
            st.markdown(words.summary(chosen, effect, place))
            words.expected(chosen, effect, place)
        else:
            outputs.show(chosen, effect)
            outputs.bars(chosen, effect)
            if mask := lookup.mask_token(chosen.entry):
                st.markdown(
                    f":small[This model can predict a masked word: type {markdown.code(mask)} in place of a "
                    "word to see how the prediction changes.]"
                )
    return place


def limits() -> None:
    """List conclusions that an ablation does not support."""
    st.markdown(_LIMITS)
