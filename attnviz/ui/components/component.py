"""Registers one of our browser widgets from the JS and CSS files that lie beside this one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import streamlit as st

if TYPE_CHECKING:
    from streamlit.components.v2.types import ComponentRenderer


def component(name: str, *parts: str) -> ComponentRenderer:
    """The mounting function of the widget whose code is `<name>.js` and `<name>.css`.

    The code goes to the browser as text, since serving files by path would need an installed package.
    There is no build step: `shared.js`, then each of `parts`, are put in front of the widget's own code,
    in place of imports.

    Raises:
        FileNotFoundError: there is no such widget or part.
    """
    script, style = source("js", "shared", *parts, name), source("css", "shared", name)
    return st.components.v2.component(f"attnviz.{name}", js=script, css=style)


def source(kind: Literal["js", "css"], *names: str) -> str:
    """The text of these files, one after the other."""
    here = Path(__file__).parent
    return "\n".join((here / f"{name}.{kind}").read_text("utf-8") for name in names)
