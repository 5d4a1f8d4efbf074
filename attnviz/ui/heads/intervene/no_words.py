"""Of a model that expects no words: why none changes, and the way to one where some do."""

from __future__ import annotations

import streamlit as st

from attnviz.capture.catalogue import Entry
from attnviz.translation.edit import Edit
from attnviz.translation.variants import TAUGHT_HEAD, TAUGHT_LAYER
from attnviz.ui import caches, markdown
from attnviz.ui.examples import introduction
from attnviz.ui.heads import choosing
from attnviz.ui.heads.intervene.choices import Chosen
from attnviz.ui.heads.intervene.mending import EDITS
from attnviz.ui.models.known import usable


def draw(chosen: Chosen) -> None:
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
    translator = next((entry for entry in usable() if entry.engine == "translator"), None)
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
    st.session_state["model"] = translator.name
    st.session_state["text"] = introduction(translator.name).examples[0].text
    st.session_state["kind"] = "encoder"
    choosing.open_head(TAUGHT_LAYER, TAUGHT_HEAD)
    st.session_state[EDITS] = [str(Edit("encoder", TAUGHT_LAYER, TAUGHT_HEAD))]
