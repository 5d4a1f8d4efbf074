"""Images: which patches do words and patches attend to?"""

import streamlit as st

from attnviz.app import frame, question
from attnviz.app.models.images import heads, selection
from attnviz.app.page import page
from attnviz.app.state.choices import MODEL

own: list[question.Question | None] = []


def aside() -> None:
    """Draw the form for a quiz question beside the title."""
    with st.container(key="asking", width="content"):
        own.append(question.form())


with page("images", "Images", aside) as this:
    st.markdown(
        "A **vision transformer** cuts an image into patches. Each patch is a token, as a word is in a text. "
        "A **vision-language model** reads an image together with a text, and the words attend to patches."
    )
    this.always = [MODEL.name]
    question.draw_below(own[0])
    chosen = selection.choose()
    this.notices, problems = st.container(), st.container()
    with st.container(key=frame.PICTURE_FIRST_ON_PHONES):
        narrow, wide = st.columns([4, 8], gap="medium")
    with narrow.container(border=True):
        overview = st.container()
        # Drawn even without an image: otherwise the link would lose these choices.
        layer, head = heads.choose_head(chosen)
        query = selection.choose_token(chosen)
    with problems:
        trace = selection.forward(chosen)
    if trace is not None:
        with overview:
            title = (
                "Mean over the heads of each layer"
                if chosen.mean
                else f"All {chosen.layers * chosen.heads} heads at a glance"
            )
            st.header(title, anchor=False)
            pixels = heads.all_heads(chosen, trace, layer, head, query)
        with wide.container(border=True):
            st.header(f"Layer {layer + 1}" + ("" if chosen.mean else f" · Head {head + 1}"), anchor=False)
            with st.container(key="image-and-answer"):
                picture, beside = st.columns([7, 4], gap="medium")
            with picture:
                heads.one_head(chosen, trace, pixels, layer, head, query)
            with beside:
                heads.describe_answer(chosen)
                heads.describe_weights(chosen, trace, layer, head, query)
            selection.save(chosen, trace)
    heads.describe_model(chosen)
