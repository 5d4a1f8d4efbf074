"""The rows and columns of a picture, as sent to the browser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from attnviz.analysis.display_tokens import DisplayToken
from attnviz.analysis.sentence import names_of


class ShownToken(TypedDict):
    """A token as the picture shows it.

    Attributes:
        label: what is written.
        name: what sentences call it; with its number where the text has the same label twice.
        title: the tooltip.
        special: whether the tokenizer added it ([CLS], [SEP]).
        number: its place in the text, from 1.
    """

    label: str
    name: str
    title: str
    special: bool
    number: NotRequired[int]


def shown_tokens(groups: Sequence[DisplayToken]) -> list[ShownToken]:
    """The rows or the columns of a picture, in order."""
    return [
        {"label": g.label, "name": name, "title": g.title, "special": g.special, "number": g.number}
        for g, name in zip(groups, names_of(groups), strict=True)
    ]
