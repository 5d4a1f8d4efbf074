"""Write on: how many tokens the model adds to the text, and how it chooses them."""

from __future__ import annotations

import streamlit as st

from attnviz.app.state.choices import SEED, TEMPERATURE, TOP_K, TOP_P, WRITE
from attnviz.capture.model import LEAST_TEMPERATURE, MOST_WRITTEN, Writing
from attnviz.models.catalogue import Entry


def choose(entry: Entry, typed: bool) -> Writing | None:
    """Draw the controls, where the model can write on; return the choice, None for reading only.

    Args:
        entry: what is known of the model.
        typed: whether the visitor typed the text of an encoder–decoder's decoder.
    """
    if entry.expects != "next" or typed:
        return None
    continues = entry.kinds == ("decoder",)
    with st.container(horizontal=True, vertical_alignment="center"):
        tokens = MOST_WRITTEN
        if continues:
            st.markdown("**Write on**", width="content")
            tokens = WRITE.draw("Tokens to write", label_visibility="collapsed", width=150)
            st.markdown(f"tokens, at most {MOST_WRITTEN}", width="content")
        with st.popover("How it chooses"):
            temperature, top_k, top_p, seed = _how()
    if not tokens or (not continues and not temperature):
        return None  # an encoder–decoder takes the likeliest token each time, if not told otherwise
    if not temperature:
        return Writing(tokens)
    return Writing(tokens, max(temperature, LEAST_TEMPERATURE), top_k, top_p, seed)


def _how() -> tuple[float, int, float, int]:
    temperature = TEMPERATURE.draw(
        "Temperature",
        help="What the scores are divided by before the softmax. 0: always the likeliest token. "
        "1: by the model's own probabilities. Larger: bolder.",
    )
    if not temperature:
        st.markdown(":small[The model always takes the likeliest token. Nothing is drawn by chance.]")
    top_k = TOP_K.draw("Top k", help="Only so many of the likeliest tokens can be drawn. 0: all.")
    top_p = TOP_P.draw(
        "Top p",
        help="Only the likeliest tokens that together have this probability can be drawn. 1: all.",
    )
    return temperature, top_k, top_p, SEED.draw("Seed", help="The same seed draws the same tokens again.")
