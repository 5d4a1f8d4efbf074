"""Which token is chosen: a pronoun at first, and what was picked in a picture."""

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.state import memory
from tests.app.shown import visit

DOG = "The dog did not cross the road as it was too tired."


def test_another_text_begins_anew_with_its_pronoun() -> None:
    app = visit("beyond_weights", text=DOG, query="3 dog")
    assert app.session_state["query"] == "3 dog"
    app.text_input(key="text").set_value("The teacher thanked the student because She helped.").run()
    assert app.session_state["query"] == "8 she"
    app.text_input(key="text").set_value("Cats like warm milk").run()
    assert app.session_state["query"] == "4 warm"


def picking(drawn: bool = True, stops: bool = False) -> None:
    """A page with a picture of heads that one can pick; it may still be being drawn."""
    from contextlib import nullcontext

    import streamlit as st

    from attnviz.app import controls
    from attnviz.app.heads import choosing
    from attnviz.app.state import memory
    from attnviz.models import catalogue

    with memory.drawing() if drawn else nullcontext():
        st.button("6-12", on_click=controls.open_head, args=(5, 11))
        st.write(choosing.head(catalogue.entry("minilm"), "encoder"))
        if stops:
            st.stop()


@pytest.mark.parametrize(
    ("drawn", "seconds", "stops", "kept"),
    [(False, 0, False, True), (True, 60, False, True), (True, 0, False, False), (True, 0, True, False)],
)
def test_a_message_from_before_a_pick_was_drawn_does_not_undo_it(
    monkeypatch: pytest.MonkeyPatch, drawn: bool, seconds: float, stops: bool, kept: bool
) -> None:
    monkeypatch.setattr(memory, "STALE_SECONDS", seconds)
    app = AppTest.from_function(picking, kwargs={"drawn": drawn, "stops": stops}).run()
    before = [box.value for box in app.number_input]
    app.button[0].click().run()
    assert [box.value for box in app.number_input] == [6, 12]
    for box, value in zip(app.number_input, before, strict=True):
        box.set_value(value)
    app.run()
    assert [box.value for box in app.number_input] == ([6, 12] if kept else before)
