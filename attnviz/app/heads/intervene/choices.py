"""Controls for the edits: heads to ablate, and rows to redirect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.app import controls, markdown, traces
from attnviz.app.explore import attention
from attnviz.app.heads import choosing
from attnviz.app.state import memory
from attnviz.app.state.choices import EDITS, POINTS_AT
from attnviz.app.state.link import contains as in_link
from attnviz.capture.model import ModelInput
from attnviz.errors import InvalidEdit
from attnviz.interventions.edit import Edit, by_place, validate_edits
from attnviz.models.catalogue import Entry
from attnviz.models.families import ABLATION_ONLY
from attnviz.text import head_name

MAX_EDITS = 200
_MAX_LISTED = 8

_FIRST = "the initial edit of Intervene, and its model"
_HELP = (
    "You can also type changes. “encoder 4-2” ablates a head; “encoder 4-2 10” ablates only the row of token "
    "10. “encoder 4-2 10 >8” moves all weight of this row to token 8; “encoder 4-2 >8” does so in every row. "
    "“encoder 4-2 10 3>8” moves only the weight on token 3."
)


@dataclass(frozen=True)
class Intervention(choosing.QueryInHead):
    """The selected head, and the edits."""

    edits: tuple[Edit, ...]

    @property
    def edit_texts(self) -> tuple[str, ...]:
        """The edits in the notation of links, used as a cache key."""
        return tuple(str(edit) for edit in self.edits)


def choose() -> tuple[Intervention, DeltaGenerator, DeltaGenerator]:
    """Draw the controls for a sentence, a model, a head and a token in one row, and for the edits below it.

    Returns:
        The selection and its edits, the container for the picture, and the container for the effect.

    Raises:
        AttnvizError: the model cannot read the sentence, or is no longer available.
    """
    text, entry, (numbers, word) = choosing.sentence_and_model(4, 3)
    given = ModelInput(text)
    traces.need_vectors(entry, given)
    buttons, changes = st.columns([7, 5], gap="large", vertical_alignment="center")
    figure, effect_place = st.columns([7, 5], gap="large")
    with buttons, st.container(horizontal=True, vertical_alignment="center"):
        kind = attention.choose(entry)
        place = st.container(horizontal=True, vertical_alignment="center")
    queries, keys = choosing.groups(entry, given, kind)
    with numbers:
        layer, head = choosing.head(entry, kind)
    _ablate_first(entry, Edit(kind, layer, head))
    edits = _edits(entry, given, changes, effect_place)  # first, because the buttons show existing edits
    with word:
        query = controls.token(queries, given, "Token")
    chosen = Intervention(entry, kind, layer, head, given, queries, keys, query, edits)
    with place:
        _button(f"Ablate head {chosen.name}", Edit(kind, layer, head), ":material/volume_off:", primary=True)
        with st.popover("Other changes", icon=":material/tune:"):
            row = Edit(kind, layer, head, query)
            _button(f"Ablate only the row of {chosen.token}", row, ":material/voice_over_off:")
            _redirect(chosen)
            st.markdown(f":small[{_HELP}]")
    return chosen, figure, effect_place


def _ablate_first(entry: Entry, edit: Edit) -> None:
    """Ablate the shown head when the page opens, or when the model changes and no other edit was made."""
    model, first = memory.get(_FIRST, ("", ""))
    opened = not EDITS.is_set and not in_link(EDITS)
    if opened or (entry.name != model and EDITS.get([]) == [first]):
        EDITS.set([str(edit)])
        memory.put(_FIRST, (entry.name, str(edit)))


def _redirect(chosen: Intervention) -> None:
    """Draw a menu of key tokens, and the button that redirects the row to the selected token.

    The default is the token with the second-largest weight; special tokens rank last.
    """
    if chosen.entry.family in ABLATION_ONLY:
        st.markdown(
            ":small[The heads of this model can be ablated, but their attention cannot be redirected.]"
        )
        return
    targets = np.flatnonzero(chosen.block.mask[chosen.query]).tolist()
    row = chosen.block.weights[chosen.head, chosen.query]
    ranked = sorted(targets, key=lambda target: (chosen.keys[target].special, -row[target]))
    default = targets.index(ranked[min(1, len(targets) - 1)])
    keys, context = [chosen.keys[target] for target in targets], (chosen.given, chosen.kind)
    target = targets[controls.token(keys, context, "Redirect the row to", POINTS_AT, default)]
    label = f"Let {chosen.token} attend only to {markdown.token(target, chosen.keys)}"
    edit = Edit(chosen.kind, chosen.layer, chosen.head, chosen.query, target=target)
    _button(label, edit, ":material/my_location:")


def toggle(edit: Edit) -> None:
    """Add an edit, or remove it if it is already in the list."""
    edits, written = list(EDITS.get([])), str(edit)
    EDITS.set([each for each in edits if each != written] if written in edits else [*edits, written])


def _button(label: str, edit: Edit, icon: str, *, primary: bool = False) -> None:
    """Draw a button that applies an edit, or undoes it if it is already applied."""
    is_applied = str(edit) in EDITS.get([])
    st.button(
        f"Undo “{label}”" if is_applied else label,
        key=f"make {edit}",
        type="primary" if primary and not is_applied else "secondary",
        icon=":material/undo:" if is_applied else icon,
        on_click=toggle,
        args=(edit,),
    )


def _edits(
    entry: Entry, given: ModelInput, place: DeltaGenerator, effect_place: DeltaGenerator
) -> tuple[Edit, ...]:
    """Draw the control for the edits, and describe the edits; return the valid edits."""
    ablations = [
        str(Edit(kind, layer, head))
        for kind in entry.kinds
        for layer in entry.numbers_of(kind)
        for head in range(entry.heads)
    ]
    with place:
        texts = EDITS.draw(
            "Changes",
            ablations,
            accept_new_options=True,
            placeholder="No changes",
            label_visibility="collapsed",
        )
    with effect_place:
        return _valid_edits(texts, entry, given)


def _valid_edits(texts: Sequence[str], entry: Entry, given: ModelInput) -> tuple[Edit, ...]:
    """Describe the edits; return the valid edits."""
    found: dict[Edit, None] = {}
    problems: dict[str, None] = {}
    for written in texts[:MAX_EDITS]:
        try:
            found[_parsed(written, entry, given)] = None
        except InvalidEdit as error:
            problems[markdown.plain(str(error))] = None
    if len(texts) > MAX_EDITS:
        problems[f"There are {len(texts):,} changes; only the first {MAX_EDITS} are applied."] = None
    edits = tuple(found)
    if edits:
        parts = [_in_words(edit, entry, given) for edit in edits[:_MAX_LISTED]]
        more = f"; and {len(edits) - _MAX_LISTED} more" if len(edits) > _MAX_LISTED else ""
        ablated = "output is" if edits[0].query is None else "weights are"
        zero = f": its {ablated} set to zero" if len(edits) == 1 and edits[0].target is None else more
        text = f"{'; then, '.join(parts)}{zero}."
        st.markdown(text[0].upper() + text[1:])
    if problems:
        listed = "  \n".join([*problems][:_MAX_LISTED])
        st.warning(f"Some changes are invalid and were not applied.  \n{listed}", icon=":material/link_off:")
        st.button(
            "Remove invalid changes",
            on_click=EDITS.set,
            args=([str(edit) for edit in edits],),
            icon=":material/mop:",
        )
    return edits


def _in_words(edit: Edit, entry: Entry, given: ModelInput) -> str:
    """Describe the effect of an edit, in Markdown."""
    queries, keys = choosing.groups(entry, given, edit.kind)
    part = f"{edit.kind} " if len(entry.kinds) > 1 else ""
    head = f"{part}head {head_name(edit.layer, edit.head)}"
    tokens = "every token" if edit.query is None else markdown.token(edit.query, queries)
    if edit.target is None and edit.query is None:
        return f"{head} is ablated"
    if edit.target is None:
        return f"in {head}, the row of {tokens} is ablated"
    target = markdown.token(edit.target, keys)
    if edit.source is None:
        return f"in {head}, {tokens} attends only to {target}"
    return f"in {head}, the weight of {tokens} on {markdown.token(edit.source, keys)} moves to {target}"


def _parsed(written: str, entry: Entry, given: ModelInput) -> Edit:
    """Parse an edit and check that it applies to this sentence.

    Raises:
        InvalidEdit: the text is not an edit, a head or token does not exist, or the target is masked.
    """
    edit = Edit.parse(written)
    by_place(
        [[edit]],
        {(kind, layer): entry.heads for kind in entry.kinds for layer in entry.numbers_of(kind)},
    )
    mask = traces.trace(entry, given).block(edit.kind, edit.layer).mask
    queries, keys = mask.shape
    validate_edits([edit], keys, queries)
    if edit.target is not None:
        rows = mask if edit.query is None else mask[edit.query]
        if not rows[..., edit.target].all():
            raise InvalidEdit(f"“{edit}” moves weight to a masked key. Choose another key.")
    return edit
