"""One word's arrow to the word it attends to, to be dragged elsewhere, and the translation that follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypedDict

from attnviz.app.components.component import widget
from attnviz.trace import Floats

Change = Literal["none", "move", "row", "head"]


class Piece(TypedDict):
    """A word of a translation, with the space after it, and whether the other translation differs there."""

    text: str
    differs: bool


class Choice(TypedDict):
    """A word that could come next, and how probable it is as the model learned it, and now."""

    word: str
    before: float
    now: float


class Interference(TypedDict):
    """What is changed in the row.

    Attributes:
        change: nothing; a weight moved; the row ablated; the whole head ablated.
        source, target: from which word to which one, from 0; None unless a weight is moved.
    """

    change: Change
    source: int | None
    target: int | None


NOTHING: Interference = {"change": "none", "source": None, "target": None}


@widget
def arrow(
    name: str,
    /,
    *,
    title: str,
    words: Sequence[str],
    query: int | None,
    reader: str,
    open_to: Sequence[bool],
    before: Floats,
    now: Floats,
    interference: Interference,
    translation: Sequence[Piece],
    translation_before: Sequence[Piece],
    choices: Sequence[Choice],
    choice_label: str,
    others: int,
    about: str,
    on_change: Callable[[Interference], None],
    on_undo: Callable[[], None],
) -> None:
    """Draws a row of weights as arrows with heads to drag; the translation and two bars below.

    Args:
        title: the name of the row, for a screen reader.
        words: the keys, in order.
        query: the query token among them, from 0; None: a word of the other text, drawn after them.
        reader: the name of the query token.
        open_to: the words it may attend to.
        before, now: the row's weights, [key], as the model learned them, and as they are used now.
        translation, translation_before: what the model writes now, and wrote unchanged.
        choices: the words between which it chooses, at the place that `choice_label` names; may be empty.
        others: how much is changed in other rows.
        about: the title of the saved picture; "" for the page's sentence and model.
        on_change: called with what the visitor changed in this row.
        on_undo: called if all changes are to be undone, in all rows.
    """
