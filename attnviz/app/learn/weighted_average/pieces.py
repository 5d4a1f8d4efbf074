"""A text cut into tokens: each with its id, and where in the text it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from attnviz.app.components.component import widget


class TokenRow(TypedDict):
    """One token: what is written, its id, and its characters in the text, from `start` up to before `end`."""

    label: str
    id: int
    start: int
    end: int


@widget
def pieces(key: str, /, *, text: str, cuts: Sequence[TokenRow], more: int, about: str) -> None:
    """Draws the text up to the last token shown, and each token; pointing at one shows its place in the text.

    `more` is how many further tokens there are; `about` is what the saved picture says.
    """
