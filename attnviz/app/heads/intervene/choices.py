"""The edits: heads to ablate, rows to redirect, and the token at which the effect is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.app import controls, markdown, traces
from attnviz.app.explore import attention
from attnviz.app.heads import choosing
from attnviz.app.state.choices import EDITS, POINTS_AT
from attnviz.capture.model import ModelInput
from attnviz.errors import InvalidEdit
from attnviz.interventions.edit import Edit, by_place, validate_edits
from attnviz.models.catalogue import Entry
from attnviz.models.families import ONLY_ABLATED
from attnviz.text import head_name
from attnviz.trace import Kind

MAX_EDITS = 200
_MAX_LISTED = 8
_NOUNS = ("dog", "road")

_HELP = (
    "Edits as text: “encoder 4-2” ablates a head, “encoder 4-2 10” its row of token 10; “encoder 4-2 10 >8” "
    "gives all weight of that row to token 8, “encoder 4-2 >8” that of all rows; “encoder 4-2 10 3>8” moves "
    "the row’s weight on token 3 to token 8, and “3<>8” exchanges the two."
)


@dataclass(frozen=True)
class Intervention(choosing.QueryInHead):
    """The head, and the edits."""

    edits: tuple[Edit, ...]

    @property
    def written(self) -> tuple[str, ...]:
        """The edits as a link holds them: a key of the caches."""
        return tuple(str(edit) for edit in self.edits)


def choose() -> tuple[Intervention, DeltaGenerator, DeltaGenerator]:
    """Draw the choice of a sentence, a model, a head and a token in one line, and below it that of changes.

    Returns:
        What is chosen, the place of the picture, and that of the words beside it.

    Raises:
        AttnvizError: the model cannot read the sentence, or cannot be used any more.
    """
    text, entry, (numbers, word) = choosing.sentence_and_model(4, 3)
    given = ModelInput(text)
    traces.need_vectors(entry, given)
    buttons, made = st.columns([7, 5], gap="large", vertical_alignment="center")
    figure, beside = st.columns([7, 5], gap="large")
    with buttons, st.container(horizontal=True, vertical_alignment="center"):
        kind = attention.choose(entry)
        place = st.container(horizontal=True, vertical_alignment="center")
    edits = _edits(entry, given, made, beside)  # first: the buttons show what is changed already
    queries, keys = choosing.groups(entry, given, kind)
    with numbers:
        layer, head = choosing.head(entry, kind)
    with word:
        query = controls.token(queries, given, "Token")
    chosen = Intervention(entry, kind, layer, head, given, queries, keys, query, edits)
    with place:
        # One button or two: what follows keeps its place.
        with st.container(horizontal=True, width="content"):
            _silence(chosen)
        with st.popover("Other changes", icon=":material/tune:"):
            row = Edit(chosen.kind, chosen.layer, chosen.head, chosen.query)
            _button(f"Ablate its row of {chosen.token}", row, ":material/voice_over_off:")
            _point(chosen)
            st.markdown(f":small[{_HELP}]")
    return chosen, figure, beside


def _silence(chosen: Intervention) -> None:
    """Draw the button that ablates the open head; beside other changes, one in their place and one more."""
    silent = Edit(chosen.kind, chosen.layer, chosen.head)
    name, made = f"head {chosen.name}", EDITS.get([])
    if not made or str(silent) in made:
        _button(f"Ablate {name}", silent, ":material/volume_off:", primary=True)
        return
    st.button(
        f"Ablate {name} instead",
        type="primary",
        icon=":material/volume_off:",
        on_click=EDITS.set,
        args=([str(silent)],),
    )
    _button(f"Ablate {name} too", silent, ":material/add:")


def _point(chosen: Intervention) -> None:
    if chosen.entry.family in ONLY_ABLATED:
        st.markdown(
            ":small[The heads of this model can be ablated, but their attention cannot be redirected.]"
        )
        return
    here = chosen.kind, chosen.layer, chosen.head
    aim = _aim(chosen)
    token = markdown.token(aim, chosen.keys)
    only = Edit(*here, chosen.query, target=aim)
    _button(f"Let {chosen.token} attend to {token} alone", only, ":material/my_location:")
    if chosen.block.mask[:, aim].all():
        every = Edit(*here, target=aim)
        _button(f"Let all attend to {token} alone", every, ":material/filter_center_focus:")


def toggle(edit: Edit) -> None:
    """Make this change in place of those that it replaces, or take it back."""
    edits = list(EDITS.get([]))
    if str(edit) in edits:
        edits.remove(str(edit))
    else:
        edits = [*(written for written in edits if not _replaced(written, edit)), str(edit)]
    EDITS.set(edits)


def _replaced(written: str, edit: Edit) -> bool:
    try:
        earlier = Edit.parse(written.strip())
    except InvalidEdit:
        return False  # the error is shown elsewhere on the page
    same_head = (edit.kind, edit.layer, edit.head) == (earlier.kind, earlier.layer, earlier.head)
    return same_head and edit.source is None and edit.query in (None, earlier.query)


def _button(label: str, edit: Edit, icon: str, *, primary: bool = False) -> None:
    """Draw a button that makes a change, or takes it back where it is made already."""
    made = str(edit) in EDITS.get([])
    st.button(
        f"Undo: {label[0].lower()}{label[1:]}" if made else label,
        key=f"make {edit}",
        type="primary" if primary and not made else "secondary",
        icon=":material/undo:" if made else icon,
        on_click=toggle,
        args=(edit,),
    )


def _aim(chosen: Intervention) -> int:
    """Draw the choice of the token to point at, among those that the mask lets be seen; return it, from 0.

    It opens with the other noun of the opening sentence; elsewhere, with the token that gets the second
    largest weight, special ones and the one that looks aside.
    """
    aims = np.flatnonzero(chosen.block.mask[chosen.query]).tolist()
    row = chosen.block.weights[chosen.head, chosen.query]
    itself = chosen.query if chosen.kind != "cross" else None
    falling = sorted(aims, key=lambda aim: (chosen.keys[aim].special or aim == itself, -row[aim]))
    nouns = [aim for aim in falling[1:] if chosen.keys[aim].label in _NOUNS]
    begin = aims.index([*nouns, *falling[1:], *falling][0])
    keys, what = [chosen.keys[aim] for aim in aims], (chosen.given, chosen.kind)
    return aims[controls.token(keys, what, "… or let it attend to", POINTS_AT, begin)]


def _edits(
    entry: Entry, given: ModelInput, place: DeltaGenerator, beside: DeltaGenerator
) -> tuple[Edit, ...]:
    """Draw the changes, and describe them; return the valid ones."""
    every = [f"{kind} {layer}-{head}" for kind, layer, head in _heads(entry)]
    with place:
        made = EDITS.draw(
            "What is changed",
            every,
            accept_new_options=True,
            placeholder="Nothing is changed",
            label_visibility="collapsed",
        )
    with beside:
        return _described(made, entry, given)


def _described(made: Sequence[str], entry: Entry, given: ModelInput) -> tuple[Edit, ...]:
    """Describe the changes; return the valid ones."""
    found: dict[str, Edit] = {}
    problems = []
    for written in made[:MAX_EDITS]:
        try:
            found[written] = _fitting(written.strip(), entry, given)
        except InvalidEdit as error:
            problems.append(str(error))
    if len(made) > MAX_EDITS:
        problems.append(f"There are {len(made):,} changes; the first {MAX_EDITS} are made.")
    edits = tuple(dict.fromkeys(found.values()))
    if edits:
        st.markdown(_sentence([_in_words(edit, entry, given) for edit in edits]))
    if problems:
        parts = list(dict.fromkeys(problems))
        more = [f"And {len(parts) - _MAX_LISTED} more."] if len(parts) > _MAX_LISTED else []
        listed = "  \n".join(markdown.plain(problem) for problem in [*parts[:_MAX_LISTED], *more])
        st.warning(f"Some changes are invalid and were not made.  \n{listed}", icon=":material/link_off:")
    if set(made) - set(found):
        st.button("Remove invalid changes", on_click=EDITS.set, args=(list(found),), icon=":material/mop:")
    return edits


def _sentence(parts: Sequence[str]) -> str:
    """The first of the problems, as one sentence."""
    more = [f"and {len(parts) - _MAX_LISTED} more"] if len(parts) > _MAX_LISTED else []
    joined = "; ".join([*parts[:_MAX_LISTED], *more])
    return f"{joined[0].upper()}{joined[1:]}."


def _in_words(edit: Edit, entry: Entry, given: ModelInput) -> str:
    """What an edit does, in Markdown."""
    queries, keys = choosing.groups(entry, given, edit.kind)
    part = f"{edit.kind} " if len(entry.kinds) > 1 else ""
    head = f"{part}head {head_name(edit.layer, edit.head)}"
    who = "every token" if edit.query is None else markdown.token(edit.query, queries)
    if edit.target is None and edit.query is None:
        return f"{head} is ablated"
    if edit.target is None:
        return f"in {head}, the row of {who} is ablated"
    if edit.source is None:
        return f"in {head}, {who} attends to {markdown.token(edit.target, keys)} alone"
    source, target = (markdown.token(key, keys) for key in (edit.source, edit.target))
    if edit.exchange:
        return f"in {head}, {who} exchanges its weights of {source} and {target}"
    return f"in {head}, the weight of {who} on {source} moves to {target}"


def _heads(entry: Entry) -> Iterator[tuple[Kind, int, int]]:
    """Kind, layer and head of every head, from 1."""
    for kind in entry.kinds:
        for layer in entry.numbers_of(kind):
            for head in range(1, entry.heads + 1):
                yield kind, layer + 1, head


def _fitting(written: str, entry: Entry, given: ModelInput) -> Edit:
    edit = Edit.parse(written)
    by_place(
        [[edit]],
        {(kind, layer): entry.heads for kind in entry.kinds for layer in entry.numbers_of(kind)},
    )
    block = traces.trace(entry, given).block(edit.kind, edit.layer)
    queries, keys = block.mask.shape
    sizes = {"encoder": (keys, keys), "decoder": (queries, queries), "cross": (keys, queries)}
    validate_edits([edit], *sizes[edit.kind])
    if edit.target is not None:
        rows = block.mask if edit.query is None else block.mask[edit.query : edit.query + 1]
        if not rows[:, edit.target].all():
            raise InvalidEdit(f"“{edit}” moves weight to a key that this layer masks.")
    return edit
