"""Every word in every head twice: how much it looks at one word, and what silencing it does to the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attnviz.app.components.component import widget
from attnviz.trace import Floats


@widget
def effects(
    name: str,
    /,
    *,
    words: Sequence[str],
    heads: Sequence[str],
    looks: Floats,
    changes: Floats,
    whole: Floats,
    looks_title: str,
    changes_title: str,
    head: int | None,
    word: int,
    on_pick: Callable[[int, int], None],
) -> None:
    """Draws two tables of the same words and heads; pointing at a cell of one marks its twin in the other.

    Args:
        words: the rows.
        heads: the columns: "1-1", "1-2" …
        looks: the weights, 0 to 1, [word, head].
        changes: by how much a probability changes if that word's row is silenced, −1 to 1, [word, head].
        whole: the same if the whole head is silenced, [head].
        looks_title, changes_title: what the tables are called.
        head, word: the cell to mark, from 0; head None: it is not in the tables.
        on_pick: called with the head and the word, from 0, of a cell that was clicked.
    """
