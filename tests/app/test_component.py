"""The listeners of browser widgets."""

from typing import Any

import pytest
import streamlit as st

from attnviz.app.components import component


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({"bars": {"query": {"place": 7}}}, [7]),
        ({"bars": {"query": None}}, []),
        ({"bars": {}}, []),
        ({}, []),  # the widget was removed before the click arrived
    ],
)
def test_listener_is_called_only_with_a_value(
    state: dict[str, Any], expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(st, "session_state", state)
    calls: list[int] = []
    component._callback({"on_query": calls.append}, "bars", "on_query")()
    assert calls == expected


def test_unanswered_earlier_choice_is_handled_first(monkeypatch: pytest.MonkeyPatch) -> None:
    message = {"layer": 4, "head": 2, "also": {"query": 7, "key": None}}
    monkeypatch.setattr(st, "session_state", {"atlas": {"pick": message}})
    calls: list[tuple[str, object, object]] = []
    listeners = {
        "on_pick": lambda layer, head: calls.append(("pick", layer, head)),
        "on_tokens": lambda query, key: calls.append(("tokens", query, key)),
    }
    component._callback(listeners, "atlas", "on_pick")()
    assert calls == [("tokens", 7, None), ("pick", 4, 2)]
