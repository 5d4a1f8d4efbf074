"""The token selected by default, and selections that a delayed message must not undo."""

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.state import memory
from tests.app.shown import visit

DOG = "The dog did not cross the road as it was too tired."


def test_new_text_selects_its_pronoun() -> None:
    app = visit("beyond_weights", text=DOG, query="3 dog")
    assert app.session_state["query"] == "3 dog"
    app.text_input(key="text").set_value("The teacher thanked the student because She helped.").run()
    assert app.session_state["query"] == "8 she"
    app.text_input(key="text").set_value("Cats like warm milk").run()
    assert app.session_state["query"] == "4 warm"


def page_with_map(drawn: bool = True, stops: bool = False) -> None:
    """Draw a page with a button that selects a head. `drawn`: the run is complete; `stops`: it ends early."""
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
    ("drawn", "seconds", "stops", "selection_kept"),
    [(False, 0, False, True), (True, 60, False, True), (True, 0, False, False), (True, 0, True, False)],
)
def test_stale_message_does_not_undo_a_selection(
    monkeypatch: pytest.MonkeyPatch, drawn: bool, seconds: float, stops: bool, selection_kept: bool
) -> None:
    monkeypatch.setattr(memory, "STALE_SECONDS", seconds)
    app = AppTest.from_function(page_with_map, kwargs={"drawn": drawn, "stops": stops}).run()
    before = [box.value for box in app.number_input]
    app.button[0].click().run()
    assert [box.value for box in app.number_input] == [6, 12]
    for box, value in zip(app.number_input, before, strict=True):
        box.set_value(value)
    app.run()
    assert [box.value for box in app.number_input] == ([6, 12] if selection_kept else before)
