"""Attention, one question per page, and then a complete transformer."""

import streamlit as st

from attnviz.app.lessons import contents
from attnviz.app.page import page


def part(group: contents.Group, heading: str, text: str) -> None:
    """Draw a group of lessons below a heading and a text: one slide of the teacher's view."""
    with st.container(key=f"slide-{group}"):
        st.header(heading, anchor=False)
        st.markdown(text)
        contents.draw(group)


with page("learn", "Learn", lambda: None):
    part(
        "attention",
        "Attention, one question per page",
        "Read the pages in order, or start with any of them. On most pages, you can type your own sentences.",
    )
    part(
        "translator",
        "A complete transformer",
        "A small translator from English into French, written from scratch and trained for these pages: see "
        "how it chooses *il* or *elle* for *it*, then edit its attention.",
    )
    part(
        "storyteller",
        "A model that writes",
        "A small language model, trained for these pages on rule-generated stories: watch it write, and see "
        "what it attends to for each word.",
    )
    st.page_link(
        "pages/classroom.py", label="For teachers: lesson plans and live rooms", icon=":material/groups:"
    )
