"""What is compared: two sentences that one model reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.app import controls
from attnviz.app.examples import EXAMPLES, NEUTRAL, TRANSLATED, Example, example_of, examples_of
from attnviz.app.explore import attention
from attnviz.app.heads import choosing
from attnviz.app.heads.compare.compared import Aligned, Comparison
from attnviz.app.page import bar
from attnviz.app.state import link
from attnviz.app.state.choice import option
from attnviz.app.state.choices import (
    HIDE,
    OTHER,
    QUERY,
    ROWS,
    TEXT,
)
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.errors import AttnvizError

_EDIT = ":material/edit:"
EVERY_WORD, ONE_WORD = "mean over all words", "the chosen word alone"


def choose() -> tuple[Comparison | None, list[DeltaGenerator]]:
    """Draw what is compared.

    Returns:
        It, or None while something is missing, after a message; and two places for the choice of attention.

    Raises:
        AttnvizError: for example, the model cannot read one of the texts.
    """
    with bar():
        texts = st.container()
        ways, *places = st.columns([6, 4, 3], vertical_alignment="center")
    with ways, st.container(horizontal=True, vertical_alignment="center"):
        beside = st.container(width="content"), st.container(width="content")
    return _two_sentences(texts, *beside), places


def how(compared: Comparison) -> tuple[Comparison, bool]:
    """Draw what counts; return what is compared, and whether the chosen word alone counts."""
    with st.container(horizontal=True, vertical_alignment="center"):
        over = ROWS.segments("Total variation", (EVERY_WORD, ONE_WORD))
        hide = HIDE.toggle(
            "Hide special tokens",
            help="Excludes the tokens that the tokenizer added and rescales what is left of each row to "
            "100 %.",
        )
    return replace(compared, hide=hide), over == ONE_WORD


def _two_sentences(place: DeltaGenerator, swap: DeltaGenerator, pills: DeltaGenerator) -> Comparison | None:
    first, second, beside = place.columns([5, 5, 3])
    with beside:
        entry = controls.reading_model(offer_own=False)
    offered = [example for example in examples_of(entry, together=False) if example.other]
    _begin_with_an_example(offered)
    with second:
        other = OTHER.draw(
            "Second sentence", placeholder=controls.ONE_CHANGED, on_change=controls.edited, args=(OTHER,)
        )
    current = example_of(entry, link.current(TEXT), link.current(OTHER))
    with swap:
        st.button("Swap the two", on_click=_swap, icon=":material/swap_horiz:", type="tertiary")
    with pills:
        _examples(offered, current)
    with first:
        text = choosing.sentence(entry, "First sentence", alone=False)
    if _partner(offered):
        # The way back in the browser empties a box without a parameter in the address.
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
        _wait("Nothing changes: the two are the same. Change a word in one of them.")
        return None
    return Comparison(entry, kind, ModelInput(text), ModelInput(other))


def _wait(missing: str) -> None:
    """Show what is missing before anything can be compared."""
    st.info(missing, icon=_EDIT)
    link.postpone()


def _begin_with_an_example(offered: Sequence[Example]) -> None:
    """Fill boxes that neither the visitor nor a link has set with an example."""
    if not any(box.is_set or link.named(box) for box in (TEXT, OTHER)):
        TEXT.set(offered[0].text)
    if partner := _partner(offered):
        OTHER.set(partner)


def _partner(offered: Sequence[Example]) -> str:
    """The second sentence of the first one's example, if none was set; else ""."""
    if not controls.left_empty(OTHER):
        return ""
    pairs = {example.text: example.other for example in offered if example.other}
    return ({second: first for first, second in pairs.items()} | pairs).get(link.current(TEXT), "")


def _examples(offered: Sequence[Example], current: Example | None) -> None:
    """Draw the examples as buttons, and the question of the open one."""
    names = {example.name: example for example in offered}
    with st.popover("Examples", icon=":material/lightbulb:", type="tertiary"):
        controls.buttons("Examples", names, "example", _open, current.name if current else None)
        if current and current.other:
            st.markdown(remark_on(current))


def _swap() -> None:
    before = TEXT.get("")
    TEXT.set(OTHER.get(""))
    OTHER.set(before)


def _open(example: Example) -> None:
    TEXT.set(example.text)
    OTHER.set(example.other)
    controls.edited(OTHER)


def choose_word(compared: Comparison, grid: Aligned) -> int:
    """Draw the choice; return which of the shared rows it is. A word that occurs twice has two entries."""
    groups = grid.shared_queries
    options = [option(group) for group in groups]
    example = example_of(compared.model, compared.first.text, compared.second.text)
    wanted = example.query if example else "it"
    labels = [group.label.split(" → ")[0].strip() for group in groups]
    words = [at for at, group in enumerate(groups) if not group.special and labels[at].isalnum()]
    begin = labels.index(wanted) if wanted in labels else words[-1] if words else 0
    of = (compared.model.name, compared.kind, compared.first, compared.second)
    return options.index(QUERY.draw("From (query)", options, options[begin], of))


_REMARKS = {
    EXAMPLES[
        0
    ]: "The last word decides what *it* refers to. Follow *it* in head 4-2: does its attention change?",
    NEUTRAL[0]: "The last word decides what *it* refers to. In which head does its attention change?",
    TRANSLATED[3]: "*noir* follows its noun, *petit* does not: choose *cross* and see where they look.",
}


def remark_on(example: Example) -> str:
    """The example's remark, in Markdown; Explore's own words, unless they speak of what this page has not."""
    return _REMARKS.get(example, example.remark)
