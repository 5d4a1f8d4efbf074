"""Controls for two sentences to compare in one model."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.analysis.aligned import Grid
from attnviz.app import controls
from attnviz.app.examples import Example, example_of, examples_of
from attnviz.app.explore import attention
from attnviz.app.heads import choosing
from attnviz.app.heads.compare.compared import Comparison
from attnviz.app.page import bar
from attnviz.app.state import link
from attnviz.app.state.choice import option
from attnviz.app.state.choices import OTHER, QUERY, ROWS, TEXT
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.errors import AttnvizError
from attnviz.models.catalogue import Entry

_EDIT = ":material/edit:"
EVERY_WORD, ONE_WORD = "mean over all words", "the chosen word alone"


def choose() -> tuple[Comparison | None, list[DeltaGenerator]]:
    """Draw the controls for the model and the sentences.

    Returns:
        The comparison, or None (after a message) if it is incomplete; and columns for the head and the word.

    Raises:
        AttnvizError: for example, the model cannot read one of the texts.
    """
    with bar():
        texts = st.container()
        buttons, *places = st.columns([6, 4, 3], vertical_alignment="center")
    with buttons, st.container(horizontal=True, vertical_alignment="center"):
        beside = st.container(width="content"), st.container(width="content")
    return _two_sentences(texts, *beside), places


def choose_one_word() -> bool:
    """Draw the control for the compared words; return True for the chosen word alone."""
    return ROWS.segments("Total variation", (EVERY_WORD, ONE_WORD)) == ONE_WORD


def _two_sentences(place: DeltaGenerator, swap: DeltaGenerator, pills: DeltaGenerator) -> Comparison | None:
    first, second, beside = place.columns([5, 5, 3])
    with beside:
        entry = controls.reading_model(offer_own=False)
    offered = [example for example in examples_of(entry, together=False) if example.other]
    _fill_with_example(entry, offered)
    with second:
        other = OTHER.draw(
            "Second sentence",
            placeholder=controls.ONE_CHANGED,
            on_change=controls.remember_emptied,
            args=(OTHER,),
        )
    current = example_of(entry, link.current(TEXT), link.current(OTHER))
    with swap:
        st.button("Swap sentences", on_click=_swap, icon=":material/swap_horiz:", type="tertiary")
    with pills:
        _examples(offered, current)
    with first:
        text = choosing.sentence(entry, "First sentence", alone=False)
    if _partner(entry):
        # Back cleared a text box that has no URL parameter; a rerun fills it with the example again.
        st.rerun()
    if not other.strip():
        _wait("Type a second sentence to compare with the first, or choose an example.")
        return None
    try:
        loading.tokens(entry.name, other)
    except AttnvizError as error:
        raise AttnvizError(f"The second sentence: {error}") from error
    kind = attention.choose(entry)
    if other == text:
        _wait("The two sentences are the same. Change a word in one of them.")
        return None
    return Comparison(entry, kind, ModelInput(text), ModelInput(other))


def _wait(missing: str) -> None:
    """Show a message about the missing input."""
    st.info(missing, icon=_EDIT)
    link.postpone()


def _fill_with_example(entry: Entry, offered: Sequence[Example]) -> None:
    """Fill the boxes with an example if neither the visitor nor a link has set them."""
    if not any(box.is_set or link.contains(box) for box in (TEXT, OTHER)):
        TEXT.set(offered[0].text)
    if partner := _partner(entry):
        OTHER.set(partner)


def _partner(entry: Entry) -> str:
    """Return the second sentence of the example with this first one; "" if none, or if its box is set."""
    return choosing.partner(entry, link.current(TEXT)) if controls.is_unset(OTHER) else ""


def _examples(offered: Sequence[Example], current: Example | None) -> None:
    """Draw the examples as buttons."""
    names = {example.name: example for example in offered}
    with st.popover("Examples", icon=":material/lightbulb:", type="tertiary"):
        controls.buttons("Examples", names, "example", _open, current.name if current else None)


def _swap() -> None:
    before = TEXT.get("")
    TEXT.set(OTHER.get(""))
    OTHER.set(before)


def _open(example: Example) -> None:
    TEXT.set(example.text)
    OTHER.set(example.other)
    controls.remember_emptied(OTHER)


def choose_word(compared: Comparison, grid: Grid) -> int:
    """Draw the select box with every occurrence of each word; return the index in the shared rows."""
    groups = grid.shared_queries
    options = [option(group) for group in groups]
    example = example_of(compared.model, compared.first.text, compared.second.text)
    initial = example.query if example else "it"
    labels = [group.label.split(" → ")[0].strip() for group in groups]
    words = [at for at, group in enumerate(groups) if not group.special and labels[at].isalnum()]
    default = labels.index(initial) if initial in labels else words[-1] if words else 0
    scope = (compared.model.name, compared.kind, compared.first, compared.second)
    return options.index(QUERY.draw("From (query)", options, options[default], scope))
