"""The input widgets: model, text, second text, and generation options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.app import markdown
from attnviz.app.about import how_to_read
from attnviz.app.controls import (
    ONE_CHANGED,
    build_sentence,
    buttons,
    describe,
    is_unset,
    offer_own_model,
    reading_model,
    remember_emptied,
)
from attnviz.app.examples import Example, example_of, examples_of
from attnviz.app.page import stop
from attnviz.app.state import link, memory
from attnviz.app.state.choice import Text
from attnviz.app.state.choices import OTHER, SECOND_BOX, SEED, TARGET, TEMPERATURE, TEXT, TOP_K, TOP_P, WRITE
from attnviz.capture.model import MAX_NEW_TOKENS, MIN_TEMPERATURE, ModelInput, Writing
from attnviz.errors import AttnvizError
from attnviz.models.catalogue import Entry

COMPARE = "Compare with"
TOGETHER = "Read together with"
DECODER = "Decoder’s text"

_TYPED = "the visitor typed the second text"
_PREVIOUS_TEXT = "previous first text"
_PLACEHOLDERS = {
    COMPARE: ONE_CHANGED,
    TOGETHER: "a second sentence; the model reads both together",
    DECODER: "if empty, the model generates the text",
}


@dataclass(frozen=True)
class Sentences:
    """The selected model, its input, the input to compare with, and the example of these texts."""

    model: Entry
    given: ModelInput
    other: ModelInput | None
    example: Example | None


@dataclass(frozen=True)
class Asides:
    """Placeholders beside the title."""

    purpose: DeltaGenerator
    remark: DeltaGenerator
    more: DeltaGenerator
    question: DeltaGenerator


def asides() -> Asides:
    """Create the placeholders beside the title."""
    with st.container(key="remark", gap=None, width="content"):
        purpose, remark = st.empty(), st.empty()
    return Asides(
        purpose, remark, st.popover("Examples and more"), st.container(key="asking", width="content")
    )


def choose(beside: Asides) -> tuple[Sentences, DeltaGenerator]:
    """Draw the input widgets; return their values, and the placeholder for the switch between inputs."""
    sentence, comparison, last = st.columns([5, 5, 4], vertical_alignment="bottom")
    with last, st.container(horizontal=True, vertical_alignment="bottom"):
        switch = st.container(width="content")
        try:
            model = reading_model(offer_own=False)
        except AttnvizError as error:  # for example, the model's folder was deleted
            stop(error)
    title = markdown.plain(model.title)
    beside.purpose.markdown(f"**Attention** in {title}: which word attends to which.", width="content")
    if is_unset(TEXT, OTHER):
        # Set here and not declared as the default: links omit defaults, but must contain the sentence.
        _show(examples_of(model, together=False)[0])
    with sentence:
        text = TEXT.draw("Sentence", on_change=_edited, args=(model, TEXT))
    with beside.more:
        _choose_role(model)
    if memory.get(_PREVIOUS_TEXT) != text and not link.in_address(
        OTHER
    ):  # another page or a server restart changed it
        _clear_unmatched_example(model)
    memory.put(_PREVIOUS_TEXT, text)
    with comparison:
        role, box, other = _second_box(model)
    if is_unset(TEXT, box):
        st.rerun()
    second = other if other.strip() else None
    target = second if role == DECODER else None
    writing = _choose_writing(model, typed=target is not None)
    given = ModelInput(text, second if role == TOGETHER else None, target, writing)
    compared = ModelInput(other, writing=writing) if role == COMPARE and second and other != text else None
    example = example_of(model, text, other, together=role == TOGETHER)
    if example:
        beside.remark.markdown(f":small[{example.remark}]", width="content")
    return Sentences(model, given, compared, example), switch


def more(chosen: Sentences) -> None:
    """Draw the examples, the sentence builder, the model's description, the link to own models, and help."""
    current = chosen.example
    offered = {example.name: example for example in examples_of(chosen.model, together=_role() == TOGETHER)}
    pressed = current.name if current else None
    buttons("Examples", offered, "example", _open, pressed)
    build_sentence(chosen.model, lambda text: _show(Example("", text, "", "", "")))
    describe(chosen.model)
    offer_own_model()
    with st.expander("How to read the pictures"):
        how_to_read()


def _roles(entry: Entry) -> Sequence[str]:
    """Return the uses of the second box that this model supports."""
    both_texts = "cross" in entry.kinds and entry.engine == "transformers" and not entry.pairs
    return [COMPARE, *([TOGETHER] if entry.pairs else []), *([DECODER] if both_texts else [])]


def _role() -> str:
    return str(SECOND_BOX.get(COMPARE))


def _choose_role(entry: Entry) -> None:
    """Draw a select for the use of the second box if the model supports several uses."""
    roles = _roles(entry)
    if len(roles) == 1:
        SECOND_BOX.forget()  # it was selected for another model
    else:
        SECOND_BOX.select("Use of the second text box", roles, on_change=_change_role, args=(entry,))


def _second_box(entry: Entry) -> tuple[str, Text, str]:
    """Draw the second box.

    Returns:
        The use of the box, the choice that stores its text, and the text.
    """
    role = _role()
    # The decoder's text and the sentence to compare with have separate boxes; the hidden one keeps its text.
    box, waiting = (TARGET, OTHER) if role == DECODER else (OTHER, TARGET)
    waiting.forget()
    if not box.is_set and _last_text(box):
        box.set(_last_text(box))
    text = box.draw(
        f"{role} (optional)",
        on_change=_edited,
        args=(entry, box),
        placeholder=_PLACEHOLDERS[role],
    )
    memory.put(_memory_key(box), text)
    return role, box, text


def _memory_key(box: Text) -> str:
    return f"earlier text of {box.name}"


def _last_text(box: Text) -> str:
    """Return the text of a box; for a hidden box, its last text."""
    return box.get(str(memory.get(_memory_key(box), "")))


def _change_role(model: Entry) -> None:
    """Replace an open example that does not suit the new use of the second box; keep typed texts."""
    together = _role() == TOGETHER
    if _role() != DECODER and example_of(model, TEXT.get(""), _last_text(OTHER), not together):
        _show(examples_of(model, together)[0])


def _open(example: Example) -> None:
    if _role() == DECODER:
        TEXT.set(example.text)
    else:
        _show(example)


def _show(example: Example) -> None:
    TEXT.set(example.text)
    OTHER.set(example.other)
    memory.put(_TYPED, False)


def _edited(model: Entry, box: Text) -> None:
    """Write both texts to the link; clear an example's second text that no longer matches the first."""
    second = TARGET if _role() == DECODER else OTHER
    if box == OTHER:
        memory.put(_TYPED, True)
    _clear_unmatched_example(model)
    TEXT.keep()
    second.keep()
    remember_emptied(TEXT, second)


def _clear_unmatched_example(model: Entry) -> None:
    """Clear the second text if it comes from an example but the two texts have different numbers of words."""
    text, other = TEXT.get(""), OTHER.get("")
    offered = examples_of(model, together=False)
    from_example = any(other in (example.text, example.other) for example in offered)
    typed = memory.get(_TYPED, False)
    if _role() == COMPARE and from_example and not typed and len(text.split()) != len(other.split()):
        OTHER.set("")


def _choose_writing(entry: Entry, typed: bool) -> Writing | None:
    """Draw the generation options if the model can write; return them, or None for the default.

    `typed`: True if the visitor typed the decoder's text, so that nothing is generated.
    """
    if entry.expects != "next" or typed:
        return None
    continues = entry.kinds == ("decoder",)
    with st.container(horizontal=True, vertical_alignment="center"):
        tokens = MAX_NEW_TOKENS
        if continues:
            st.markdown("**Generate**", width="content")
            tokens = WRITE.draw("Tokens to write", label_visibility="collapsed", width=150)
            st.markdown(f"tokens, at most {MAX_NEW_TOKENS}", width="content")
        with st.popover("Sampling"):
            writing = sampling_options(tokens)
    if not tokens or (not continues and not writing.temperature):
        return None  # default: no generated text, or an encoder–decoder's most probable tokens
    return writing


def sampling_options(tokens: int) -> Writing:
    """Draw temperature, top k, top p and seed; return the options for writing this many tokens."""
    temperature = TEMPERATURE.draw(
        "Temperature",
        help="Divides the logits before the softmax. 0: always the most probable token. "
        "1: the model’s own probabilities. Larger: more random.",
    )
    top_k = TOP_K.draw("Top k (0: off)", help="Sample only from this many of the most probable tokens.")
    top_p = TOP_P.draw(
        "Top p (1: off)",
        help="After Temperature and Top k, sample only from the smallest set of the most probable tokens "
        "with at least this total probability.",
    )
    seed = SEED.draw("Seed", help="With the same seed, the same tokens are sampled.")
    if not temperature:
        return Writing(tokens)
    return Writing(tokens, max(temperature, MIN_TEMPERATURE), top_k, top_p, seed)
