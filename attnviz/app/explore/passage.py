"""A text that a model wrote: what was typed, what the model added, and buttons to step through it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attnviz.app.components.component import component, heard

_mount = component("passage")


def passage(
    key: str,
    /,
    *,
    typed: str,
    tokens: Sequence[str],
    written: bool,
    chosen: int | None,
    on_pick: Callable[[int], None],
) -> None:
    """Draws the text; each token that can be stepped to is a button.

    Args:
        key: Streamlit's key of this widget.
        typed: what stands before the tokens; "" for nothing.
        tokens: the tokens in order, each with the space before it.
        written: whether the model wrote the tokens; else the visitor did.
        chosen: the token that is looked into, from 0; None for none.
        on_pick: called with the token, from 0, that the visitor chose.
    """
    _mount(
        key=key,
        data={"typed": typed, "tokens": list(tokens), "written": written, "chosen": chosen},
        on_pick_change=heard(on_pick, key, "pick", "token"),
    )
