"""What a widget of the page says to Python."""

from typing import Any

import pytest
import streamlit as st

from attnviz.app.components.component import heard


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ({"bars": {"query": {"place": 7}}}, [7]),
        ({"bars": {"query": None}}, []),
        ({"bars": {}}, []),
        ({}, []),  # the widget went from the page while the click was on its way
    ],
)
def test_a_listener_hears_the_number_and_only_if_there_is_one(
    state: dict[str, Any], told: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(st, "session_state", state)
    listened: list[int] = []
    heard(listened.append, "bars", "query", "place")()
    assert listened == told
