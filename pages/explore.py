"""Type a sentence and see who looks at whom, in every head, down to the numbers."""

import streamlit as st

from attnviz.ui import frame, links
from attnviz.ui.components.component import send_code
from attnviz.ui.explore import (
    all_heads,
    attention,
    choices,
    linking,
    one_head,
    published,
    reading,
    saving,
    sentences,
    tasks,
    why,
)

frame.require()
links.remember()

chosen = sentences.choose()
with st.container(horizontal=True, vertical_alignment="center"):
    switch = st.container(width="content")
    sentences.examples(chosen.example)
with st.container(horizontal=True, vertical_alignment="center"):
    kind = attention.choose(chosen.model)
    french = st.container()
read = reading.read(chosen, kind, switch)
with french:
    attention.draw(read)
notices = st.container()

with st.container(key=frame.PICTURE_FIRST_ON_PHONES):
    narrow, wide = st.columns([5, 7], gap="medium")
overview, linking_card = (narrow.container(border=True) for _ in range(2))
picture, tasks_card = (wide.container(border=True) for _ in range(2))
arithmetic = st.container(border=True)

with picture:
    view, style, card = choices.choose_view(read)
with overview:
    heads, atlas = all_heads.choose(view)
with linking_card:
    tokens = linking.choose(view, heads)

send_code()
sent = published.send(view, heads)
with atlas:
    all_heads.draw(view, heads, tokens, sent)
card.title.subheader(heads.title, anchor=False)
with card.body:
    one_head.draw(view, heads, tokens, style, sent)
with card.foot:
    saving.draw(view, heads)
with linking_card:
    linking.draw(read, view, heads, tokens)
with arithmetic:
    why.draw(view, heads, tokens)
with tasks_card:
    tasks.draw(view)
with notices:
    attention.warn(read)
    links.draw(choices.parameters())
