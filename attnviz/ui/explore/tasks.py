"""Questions to try: predict first, then press and see."""

import streamlit as st

from attnviz.ui.examples import OPENING, example_named

_Settings = dict[str, object]

_TROPHY = example_named("trophy / suitcase")

TASKS: tuple[tuple[str, _Settings], ...] = (
    (
        "Who is “it” when the road is too narrow?",
        {
            "text": OPENING.text,
            "other": OPENING.other,
            "show": "narrow",
            "layer": 4,
            "head": 2,
            "also": [],
            "stage": "weights",
        },
    ),
    (
        "Which links change with that one word?",
        {
            "text": OPENING.text,
            "other": OPENING.other,
            "show": "change",
            "layer": 4,
            "head": 2,
            "also": [],
            "stage": "weights",
        },
    ),
    (
        "Where does this head fail?",
        {
            "text": _TROPHY.text,
            "other": _TROPHY.other,
            "show": "small",
            "layer": 4,
            "head": 2,
            "also": [],
            "stage": "weights",
        },
    ),
    (
        "A head that looks one word back",
        {"text": OPENING.text, "other": OPENING.other, "find": "previous", "layer": 1, "head": 3, "also": []},
    ),
)


def draw() -> None:
    """Draw the questions as buttons."""
    st.subheader("Guess first, then look", anchor=False)
    with st.container(horizontal=True):
        for question, settings in TASKS:
            st.button(question, key=f"task {question}", on_click=st.session_state.update, args=(settings,))
