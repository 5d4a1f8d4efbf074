"""The frame of every page about heads: a question, a link to this view, and links to the other tools."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from attnviz.app import controls, question
from attnviz.app.heads.contents import TOOLS
from attnviz.app.models import lookup
from attnviz.app.page import page
from attnviz.app.state import link
from attnviz.app.state.choices import HEAD, LAYER, MODEL, TEXT


@contextmanager
def tool(name: str) -> Iterator[None]:
    """Draw the frame of a tool's page around its sections.

    After an `AttnvizError`, a message replaces the remaining sections.
    """
    this = next(tool for tool in TOOLS if tool.name == name)
    questions: list[question.Question | None] = []

    def beside_title() -> None:
        st.page_link("pages/heads.py", label="All tools", icon=":material/psychology:")
        with st.container(key="asking", width="content"):
            questions.append(question.form())

    with page(name, this.question, beside_title):
        if questions[0]:
            with st.container(key="slide-question"):
                question.draw_below(questions[0])
        with st.container(key="slide-tool"):
            yield
        with st.container(gap="small"):
            controls.describe(*(lookup.entry(model) for _, model in link.parameters(MODEL)))
    st.divider()
    # Links to the other tools and Explore keep the model, the sentence and the head.
    parameters = link.parameters(MODEL, TEXT, LAYER, HEAD)
    links = [(other.name, other.label, other.icon) for other in TOOLS if other != this]
    with st.container(horizontal=True, vertical_alignment="center"):
        for target, label, icon in [*links, ("explore", "Explore", ":material/grid_view:")]:
            st.page_link(f"pages/{target}.py", label=label, icon=icon, query_params=parameters)
        controls.offer_own_model()
