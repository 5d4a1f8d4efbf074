"""The source code of functions, as shown in lessons."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import streamlit as st

_ROOT = Path(__file__).parents[3]


def show_source(*functions: tuple[str, ...]) -> None:
    """Draw the source of functions and classes.

    Each tuple is (module, name, …); a name is a function or class in the module, or "Class.method".
    """
    for module, *names in functions:
        path = f"{module.replace('.', '/')}.py"
        for name in names:
            st.markdown(f"`{name}` in `{path}`")
            st.code(source_of(module, name), language="python", wrap_lines=True)


@cache
def source_of(module: str, name: str) -> str:
    """Return the source of a function or class, without importing the module.

    Raises:
        LookupError: the module does not define this name.
    """
    text = (_ROOT / f"{module.replace('.', '/')}.py").read_text("utf-8")
    found: ast.Module | ast.FunctionDef | ast.ClassDef = ast.parse(text)
    for part in name.split("."):
        found = _definition(found.body, part)
    assert isinstance(found, ast.FunctionDef | ast.ClassDef)  # noqa: S101 - a name has at least one part
    first = min([found.lineno, *(decorator.lineno for decorator in found.decorator_list)])
    lines = text.splitlines()[first - 1 : found.end_lineno]
    return "\n".join(line[found.col_offset :] for line in lines)


def _definition(body: Sequence[ast.stmt], name: str) -> ast.FunctionDef | ast.ClassDef:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return node
    raise LookupError(f"No function or class is named {name}.")
