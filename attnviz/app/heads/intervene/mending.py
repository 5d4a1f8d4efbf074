"""Changes from a link or for another model, mended: what is none goes, a named token stays the same word."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import streamlit as st

from attnviz.analysis.display_tokens import DisplayToken
from attnviz.analysis.sentence import name_of
from attnviz.app import controls
from attnviz.app.heads import choosing
from attnviz.app.state import link, memory
from attnviz.app.state.choices import EDITS
from attnviz.capture.model import ModelInput
from attnviz.errors import InvalidEdit
from attnviz.interventions.edit import Edit
from attnviz.models.catalogue import Entry
from attnviz.trace import Kind

MOST_EDITS = 200
REPLACED = "a later change replaces it"
SILENT = "what it changes is silent already"

_NOTICE = "what became of the changes"
_NAMED_IN = "the tokens that the changes name"

Sides = tuple[Sequence[DisplayToken], Sequence[DisplayToken]]
"""The tokens that look, and those that are looked at."""


def drop_what_is_no_edit() -> None:
    """Take out of the changes what is none in any model; `notice` says so.

    It comes before everything else on the page: so that what is dropped counts as never asked for.
    """
    written = list(EDITS.get([])) if EDITS.stands else link.in_address(EDITS)
    problems = {one: problem for one in written[:MOST_EDITS] if (problem := _problem(one))}
    if not problems:
        return
    kept = [one for one in written if one not in problems]
    if EDITS.stands:
        EDITS.set(kept)
    else:
        link.write(EDITS, kept)
    _say(kept, problems.values())


def drop_the_links(made: Sequence[str]) -> None:
    """Run again where the box took from the link what is no edit: now it can be taken out."""
    if any(map(_problem, made[:MOST_EDITS])):
        st.rerun()


def follow_words(entry: Entry, given: ModelInput) -> None:
    """Where another model reads the same text, let the changes name the same words among its tokens.

    A change whose word is no token of this model stays as it is; `notice` says which token it names now.
    """
    now: dict[Kind, Sides] = {kind: choosing.groups(entry, given, kind) for kind in entry.kinds}
    text, known = memory.get(_NAMED_IN, (None, {}))
    before: Mapping[Kind, Sides] = known if text == given else {}
    memory.put(_NAMED_IN, (given, {**before, **now}))
    written = list(EDITS.get([]))
    found = [followed_word(one, before, now) for one in written[:MOST_EDITS]]
    followed = [one for one, _ in found] + written[MOST_EDITS:]
    if followed != written:
        EDITS.set(followed)
    if problems := [problem for _, problem in found if problem]:
        _say(followed, problems)


def followed_word(written: str, before: Mapping[Kind, Sides], now: Mapping[Kind, Sides]) -> tuple[str, str]:
    """A change among this model's tokens, and what is to be said of it, or "".

    `before` and `now` are the tokens that its numbers meant, and those that they are to mean.
    """
    try:
        edit = Edit.parse(written.strip())
    except InvalidEdit:
        return written, ""
    if edit.kind not in before or edit.kind not in now or before[edit.kind] == now[edit.kind]:
        return written, ""
    places = [edit.query, edit.source, edit.target]
    for end, side in enumerate((0, 1, 1)):
        number = places[end]
        old, new = before[edit.kind][side], now[edit.kind][side]
        if number is None or number >= len(old):
            continue
        place = controls.same_word(new, old[number])
        if place is None:
            is_now = f"it names “{name_of(number, new)}”" if number < len(new) else "it has no such token"
            return written, f"“{edit}” named “{name_of(number, old)}”, which is no token here; {is_now} now."
        places[end] = place
    try:
        return str(replace(edit, query=places[0], source=places[1], target=places[2])), ""
    except InvalidEdit as error:  # here the decoder reads those words in another order
        return written, str(error)


def notice(edits: Sequence[str]) -> list[str]:
    """What was done to the changes, as plain sentences; nothing as soon as they are others."""
    at_first, sentences = memory.get(_NOTICE, (None, []))
    return list(sentences) if at_first == list(edits) else []


def _problem(written: str) -> str:
    """Why this is no edit; "" where it is one, or nothing at all."""
    try:
        Edit.parse(written.strip())
    except InvalidEdit as error:
        return str(error) if written.strip() else ""
    return ""


def _say(edits: Sequence[str], sentences: Iterable[str]) -> None:
    memory.put(_NOTICE, (list(edits), list(sentences)))


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
