"""The widgets of the page: each has its code, and what it says is heard."""

import re
from pathlib import Path
from typing import Any

import pytest
import streamlit as st

from attnviz.app.components import component

APP = Path(component.__file__).parents[1]


def test_every_widget_that_python_mounts_is_in_the_bundle() -> None:
    mounted = {
        name
        for path in APP.rglob("*.py")
        for names in re.findall(r'(?m)@widget\ndef (\w+)|^ +mount\("(\w+)"', path.read_text("utf-8"))
        for name in filter(None, names)
    }
    exported = re.findall(r"default as (\w+)", (APP / "widgets.js").read_text("utf-8"))
    assert mounted == set(exported)


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
    component._hears(listened.append, "bars", "query")()
    assert listened == told
