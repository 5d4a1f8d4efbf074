"""Of a model that expects no words: why none changes, and the way to one where some do."""

from __future__ import annotations

import streamlit as st

from attnviz.app import caches, controls, markdown
from attnviz.app.examples import introduction
from attnviz.app.heads.intervene.choices import Intervention
from attnviz.app.state.choices import EDITS, KIND, MODEL, TEXT
from attnviz.interventions.edit import Edit
from attnviz.models.catalogue import Entry
from attnviz.trained.translator.variants import TAUGHT_HEAD, TAUGHT_LAYER


def draw(chosen: Intervention) -> None:
    """Say why, and offer to open the translator without its taught head."""
    mask = caches.mask_token(chosen.entry.name)
    if mask is not None:
        st.markdown(
            f":small[This model can say what stands behind a mask: type {markdown.code(mask)} in place of a "
            "word to see how its expectation changes.]"
        )
        return
    st.markdown(
        "No word changes here: this model was saved without a part that expects words. Its outputs are all "
        "that can move, the vectors that whatever comes after it would read."
    )
    translator = next((entry for entry in caches.usable() if entry.engine == "translator"), None)
    if translator is not None:
        st.button(
            "See a head change words: open the translator",
            key="see words change",
            icon=":material/translate:",
            on_click=_open,
            args=(translator,),
        )


def _open(translator: Entry) -> None:
    """Choose its opening sentence, in which the taught head decides between “il” and “elle”."""
    MODEL.set(translator.name)
    TEXT.set(introduction(translator.name).examples[0].text)
    KIND.set("encoder")
    controls.open_head(TAUGHT_LAYER, TAUGHT_HEAD)
    EDITS.set([str(Edit("encoder", TAUGHT_LAYER, TAUGHT_HEAD))])
