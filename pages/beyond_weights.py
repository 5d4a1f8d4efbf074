"""Rollout, norms, gradients and occlusion, compared with the weights."""

import streamlit as st

from attnviz.app.folded import folded, section
from attnviz.app.heads.beyond_weights import agreement, choices, comparison, explained, numbers
from attnviz.app.heads.tool import tool
from attnviz.app.state.choices import MEASURE

with tool("beyond_weights"):
    chosen = choices.choose()
    picture = st.container()
    folded(
        section("How to read the picture", explained.how_to_read),
        section(explained.HEADING, explained.draw).with_choices(MEASURE),  # the picture marks the measure
        section("Agreement with occlusion", agreement.draw, chosen),
        section("The numbers", numbers.draw, chosen),
    )
    with picture:
        comparison.draw(chosen)
