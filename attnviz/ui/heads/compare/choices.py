"""What is compared: two sentences that one model reads, or two models that read one sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.capture import loading
from attnviz.capture.catalogue import Entry, Folder
from attnviz.capture.given import Given
from attnviz.errors import AttnvizError
from attnviz.trace import Kind
from attnviz.ui import caches, links
from attnviz.ui.controls import one_of
from attnviz.ui.examples import Example, example_of, examples_of
from attnviz.ui.heads import choosing
from attnviz.ui.heads.compare.compared import MEASURES, Compared, How, Read
from attnviz.ui.models.known import usable

SENTENCES, MODELS = "Two sentences", "Two models"

PARAMETERS = (
    *("compare", "model", "against", "text", "other", "kind"),
    *("layer", "head", "alike", "against_layer", "against_head"),
    *("query", "hide", "rescale", "distance", "rows", "scale"),
)
"""The keys of the page's choices."""

_EDIT = ":material/edit:"

EVERY_WORD, ONE_WORD = "mean over all words", "the chosen word alone"


def choose() -> Compared | None:
    """Draw what is compared; return it, or None while something is missing, after a kind word.

    Raises:
        AttnvizError: a model cannot read one of the texts, say.
    """
    with st.container(horizontal=True, vertical_alignment="center"):
        what = one_of("Compare", (SENTENCES, MODELS), SENTENCES, "compare")
        pills = st.container(width="content")
    return _two_sentences(pills) if what == SENTENCES else _two_models(pills)


def how(compared: Compared) -> tuple[Compared, How]:
    """Draw what is measured, and of which weights; return what is compared, and how."""
    with st.container(horizontal=True, vertical_alignment="center"):
        name = one_of("Measure", list(MEASURES), next(iter(MEASURES)), "distance")
        over = one_of("Over", (EVERY_WORD, ONE_WORD), EVERY_WORD, "rows")
        rescale = st.toggle(
            "Rescale to the shared words",
            key="rescale",
            bind="query-params",
            help="Leaves out what only one side has, and divides each row by what is left of it. A row of "
            "weights sums to 100 %, so a word more takes its weight from all the others: rescaled, you see "
            "how the others stand to each other.",
        )
        hide = st.toggle(
            "Hide special tokens",
            key="hide",
            bind="query-params",
            help="Leaves out the tokens that the tokenizer added and rescales what is left of each row to "
            "100 %. Heads rest on them: without them, what changes elsewhere weighs more.",
        )
    return replace(compared, hide=hide), How(name, over == ONE_WORD, rescale)


def _two_sentences(pills: DeltaGenerator) -> Compared | None:
    first, second, beside = st.columns([5, 5, 2])
    with beside:
        entry = choosing.model()
    offered = [example for example in examples_of(entry.name, together=False) if example.other]
    _begin_with_an_example(offered)
    with second:
        other = st.text_input("Second sentence", key="other", bind="query-params")
    current = example_of(entry.name, _said("text"), _said("other"))
    with pills:
        _examples(offered, current, _swap)
    with first:
        text = choosing.sentence(entry, "First sentence")
    if not other.strip():
        st.info("Type a second sentence to compare with the first, or choose an example.", icon=_EDIT)
        return None
    _check(entry, other, "The second sentence")
    if current:
        st.markdown(f":small[{current.remark}]")
    kind = choosing.kind(entry)
    if other == text:
        st.info("Nothing changes: the two are the same. Change a word in one of them.", icon=_EDIT)
        return None
    return Compared(_read(entry, text, kind), _read(entry, other, kind))


def _two_models(pills: DeltaGenerator) -> Compared | None:
    sentence, first, second = st.columns([6, 3, 3])
    with first:
        entry = choosing.model()
    with second:
        against = _against(entry)
    offered = examples_of(entry.name, together=False)
    if against:
        offered = tuple(example for example in offered if _can_read(against, example.text)) or offered
    _begin_with_an_example(offered)
    with pills:
        current = next((example for example in offered if example.text == _said("text")), None)
        _examples(offered, current, _swap_models if against else None)
    with sentence:
        text = choosing.sentence(entry)
    if against is None:
        st.info("This server has one model that reads texts. Compare two sentences.", icon=_EDIT)
        return None
    _check(against, text, "The second model")
    return Compared(_read(entry, text, entry.kinds[0]), _read(against, text, against.kinds[0]))


def _against(entry: Entry) -> Entry | None:
    """Draw the choice of the second model, any but the first; None where there is no other."""
    others = [other for other in usable() if not other.sees and other.name != entry.name]
    if not others:
        return None
    names = [other.name for other in others]
    # Two implementations of one network have nothing to tell each other apart by.
    another = next((other.name for other in others if other.family != entry.family), names[0])
    if st.session_state.get("against", another) not in names:
        st.session_state["against"] = another
    chosen = st.selectbox("Second model", names, names.index(another), key="against", bind="query-params")
    return caches.entry(chosen)


def _read(entry: Entry, text: str, kind: Kind) -> Read:
    stamp = entry.origin.stamp if isinstance(entry.origin, Folder) else ""
    return Read(entry.name, Given(text), kind, stamp)


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


def _said(key: str) -> str:
    """What stands in a box, whether or not it has been drawn in this visit."""
    return str(st.session_state[key]) if key in st.session_state else "".join(links.asked(key)[-1:])


def _begin_with_an_example(offered: Sequence[Example]) -> None:
    """Fill the boxes about which nobody said anything, with an example."""
    state = st.session_state
    if not any(key in state or links.asked(key) for key in ("text", "other")):
        state["text"] = offered[0].text
    if "other" not in state and not links.asked("other"):
        like = next((example for example in offered if example.text == _said("text")), None)
        if like:
            state["other"] = like.other


def _examples(offered: Sequence[Example], current: Example | None, swap: Callable[[], None] | None) -> None:
    """Draw the examples as buttons, and one that exchanges the two sides."""
    names = [example.name for example in offered]
    st.session_state["example"] = current.name if current and current.name in names else None
    with st.container(horizontal=True, vertical_alignment="center"):
        st.pills(
            "Examples",
            names,
            key="example",
            on_change=_open_example,
            args=(tuple(offered),),
            label_visibility="collapsed",
            width="content",
        )
        if swap:
            st.button("Swap the two", on_click=swap, icon=":material/swap_horiz:", type="tertiary")


def _open_example(offered: tuple[Example, ...]) -> None:
    for example in offered:
        if example.name == st.session_state["example"]:
            st.session_state["text"] = example.text
            st.session_state["other"] = example.other


def _swap() -> None:
    state = st.session_state
    state["text"], state["other"] = state["other"], state["text"]


def _swap_models() -> None:
    state = st.session_state
    state["model"], state["against"] = state["against"], state["model"]
