"""What is compared: two sentences that one model reads, or two models that read one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.app import controls, markdown
from attnviz.app.examples import EXAMPLES, NEUTRAL, TRANSLATED, Example, example_of, examples_of
from attnviz.app.explore import attention
from attnviz.app.heads import choosing
from attnviz.app.heads.compare.compared import Aligned, ComparedSide, Comparison
from attnviz.app.models import lookup
from attnviz.app.page import bar
from attnviz.app.state import link, memory
from attnviz.app.state.choice import Choice, option
from attnviz.app.state.choices import (
    AGAINST,
    COMPARED,
    HIDE,
    MODEL,
    OTHER,
    QUERY,
    ROWS,
    TEXT,
)
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.errors import AttnvizError, UnknownWords
from attnviz.models import allowed
from attnviz.models.catalogue import Entry
from attnviz.trace import Kind

SENTENCES, MODELS = "Two sentences", "Two models"

_EDIT = ":material/edit:"
_BEGAN = "the second model that this page began with"
_NAMED = 4  # unknown words, in a message that is to stay short
_SAME_WEIGHTS = (
    "Both are the same network with the same weights, run by two programs: only rounding may differ. Compare "
    "with another network on the example “{}”, or with a model of your own."
)

EVERY_WORD, ONE_WORD = "mean over all words", "the chosen word alone"


def choose() -> tuple[Comparison | None, list[DeltaGenerator]]:
    """Draw what is compared.

    Returns:
        It, or None while something is missing, after a message; and two places for the choice of attention.

    Raises:
        AttnvizError: for example, a model cannot read one of the texts.
    """
    with bar():
        texts = st.container()
        ways, *places = st.columns([6, 4, 3], vertical_alignment="center")
    with ways, st.container(horizontal=True, vertical_alignment="center"):
        what = COMPARED.segments("Compare", (SENTENCES, MODELS))
        beside = st.container(width="content"), st.container(width="content")
    compare = _two_sentences if what == SENTENCES else _two_models
    return compare(texts, *beside), places


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
    AGAINST.forget()  # it stays until its menu was not drawn for a whole run
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
        _offer_swap(TEXT, OTHER)
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
    _check(entry, other, "The second sentence")
    kind = attention.choose(entry)
    if other == text:
        _wait("Nothing changes: the two are the same. Change a word in one of them.")
        return None
    return Comparison(_read(entry, text, kind), _read(entry, other, kind))


def _two_models(place: DeltaGenerator, swap: DeltaGenerator, pills: DeltaGenerator) -> Comparison | None:
    sentence, first, second = place.columns([6, 3, 4])
    with first:
        entry = controls.reading_model(offer_own=False)
    with second:
        against = _against(entry, link.current(TEXT))
    offered = examples_of(entry, together=False)
    if against:
        with swap:
            _offer_swap(MODEL, AGAINST)
        offered = tuple(example for example in offered if _can_read(against, example.text)) or offered
    _begin_with_an_example(offered)
    with pills:
        current = next((example for example in offered if example.text == link.current(TEXT)), None)
        _examples(offered, current)
    with sentence:
        text = choosing.sentence(entry)
    if against is None:
        _wait("This server has one model that reads texts. Compare two sentences.")
        return None
    if against.origin == entry.origin:
        st.info(_SAME_WEIGHTS.format(offered[0].name), icon=":material/drag_handle:")
    elif not _can_read(against, text):
        _offer(against, offered[0])
        return None
    return Comparison(_read(entry, text, entry.kinds[0]), _read(against, text, against.kinds[0]))


def _wait(missing: str) -> None:
    """Show what is missing before anything can be compared."""
    st.info(missing, icon=_EDIT)
    link.postpone()


def _against(entry: Entry, text: str) -> Entry | None:
    """Draw the choice of the second model, any but the first; None where there is no other.

    As long as the visitor has not chosen one, it is one that can read the text.
    """
    others = [other for other in lookup.usable() if other.reads and other.name != entry.name]
    if not others:
        return None
    names = [other.name for other in others]
    another = _best_comparison(entry, others, text)
    shown = link.current(AGAINST)
    if shown not in names or (shown != another and shown == memory.get(_BEGAN)):
        AGAINST.set(another)
    memory.put(_BEGAN, another)
    return lookup.on_this_machine(others[names.index(AGAINST.select("Second model", names, another))])


def _best_comparison(entry: Entry, others: Sequence[Entry], text: str) -> str:
    """The model to begin with, of those that read the text: an opened one, or at least another network."""
    opened = allowed.opened()

    def best_first(other: Entry) -> tuple[bool, bool, bool]:
        # Two implementations of one network do not differ.
        return other.name not in opened, other.origin == entry.origin, other.family == entry.family

    ranked = sorted(others, key=best_first)
    return next((other.name for other in ranked if not text or _can_read(other, text)), ranked[0].name)


def _offer(against: Entry, example: Example) -> None:
    """Explain that the second model cannot read the sentence, and offer an example that both can."""
    link.forget()
    try:
        loading.tokens(against.name, link.current(TEXT))
    except UnknownWords as error:
        words = [markdown.code(word) for word in error.words]
        more = f" and {len(words) - _NAMED} more" if len(words) > _NAMED else ""
        why = f"it has never seen {', '.join(words[:_NAMED])}{more}"
    except AttnvizError as error:
        why = markdown.plain(str(error))
    st.error(
        f"The second model, {markdown.code(against.name)}, cannot read this sentence: {why}. Choose another "
        "second model, or a sentence that both can read.",
        icon=_EDIT,
    )
    if _can_read(against, example.text):
        st.button(f"“{example.name}”", on_click=_open, args=(example,), icon=":material/lightbulb:")


def _read(entry: Entry, text: str, kind: Kind) -> ComparedSide:
    return ComparedSide(entry, ModelInput(text), kind)


def _check(entry: Entry, text: str, what: str) -> None:
    """Raises AttnvizError, with a word about which of the two it is, where the model cannot read the text."""
    try:
        loading.tokens(entry.name, text)
    except AttnvizError as error:
        raise AttnvizError(f"{what}: {error}") from error


def _can_read(entry: Entry, text: str) -> bool:
    try:
        loading.tokens(entry.name, text)
    except AttnvizError:
        return False
    return True


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


def _offer_swap(one: Choice[Any], other: Choice[Any]) -> None:
    """Draw the button that exchanges the two sides."""
    st.button(
        "Swap the two", on_click=_swap, args=(one, other), icon=":material/swap_horiz:", type="tertiary"
    )


def _swap(one: Choice[Any], other: Choice[Any]) -> None:
    before = one.get(None)
    one.set(other.get(None))
    other.set(before)


def _open(example: Example) -> None:
    TEXT.set(example.text)
    OTHER.set(example.other)
    controls.edited(OTHER)


def choose_word(compared: Comparison, grid: Aligned) -> int:
    """Draw the choice; return which of the shared rows it is. A word that occurs twice has two entries."""
    groups = grid.shared_queries
    options = [option(group) for group in groups]
    first, second = compared.first, compared.second
    example = example_of(first.model, first.given.text, second.given.text)
    wanted = example.query if example else "it"
    labels = [group.label.split(" → ")[0].strip() for group in groups]
    words = [at for at, group in enumerate(groups) if not group.special and labels[at].isalnum()]
    begin = labels.index(wanted) if wanted in labels else words[-1] if words else 0
    of = (first.model.name, first.given, first.kind, second.model.name, second.given)
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
