"""A long list of examples, two in a row, a dozen at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import streamlit as st

from attnviz.app.state import memory

_AT_ONCE = 12
_IN_A_ROW = 2

Example = TypeVar("Example")


def draw(key: str, examples: Sequence[Example], draw_one: Callable[[Example], None]) -> None:
    """Draw the first dozen of these examples in boxes, and a button for more; `key` is the list's."""
    more = f"how many {key} are listed"
    most = min(memory.get(more, _AT_ONCE), len(examples))
    for row in range(0, most, _IN_A_ROW):
        columns = st.columns(_IN_A_ROW, gap="small")
        for column, example in zip(columns, examples[row : min(row + _IN_A_ROW, most)], strict=False):
            with column.container(border=True, gap="xxsmall", height="stretch"):
                draw_one(example)
    if most < len(examples):
        st.button(
            f"Show {min(_AT_ONCE, len(examples) - most)} more of {len(examples)}",
            key=f"more {key}",
            on_click=memory.put,
            args=(more, most + _AT_ONCE),
        )
    if not examples:
        st.markdown("None.")
