"""The widgets of the page: each has its code, and what it says is heard."""

from typing import Any

import pytest
import streamlit as st

from attnviz.app.components import component


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
    component._callback({"on_query": listened.append}, "bars", "on_query")()
    assert listened == told


def test_what_was_chosen_before_and_is_not_answered_is_heard_first(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"layer": 4, "head": 2, "also": {"query": 7, "key": None}}
    monkeypatch.setattr(st, "session_state", {"atlas": {"pick": told}})
    listened: list[tuple[str, object, object]] = []
    listeners = {
        "on_pick": lambda layer, head: listened.append(("pick", layer, head)),
        "on_tokens": lambda query, key: listened.append(("tokens", query, key)),
    }
    component._callback(listeners, "atlas", "on_pick")()
    assert listened == [("tokens", 7, None), ("pick", 4, 2)]
