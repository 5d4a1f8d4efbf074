"""What is read: a text, a second one, how the model writes on, and the model that reads them."""

from dataclasses import dataclass

import streamlit as st

from attnviz.app import caches, links, markdown
from attnviz.app.examples import Example, example_of, examples_of
from attnviz.app.explore import writing
from attnviz.app.explore.model_choice import choose_model
from attnviz.capture.given import Given
from attnviz.errors import AttnvizError

COMPARE = "Compare with"
TOGETHER = "Read together with"
DECODER = "The decoder reads"

ONE_CHANGED = "the same sentence with one word changed"
"""What stands in an empty box for a second sentence."""

_EMPTIED = "the visitor emptied both boxes"
_TYPED = "the visitor typed the second text"
_PLACEHOLDERS = {
    COMPARE: ONE_CHANGED,
    TOGETHER: "a second sentence, read in one go with the first",
    DECODER: "empty: the model writes it",
}


@dataclass(frozen=True)
class Sentences:
    """The visitor's choice.

    Attributes:
        model: its name.
        given: what it reads.
        other: what that is compared with; None for nothing.
        example: the example that these texts are, if they are one.
    """

    model: str
    given: Given
    other: Given | None
    example: Example | None


def choose() -> Sentences:
    """Draw the texts, the model and how it writes on; return the choice."""
    sentence, comparison, beside = st.columns([5, 5, 2])
    with beside:
        model = choose_model()
    try:
        entry = caches.entry(model)
    except AttnvizError as error:  # its folder has gone, say
        links.forget()
        st.error(markdown.plain(str(error)))
        st.stop()
    if _left_without_a_sentence(st.session_state.get("text", ""), st.session_state.get("other", "")):
        opening = examples_of(model, together=False)[0]
        # Not as the widgets' defaults: a default is left out of the link, and a sentence never should be.
        st.session_state["text"], st.session_state["other"] = opening.text, opening.other
    with sentence:
        text = st.text_input(
            "Sentence", key="text", bind="query-params", on_change=_edited, args=(model, "text")
        )
    with comparison:
        role, other = _second_box(model)
    if _left_without_a_sentence(text, other):
        st.rerun()
    second = other if other.strip() else None
    target = second if role == DECODER else None
    how = writing.choose(entry, typed=target is not None)
    given = Given(text, second if role == TOGETHER else None, target, how)
    compared = Given(other, writing=how) if role == COMPARE and second and other != text else None
    return Sentences(model, given, compared, example_of(model, text, other, together=role == TOGETHER))


def examples(chosen: Sentences) -> None:
    """Draw the examples as buttons, and what to look for in the open one."""
    current = chosen.example
    offered = examples_of(chosen.model, together=_role() == TOGETHER)
    st.session_state["example"] = current.name if current else None
    st.pills(
        "Examples",
        [example.name for example in offered],
        key="example",
        on_change=_open_example,
        args=(offered,),
        label_visibility="collapsed",
        width="content",
    )
    if current:
        st.markdown(f":small[{current.remark}]", width="stretch")


def compare() -> None:
    """Let the second box be a sentence to compare with, from a button; every model can do that."""
    if "second" in st.session_state:
        st.session_state["second"] = COMPARE


def _roles(model: str) -> list[str]:
    """What the second box can be for this model."""
    entry = caches.entry(model)
    both_texts = "cross" in entry.kinds and entry.engine == "transformers"
    return [COMPARE, *([TOGETHER] if entry.pairs else []), *([DECODER] if both_texts else [])]


def _role() -> str:
    return str(st.session_state.get("second", COMPARE))


def _second_box(model: str) -> tuple[str, str]:
    """Draw the second box, and above it what it is for, where a model leaves a choice; return both."""
    roles = _roles(model)
    if len(roles) == 1:
        st.session_state.pop("second", None)  # the choice that another model left
    with st.container(gap="xxsmall"):
        if len(roles) > 1:
            if st.session_state.get("second", COMPARE) not in roles:
                st.session_state["second"] = COMPARE
            st.radio(
                "What the second box is for",
                roles,
                key="second",
                bind="query-params",
                horizontal=True,
                label_visibility="collapsed",
                on_change=_change_role,
                args=(model,),
            )
        role = _role()
        # What the decoder reads is another text than what the first is compared with: each has its own key,
        # and waits while the other one is on show.
        box, waiting = ("target", "other") if role == DECODER else ("other", "target")
        st.session_state.pop(waiting, None)
        if box not in st.session_state and _kept(box):
            st.session_state[box] = _kept(box)
        text = st.text_input(
            f"{role} (optional)",
            key=box,
            bind="query-params",
            on_change=_edited,
            args=(model, box),
            placeholder=_PLACEHOLDERS[role],
            label_visibility="collapsed" if len(roles) > 1 else "visible",
        )
        st.session_state[_memory(box)] = text
    return role, text


def _memory(box: str) -> str:
    return f"what stood in {box}"


def _kept(box: str) -> str:
    """What stands in a box, or stood there when it was on show last."""
    return str(st.session_state.get(box, st.session_state.get(_memory(box), "")))


def _change_role(model: str) -> None:
    """Open an example of the new kind if one of the other kind was open; what a visitor typed stays."""
    together = _role() == TOGETHER
    if _role() == DECODER or not example_of(model, st.session_state["text"], _kept("other"), not together):
        return
    first = examples_of(model, together)[0]
    st.session_state["text"], st.session_state["other"] = first.text, first.other
    st.session_state[_TYPED] = False


def _open_example(offered: tuple[Example, ...]) -> None:
    for example in offered:
        if example.name == st.session_state["example"]:
            st.session_state["text"] = example.text
            if _role() != DECODER:
                st.session_state["other"] = example.other
                st.session_state[_TYPED] = False


def _edited(model: str, box: str) -> None:
    """Write both texts into the link; drop an example's second one if the first is no longer like it.

    What the visitor typed stays.
    """
    second = "target" if _role() == DECODER else "other"
    text, other = st.session_state["text"], st.session_state[second]
    if box == "other":
        st.session_state[_TYPED] = True
    offered = examples_of(model, together=False)
    from_example = any(other in (example.text, example.other) for example in offered)
    typed = st.session_state.get(_TYPED, False)
    if _role() == COMPARE and from_example and not typed and len(text.split()) != len(other.split()):
        other = ""
    st.session_state["text"], st.session_state[second] = text, other
    st.session_state[_EMPTIED] = not text and not other


def _left_without_a_sentence(text: str, other: str) -> bool:
    """True where the address names no sentence: at "/", and when the Back button has returned there."""
    first_visit = "text" not in st.session_state
    named = first_visit and (links.named("text") or links.named("other"))
    return not text and not other and not named and not st.session_state.get(_EMPTIED)
