"""What if a head were silent, or looked elsewhere?"""

import streamlit as st

from attnviz.app import caches, frame
from attnviz.app.heads import choosing
from attnviz.app.heads.intervene import (
    choices,
    effect,
    logits,
    mending,
    outputs,
    patched,
    picture,
    ranking,
    together,
)
from attnviz.app.heads.tool import tool
from attnviz.capture.model import ModelInput

frame.require()
mending.drop_what_is_no_edit()
with tool("intervene"):
    text, entry = choosing.sentence_and_model()
    caches.need_vectors(caches.trace(entry.name, ModelInput(text)))
    changing, moving = (
        column.container(border=True, height="stretch") for column in st.columns([5, 7], gap="medium")
    )
    with changing:
        chosen, below = choices.choose(entry, ModelInput(text))
    with moving:
        place = effect.draw(chosen)
    with below:
        effect.in_short(chosen, place)
    ranked, looking = (
        column.container(border=True, height="stretch") for column in st.columns([5, 7], gap="medium")
    )
    with ranked:
        by = ranking.draw(chosen, place)
    with looking:
        picture.draw(chosen)
    outputs.section(chosen, place)
    with st.container(border=True):
        together.draw(chosen, place, by)
    with st.container(border=True):
        patched.draw(chosen, place)
    if place is not None:
        with st.container(border=True):
            logits.draw(chosen, place)
    effect.limits()
