"""Registers our browser widgets, and brings their code to the browser once."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from attnviz.app.state import memory
from attnviz.widgets import code

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer

_STUB = Path(__file__).with_name("stub.js").read_text("utf-8")


def component(name: str) -> ComponentRenderer:
    """The mounting function of the widget that `attnviz/app/widgets.js` exports under this name.

    Streamlit sends a widget's script with each of its messages, so that script is only `stub.js`: it hands
    over to the code of `send_code`. Code goes to the browser as text, since serving files by path would need
    an installed package.
    """
    return st.components.v2.component(f"attnviz.{name}", js=_STUB.replace('"NAME"', json.dumps(name)))


def send_code() -> None:
    """Bring the code and the styles of all widgets to the browser; the frame calls it for each page."""
    _code()(key="code")


def heard(listener: Callable[[int], None] | None, key: str, trigger: str, name: str) -> Callable[[], None]:
    """What Streamlit calls at a widget's trigger: tells the listener the number `name` that came with it."""

    def call() -> None:
        told = said(key, trigger)
        if listener and told:
            listener(int(told[name]))

    return call


def said(key: str, trigger: str) -> Any:
    """What came with a widget's trigger; None where the widget went from the page while it was on its way."""
    return memory.said(key, trigger)


@cache
def _code() -> ComponentRenderer:
    return st.components.v2.component("attnviz.code", js=code.bundle("app"))
