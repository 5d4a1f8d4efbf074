"""Type a sentence and see who looks at whom, in every head, down to the numbers."""

import streamlit as st

from attnviz.ui import frame, links
from attnviz.ui.explore import (
    all_heads,
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
    read = reading.read(chosen)
    sentences.examples(chosen.example)
notices = st.container()

left, right = st.columns([5, 7], gap="medium")
with left:
    overview, linking_card, tasks_card = (st.container(border=True) for _ in range(3))
with right:
    picture, arithmetic = (st.container(border=True) for _ in range(2))

with picture:
    view, style, title = choices.choose_view(read)
with overview:
    heads, atlas = all_heads.choose(view)
with linking_card:
    tokens = linking.choose(view, heads)

sent = published.send(view, heads)
with atlas:
    all_heads.draw(view, heads, sent)
with picture:
    title.subheader(f"Layer {heads.layer} · Head {heads.head}", anchor=False)
    one_head.draw(view, heads, tokens, style, sent)
    saving.draw(view, heads)
with linking_card:
    linking.draw(view, heads, tokens)
with arithmetic:
    why.draw(view, heads, tokens)
with tasks_card:
    tasks.draw()
with notices:
    links.draw(choices.parameters())
