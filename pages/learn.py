"""Attention, one question a page, and then a whole transformer."""

import streamlit as st

from attnviz.app.lessons import contents
from attnviz.app.page import page


def part(group: contents.Group, heading: str, text: str) -> None:
    """Draw a group of lessons below what it is about: one screen of the teacher's view."""
    with st.container(key=f"slide-{group}"):
        st.header(heading, anchor=False)
        st.markdown(text)
        contents.draw(group)


with page("learn", "Learn", lambda: None):
    part(
        "attention",
        "Attention, one question a page",
        "Type sentences of your own. Read the pages in order, or begin where you are curious.",
    )
    part(
        "translator",
        "A whole transformer",
        "A small translator from English into French, written from scratch and trained for these pages: see "
        "it decide whether *it* is *il* or *elle*, and put that to the test.",
    )
    part(
        "storyteller",
        "A model that writes",
        "A small language model, trained for these pages on stories made by rules: watch it write, and see "
        "what it reads for each word.",
    )
    st.page_link("pages/classroom.py", label="For teachers: lesson plans, a room", icon=":material/groups:")
