"""When does a model look in a sound? Every frame is a token, and every head says when it looks."""

import streamlit as st

from attnviz.app import controls, frame, question
from attnviz.app.page import page
from attnviz.app.senses import sounds
from attnviz.app.senses.sense import choose, save
from attnviz.app.senses.sounds import HEARING

with page("sounds", "Sounds") as this:
    st.markdown(
        "A model that **hears** cuts a sound into frames, some hundredths of a second each. They are its "
        "tokens, as words are in a text. Whisper writes words, and each of them looks at times of the sound: "
        "that is cross-attention. In wav2vec 2.0 and HuBERT the frames look at each other."
    )
    question.ask_below(question.form())
    chosen = choose(HEARING)
    this.notices, problems = st.container(), st.container()
    with st.container(key=frame.PICTURE_FIRST_ON_PHONES):
        narrow, wide = st.columns([5, 7], gap="medium")
    with narrow.container(border=True):
        overview = st.container()
        # Drawn even while there is no sound: else the choices, and the address, would forget them.
        layers = chosen.entry.decoder_layers or chosen.entry.layers
        layer, head = controls.head(layers, chosen.entry.heads, (1, 1))
        beside = st.container()
    with problems:
        heard = sounds.hear(chosen)
    if heard is not None:
        with beside:
            looker = sounds.choose_looker(heard)
        with overview:
            st.header("All heads in one number each", anchor=False)
            sounds.all_heads(heard, layer, head, looker)
        with wide.container(border=True):
            st.header(f"Layer {layer + 1} · Head {head + 1}", anchor=False)
            if heard.trace.target is not None:
                st.markdown(sounds.written(heard))
            sounds.one_head(heard, layer, head, looker)
            save(HEARING, chosen, heard.trace)
