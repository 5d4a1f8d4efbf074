"""The widgets of the page: each has its code, and what it says is heard."""

import re
from pathlib import Path
from typing import Any

import pytest
import streamlit as st

from attnviz.app.components import component

APP = Path(component.__file__).parents[1]


SOURCES = {path: path.read_text("utf-8") for path in APP.rglob("*.py")}
WIDGETS = dict(re.findall(r'default as (\w+) } from "(.+)"', (APP / "widgets.js").read_text("utf-8")))


def mounted_in(source: str) -> set[str]:
    """The widgets that a Python file mounts."""
    return {*re.findall(r"@widget\ndef (\w+)", source), *re.findall(r'(?m)^ +mount\(\s*"(\w+)"', source)}


def test_every_widget_that_python_mounts_is_in_the_bundle() -> None:
    assert set().union(*map(mounted_in, SOURCES.values())) == set(WIDGETS)


@pytest.mark.parametrize("name", WIDGETS)
def test_what_a_widget_triggers_has_a_listener_of_that_name(name: str) -> None:
    [python] = [source for source in SOURCES.values() if name in mounted_in(source)]
    triggers = re.findall(r'trigger\("(\w+)"', (APP / WIDGETS[name]).read_text("utf-8"))
    assert set(triggers) <= set(re.findall(r"\bon_(\w+):", python))


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
    component._hears({"on_query": listened.append}, "bars", "on_query")()
    assert listened == told


def test_what_was_chosen_before_and_is_not_answered_is_heard_first(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"layer": 4, "head": 2, "also": {"query": 7, "key": None}}
    monkeypatch.setattr(st, "session_state", {"atlas": {"pick": told}})
    listened: list[tuple[str, object, object]] = []
    listeners = {
        "on_pick": lambda layer, head: listened.append(("pick", layer, head)),
        "on_tokens": lambda query, key: listened.append(("tokens", query, key)),
    }
    component._hears(listeners, "atlas", "on_pick")()
    assert listened == [("tokens", 7, None), ("pick", 4, 2)]
