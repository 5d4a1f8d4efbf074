"""Registers our browser widgets from the JS and CSS files beside this one, and brings their code once."""

from __future__ import annotations

import json
import pkgutil
from collections import Counter
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import streamlit as st

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer

_HERE = Path(__file__).parent

# What each widget's code consists of, in order.
PARTS: dict[str, tuple[str, ...]] = {}


def component(name: str, *parts: str) -> ComponentRenderer:
    """The mounting function of the widget whose code is `<name>.js` and `<name>.css`.

    The code goes to the browser as text, since serving files by path would need an installed package.
    There is no build step: `shared.js`, then each of `parts`, are put in front of the widget's own code,
    in place of imports. Streamlit sends a widget's script with each of its messages, so that script is
    only `stub.js`: it hands over to the code that `send_code` brought.

    Raises:
        FileNotFoundError: there is no such widget or part.
    """
    PARTS[name] = ("shared", *parts, name)
    stub = source("js", "stub").replace('"NAME"', json.dumps(name))
    return st.components.v2.component(f"attnviz.{name}", js=stub, css=source("css", "shared", name))


def send_code() -> None:
    """Bring the code of all widgets to the browser; every page with widgets calls it once, anywhere."""
    _code()(key="code")


def source(kind: Literal["js", "css"], *names: str) -> str:
    """The text of these files, one after the other."""
    return "\n".join((_HERE / f"{name}.{kind}").read_text("utf-8") for name in names)


def library() -> str:
    """One script that puts every widget's code into `window.attnvizCode`, each in a scope of its own.

    What several widgets are made of is sent once, in a scope around theirs.
    """
    uses = Counter(part for parts in PARTS.values() for part in parts)
    common = [part for part, count in uses.items() if count > 1]
    widgets = []
    for name, parts in PARTS.items():
        own = source("js", *(part for part in parts if uses[part] == 1))
        code = own.replace("export default ", "return ")
        widgets.append(f"window.attnvizCode[{json.dumps(name)}] ??= (() => {{\n{code}\n}})();")
    return "\n".join(
        [
            "window.attnvizCode ??= {};",
            "(() => {",
            source("js", *common),
            *widgets,
            "})();",
            'window.dispatchEvent(new CustomEvent("attnviz:code"));',
            "export default () => {};",
        ]
    )


def heard(listener: Callable[[int], None] | None, key: str, trigger: str, name: str) -> Callable[[], None]:
    """What Streamlit calls at a widget's trigger: tells the listener the number `name` that came with it."""

    def call() -> None:
        said = st.session_state[key].get(trigger)
        if listener and said:
            listener(int(said[name]))

    return call


@cache
def _code() -> ComponentRenderer:
    # The code is registered once for all pages, so every widget must have given its own by now.
    for module in pkgutil.iter_modules([str(_HERE)], f"{__package__}."):
        import_module(module.name)
    return st.components.v2.component("attnviz.code", js=library())
