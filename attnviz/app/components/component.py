"""Registers our browser widgets from their JS and CSS files, and brings their code to the browser once."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

from attnviz.app.state import memory
from attnviz.widgets import code

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer

_APP = Path(__file__).parents[1]
_FOLDERS = (*sorted({path.parent for path in _APP.rglob("*.js")}), code.FOLDER)

# What each widget's code consists of, in order.
PARTS: dict[str, tuple[str, ...]] = {}


def component(name: str, *parts: str) -> ComponentRenderer:
    """The mounting function of the widget whose code is `<name>.js` and `<name>.css`.

    The code goes to the browser as text, since serving files by path would need an installed package.
    There is no build step: `shared.js`, then each of `parts`, are put in front of the widget's own code, in
    place of imports, and so is the CSS of those parts that have some. Streamlit sends a widget's script with
    each of its messages, so that script is only `stub.js`: it hands over to the code of `send_code`.

    Raises:
        FileNotFoundError: there is no such widget or part.
    """
    PARTS[name] = ("shared", *parts, name)
    stub = source("js", "stub").replace('"NAME"', json.dumps(name))
    return st.components.v2.component(f"attnviz.{name}", js=stub, css=styles(name))


def send_code() -> None:
    """Bring the code of all widgets, and `browsing.js`, to the browser; the frame calls it for each page."""
    _code()(key="code")


def source(kind: Literal["js", "css"], *names: str) -> str:
    """The text of these files, one after the other."""
    return code.source(kind, *names, folders=_FOLDERS)


def styles(name: str) -> str:
    """The CSS of a widget that is registered."""
    return code.styles(PARTS[name], _FOLDERS)


def library() -> str:
    """One script with every widget's code, which also tells those that wait for it that it has come."""
    return "\n".join(
        [
            source("js", "browsing"),
            code.library(PARTS, _FOLDERS),
            'window.dispatchEvent(new CustomEvent("attnviz:code"));',
            "export default () => {};",
        ]
    )


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


def modules() -> list[str]:
    """The modules that register a widget: those of this folder, and those beside a JavaScript file."""
    own = [path for path in _APP.rglob("*.js") if path.with_suffix(".py").exists()]
    files = {path.with_suffix("") for path in [*own, *Path(__file__).parent.glob("[a-z]*.py")]}
    return sorted(".".join(("attnviz", "app", *file.relative_to(_APP).parts)) for file in files)


@cache
def _code() -> ComponentRenderer:
    # The code is registered once for all pages, so every widget must have given its own by now.
    for name in modules():
        import_module(name)
    return st.components.v2.component("attnviz.code", js=library())
