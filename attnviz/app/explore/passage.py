"""A text that a model wrote: what was typed, what the model added, and buttons to step through it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attnviz.app.components.component import widget


@widget
def passage(
    key: str,
    /,
    *,
    typed: str,
    tokens: Sequence[str],
    written: bool,
    chosen: int | None,
    pending: bool = False,
    on_pick: Callable[[int], None],
) -> None:
    """Draws the text; each token that can be stepped to is a button.

    Args:
        typed: the text before the tokens; "" for nothing.
        tokens: the tokens in order, each with the space before it.
        written: whether the model wrote the tokens; else the visitor did.
        pending: whether the last is not there yet: what comes next can be looked into, too.
        chosen: the token that is looked into, from 0; None for none.
        on_pick: called with the token, from 0, that the visitor chose.
    """
