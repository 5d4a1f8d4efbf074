"""Do the weights tell the story?"""

import streamlit as st

from attnviz.app.heads.beyond_weights import by_layer, choices, comparison, explained, numbers, parts
from attnviz.app.heads.tool import tool

with tool("beyond_weights"):
    chosen = choices.choose()
    picture = st.container()
    left, right = st.columns(2)
    with left:
        explained.draw()  # its choice is marked in the picture
    with picture:
        comparison.draw(chosen)
    with right:
        by_layer.heads(chosen)
    left, right = st.columns(2)
    with left:
        by_layer.layers(chosen)
    with right:
        numbers.draw(chosen)
    parts.draw(chosen)
