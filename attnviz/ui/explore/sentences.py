"""What is read: a sentence, one to compare it with, and the model that reads them."""

from dataclasses import dataclass

import streamlit as st

from attnviz.capture import catalogue
from attnviz.ui import links
from attnviz.ui.examples import OPENING, Example, example_of, introduction

_EMPTIED = "the visitor emptied both boxes"


@dataclass(frozen=True)
class Sentences:
    """The visitor's choice.

    Attributes:
        model: a name in the catalogue.
        text: the sentence.
        other: the sentence to compare it with; "" for none.
    """

    model: str
    text: str
    other: str

    @property
    def example(self) -> Example | None:
        """The example that these sentences are, if they are one."""
        return example_of(self.model, self.text, self.other)


def choose() -> Sentences:
    """Draw the sentences and the model; return the choice."""
    if _left_without_a_sentence(st.session_state.get("text", ""), st.session_state.get("other", "")):
        # Not as the widgets' defaults: a default is left out of the link, and a sentence never should be.
        st.session_state["text"], st.session_state["other"] = OPENING.text, OPENING.other
    sentence, comparison, model_choice = st.columns([5, 5, 2])
    with sentence:
        text = st.text_input("Sentence", key="text", bind="query-params", on_change=_edited)
    with comparison:
        other = st.text_input(
            "Compare with (optional)",
            key="other",
            bind="query-params",
            on_change=_edited,
            placeholder="the same sentence with one word changed",
        )
    with model_choice:
        names = catalogue.names()
        model = st.selectbox(
            "Model",
            names,
            key="model",
            bind="query-params",
            help="\n\n".join(f"**{name}**: {catalogue.entry(name).description}" for name in names),
        )
    if _left_without_a_sentence(text, other):
        st.rerun()
    return Sentences(model, text, other)


def examples(current: Example | None) -> None:
    """Draw the examples as buttons, and what to look for in the open one."""
    st.session_state["example"] = current.name if current else None
    st.pills(
        "Examples",
        [example.name for example in _examples()],
        key="example",
        on_change=_open_example,
        label_visibility="collapsed",
        width="content",
    )
    if current:
        st.markdown(f":small[{current.remark}]", width="stretch")


def _examples() -> tuple[Example, ...]:
    """The examples that the chosen model can read."""
    return introduction(st.session_state["model"]).examples


def _open_example() -> None:
    for example in _examples():
        if example.name == st.session_state["example"]:
            st.session_state["text"], st.session_state["other"] = example.text, example.other


def _edited() -> None:
    """Write both sentences into the link; drop an example's second one if the first is no longer like it."""
    text, other = st.session_state["text"], st.session_state["other"]
    from_example = any(other in (example.text, example.other) for example in _examples())
    if from_example and len(text.split()) != len(other.split()):
        other = ""
    st.session_state["text"], st.session_state["other"] = text, other
    st.session_state[_EMPTIED] = not text and not other


def _left_without_a_sentence(text: str, other: str) -> bool:
    """True where the address names no sentence: at "/", and when the Back button has returned there."""
    first_visit = "text" not in st.session_state
    asked = first_visit and (links.asked("text") or links.asked("other"))
    return not text and not other and not asked and not st.session_state.get(_EMPTIED)
