"""The row and column tokens of a picture, as sent to the browser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from attnviz.analysis.display_tokens import DisplayToken
from attnviz.analysis.sentence import names_of


class ShownToken(TypedDict):
    """A token in a picture.

    Attributes:
        label: Text in the picture.
        name: Name in descriptions: the label, with the token's position if the label occurs several times.
        title: Tooltip.
        special: True if the tokenizer added the token ([CLS], [SEP]).
        number: Position of the first token, from 1.
    """

    label: str
    name: str
    title: str
    special: bool
    number: NotRequired[int]


def shown_tokens(groups: Sequence[DisplayToken]) -> list[ShownToken]:
    """Return the tokens of a picture's rows or columns, in order."""
    return [
        {"label": g.label, "name": name, "title": g.title, "special": g.special, "number": g.number}
        for g, name in zip(groups, names_of(groups), strict=True)
    ]
