"""Type a sentence and see who looks at whom, in every head, down to the numbers."""

import streamlit as st

from attnviz.app import frame, question
from attnviz.app.explore import (
    all_heads,
    attention,
    choices,
    continuation,
    expected,
    linking,
    one_head,
    published,
    reading,
    saving,
    sentences,
    tasks,
    why,
)
from attnviz.app.page import page

with page("explore", drop_undrawn=True) as this:
    with st.container(key="slide-sentences"):
        chosen = sentences.choose()
        with st.container(horizontal=True, vertical_alignment="center"):
            switch = st.container(width="content")
            sentences.examples(chosen)
            own = question.form()
        question.ask_below(own)
        with st.container(horizontal=True, vertical_alignment="center"):
            kind = attention.choose(chosen.model)
            french = st.container()
        read = reading.read(chosen, kind, switch)
        with french:
            attention.draw(read)
        passage = st.container()
    this.notices = st.container()

    with st.container(key=frame.PICTURE_FIRST_ON_PHONES):
        narrow, wide = st.columns([5, 7], gap="medium")
    overview, linking_card = (
        narrow.container(border=True, key=f"slide-{name}") for name in ("heads", "tokens")
    )
    picture = wide.container(border=True, key="slide-head")
    arithmetic = st.container(border=True, key="slide-arithmetic")

    with picture:
        view, style, card = choices.choose_view(read)
    with overview:
        heads, atlas = all_heads.choose(view, chosen.example)
    with linking_card:
        tokens = linking.choose(view, heads, chosen.example)

    sent = published.send(view, heads)
    with atlas:
        all_heads.draw(view, heads, tokens, sent)
    card.title.subheader(heads.title, anchor=False)
    with card.body:
        one_head.draw(view, heads, tokens, style, sent)
    with card.foot:
        saving.more_about(view, heads, tokens)
        saving.draw(view, heads, tokens.pair.query if tokens.pair else None)
    with linking_card:
        linking.draw(read, view, heads, tokens)
    with arithmetic:
        why.draw(view, heads, tokens)
    with wide:
        if expected.fits(view.model):
            with st.container(border=True):
                expected.draw(view, tokens)
        if tasks.fit(view):
            with st.container(border=True):
                tasks.draw(view)
    with passage:
        if continuation.fits(read):
            continuation.draw(view, tokens)
    with this.notices:
        attention.warn(read)
