"""Type a sentence and see which tokens attend to which, in every head, down to the numbers."""

import streamlit as st

from attnviz.app import frame, question
from attnviz.app.explore import (
    all_heads,
    attention,
    choices,
    continuation,
    expected,
    linking,
    long_text,
    one_head,
    published,
    reading,
    saving,
    sentences,
    why,
)
from attnviz.app.page import page

asides: list[sentences.Asides] = []


def draw_pictures(
    chosen: sentences.Sentences, read: reading.ExploreSelection, own: question.Question | None
) -> None:
    """Draw all pictures of the input; a selection in a picture does not redraw the controls above."""
    if own:
        with st.container(key="slide-question"):
            question.draw_below(own)
    attention.warn(read)
    if read.long:
        long_text.draw(read)
        return
    passage = st.container()
    with st.container(key=frame.PICTURE_FIRST_ON_PHONES):
        narrow, wide = st.columns([5, 7], gap="medium")
    overview, linking_card = (
        narrow.container(border=True, key=f"slide-{name}") for name in ("heads", "tokens")
    )
    picture = wide.container(border=True, key="slide-head")
    arithmetic = st.container(border=True, key="slide-arithmetic")

    with picture:
        view, shown, card = choices.choose_view(read)
    with overview:
        heads, atlas = all_heads.choose(view, chosen.example)
    with linking_card:
        tokens = linking.choose(view, heads, chosen.example)

    sent = published.send(view, heads)
    with atlas:
        all_heads.draw(view, heads, tokens, sent)
    card.title.header(one_head.title(view, heads, shown), anchor=False)
    with card.body:
        one_head.draw(view, heads, tokens, shown, sent)
    with card.foot:
        saving.draw(view, heads, tokens)
    with linking_card:
        linking.draw(view, heads, tokens)
    with arithmetic:
        why.draw(view, heads, tokens)
    if expected.can_predict(view.model):
        with wide, st.container(border=True):
            expected.draw(view, tokens)
    with passage:
        if continuation.has_steps(read):
            continuation.draw(view, tokens)


with page("explore", "Explore", lambda: asides.append(sentences.asides()), drop_undrawn=True) as this:
    with st.container(key="slide-sentences"):
        chosen, switch = sentences.choose(asides[0])
        with asides[0].more:
            sentences.more(chosen)
        with asides[0].question:
            own = question.form()
        kind = attention.choose(chosen.model)
        read = reading.read(chosen, kind, switch)
        attention.draw(read)
    this.always = choices.always_named(chosen.model)
    this.part(lambda: draw_pictures(chosen, read, own))
