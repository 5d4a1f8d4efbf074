"""A text with its generated tokens as buttons, and buttons to step through the tokens."""

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
    """Draw the text; each token with a prediction is a button.

    Args:
        typed: Text before the tokens; "" for none.
        tokens: Tokens in order, each with the space before it.
        written: True if the model wrote the tokens, False if the visitor typed them.
        pending: True if the last token is a placeholder for the next token, which is not generated yet.
        chosen: Selected token, from 0; None for no token.
        on_pick: Called with the selected token, from 0.
    """
