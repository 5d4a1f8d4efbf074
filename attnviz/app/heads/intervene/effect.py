"""What moves: words where the model expects some, each token's output, and what one should not conclude."""

from __future__ import annotations

import streamlit as st

from attnviz.app import caches, controls, markdown
from attnviz.app.examples import introduction
from attnviz.app.heads.intervene import computed, outputs, words
from attnviz.app.heads.intervene.choices import Intervention
from attnviz.app.state.choices import EDITS, KIND, MODEL, TEXT
from attnviz.interventions.edit import Edit
from attnviz.models.catalogue import Entry
from attnviz.trained.translator.variants import TAUGHT_HEAD, TAUGHT_LAYER


def draw(chosen: Intervention) -> int | None:
    """Draw what the changes move, or what to do first.

    Returns:
        The token at which the model is asked what it expects, from 0; None where it expects nothing.
    """
    st.header("What moves", anchor=False)
    if not chosen.edits:
        st.markdown("Nothing is changed yet. **Silence a head**, and the model is run again without it.")
    elif len(chosen.entry.kinds) > 1:
        words.written(chosen)
    place = words.place(chosen)
    found = computed.effect(chosen, place) if chosen.edits else None
    if found is not None and place is not None:
        words.expected(chosen, found, place)
    if found is not None:
        outputs.tell(chosen, found, place)
    if place is None:
        _no_words(chosen)
    if found is not None and place is None:
        outputs.every_token(chosen, found)
    return place


def in_short(chosen: Intervention, place: int | None) -> None:
    """Say in a sentence what the changes did; `place` is what `draw` returned."""
    if not chosen.edits:
        st.markdown("Nothing is changed yet.")
        return
    found = computed.effect(chosen, place)
    st.markdown(outputs.in_short(chosen, found) if place is None else words.in_short(chosen, found, place))


def limits() -> None:
    """Say it."""
    with st.expander("What this does not show", icon=":material/warning:"):
        st.markdown(
            """
- **That a head which moves little is useless.** Others may do the same, or stand in for it: silence two that
  matter little alone, and the two together may matter much. In another sentence, the head may decide.
- **What the model would be without the head.** The layers behind it now read other vectors than those that
  they learned from, and part of what moves can come from that alone. Putting the head's average output in
  its place, instead of nothing, can move less.
- **That a turned output is a worse one.** An angle says how far a vector turns, not whether what reads it
  can still use it. Where the model expects words, look at those.
- **That early layers are better or worse than late ones.** What an early head adds passes
  through all later layers, which can hide it or enlarge it.
- **Why.** One sees that something depends on a head, not what the head carried there.
"""
        )


def _no_words(chosen: Intervention) -> None:
    """Say why, and offer to open the translator without its taught head."""
    mask = caches.mask_token(chosen.entry.name)
    if mask is not None:
        st.markdown(
            f":small[This model can say what stands behind a mask: type {markdown.code(mask)} in place of a "
            "word to see how its expectation changes.]"
        )
        return
    st.markdown(
        "No word changes here: this model was saved without a part that expects words. Its outputs can "
        "move, the vectors that whatever comes after it would read."
    )
    translator = next((entry for entry in caches.usable() if entry.engine == "translator"), None)
    if translator is not None:
        st.button(
            "See a head change words: open the translator",
            key="see words change",
            icon=":material/translate:",
            on_click=_open_translator,
            args=(translator,),
        )


def _open_translator(translator: Entry) -> None:
    """Choose its opening sentence, in which the taught head decides between “il” and “elle”."""
    MODEL.set(translator.name)
    TEXT.set(introduction(translator.name).examples[0].text)
    KIND.set("encoder")
    controls.open_head(TAUGHT_LAYER, TAUGHT_HEAD)
    EDITS.set([str(Edit("encoder", TAUGHT_LAYER, TAUGHT_HEAD))])
