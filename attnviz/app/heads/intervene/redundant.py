"""Edits that other edits undo: they are listed as having no effect."""

from __future__ import annotations

from collections.abc import Sequence

from attnviz.interventions.edit import Edit

REPLACED = "a later change replaces it"
SILENT = "what it changes is silent already"


def replaces(later: Edit, earlier: Edit) -> bool:
    """Whether a change undoes all that an earlier one did.

    A head that is silenced, or pointed at a token, keeps nothing of what was done to any of its rows; a row
    that is, nothing of what was done to that row. A change that moves a weight goes on from what it finds.
    """
    same_head = (later.kind, later.layer, later.head) == (earlier.kind, earlier.layer, earlier.head)
    return same_head and later.source is None and later.query in (None, earlier.query)


def without_effect(edits: Sequence[Edit]) -> dict[Edit, str]:
    """Which of these changes, all different and made in this order, do nothing, and why.

    All weights are the same without them.
    """
    found: dict[Edit, str] = {}
    for at, edit in enumerate(edits):
        finds = [earlier for earlier in edits[:at] if replaces(earlier, edit)]
        if any(replaces(later, edit) for later in edits[at + 1 :]):
            found[edit] = REPLACED
        elif finds and finds[-1].target is None and (edit.target is None or edit.source is not None):
            found[edit] = SILENT
    return found


def exceptions(edit: Edit, edits: Sequence[Edit]) -> tuple[int, ...]:
    """The rows, from 0, in which later changes undo that of a whole head."""
    if edit.query is not None:
        return ()
    later = edits[edits.index(edit) + 1 :]
    rows = (other.query for other in later if other.query is not None and replaces(edit, other))
    return tuple(dict.fromkeys(rows))
