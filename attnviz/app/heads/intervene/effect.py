"""The effect of the edits: on predicted words, on each token's output, and what it does not show."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.app import controls, markdown
from attnviz.app.examples import introduction
from attnviz.app.heads.intervene import computed, outputs, picture, words
from attnviz.app.heads.intervene.choices import Intervention
from attnviz.app.models import lookup
from attnviz.app.state.choices import EDITS, KIND, MODEL, TEXT
from attnviz.interventions.edit import Edit
from attnviz.models.catalogue import Entry
from attnviz.trained.translator.variants import GUIDED_HEAD, GUIDED_LAYER


def draw(chosen: Intervention, figure: DeltaGenerator, beside: DeltaGenerator) -> int | None:
    """Draw what the changes move; while nothing is changed, what the head attends to.

    Args:
        chosen: the selection and its changes.
        figure, beside: the places of the picture and of the words beside it.

    Returns:
        The token at which the model is asked what it expects, from 0; None where it expects nothing.
    """
    with beside:
        place = words.place(chosen)
    if not chosen.edits:
        beside.markdown(
            "**Ablate the head**: the model is run again without it, and the effect is shown here."
        )
        with figure:
            picture.draw(chosen)
        return place
    found = computed.effect(chosen, place)
    with beside:
        if len(chosen.entry.kinds) > 1:
            words.written(chosen)
        if place is None:
            outputs.show(chosen, found, place)
        else:
            st.markdown(words.in_short(chosen, found, place))
    with figure:
        if place is None:
            outputs.every_token(chosen, found)
        else:
            words.expected(chosen, found, place)
    return place


def in_numbers(chosen: Intervention, place: int | None) -> None:
    """Draw what an angle means, what else turns the output so far, and with predictions, all outputs."""
    found = computed.effect(chosen, place)
    outputs.explain(chosen, found, place)
    if place is None:
        _no_words(chosen)
    else:
        words.distances(found)
        outputs.every_token(chosen, found)


def limits() -> None:
    """Draw what cannot be concluded."""
    st.markdown(
        """
- **That a head with a small effect is useless.** Another head may do the same: two heads that matter little
  alone may matter much together. In another sentence, the head may decide.
- **How a model without the head would work.** The later layers were not trained on these vectors, and part of
  the effect can come from that. Replacing the head's output with its mean can have a smaller effect.
- **That a changed output is a worse one.** An angle measures how much a vector changes, not whether later
  layers can still use it. Where the model predicts words, compare those.
- **That early layers matter more or less than late ones.** The output of an early head passes through all
  later layers, which can hide or enlarge it.
- **Why.** The effect shows that something depends on a head, not what information the head carried.
"""
    )


def _no_words(chosen: Intervention) -> None:
    """Explain why, and offer to open the translator without its guided head."""
    mask = lookup.mask_token(chosen.entry)
    if mask is not None:
        st.markdown(
            f":small[This model can predict a masked word: type {markdown.code(mask)} in place of a "
            "word to see how the prediction changes.]"
        )
        return
    st.markdown("This model has no head for predictions, so no word can change; only its output vectors can.")
    translator = next((entry for entry in lookup.usable() if entry.engine == "translator"), None)
    if translator is not None:
        st.button(
            "See a head change words: open the translator",
            key="see words change",
            icon=":material/translate:",
            on_click=_open_translator,
            args=(translator,),
        )


def _open_translator(translator: Entry) -> None:
    """Choose its opening sentence, in which the guided head decides between “il” and “elle”."""
    MODEL.set(translator.name)
    TEXT.set(introduction(translator).examples[0].text)
    KIND.set("encoder")
    controls.open_head(GUIDED_LAYER, GUIDED_HEAD)
    EDITS.set([str(Edit("encoder", GUIDED_LAYER, GUIDED_HEAD))])
