"""What the pages are about: a model, who looks, and the head that is looked at closely."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.app import controls
from attnviz.app.heads import choosing
from attnviz.app.heads.choosing import HeadSelection
from attnviz.app.page import bar
from attnviz.app.state.choices import DIRECTION, OTHER, TEXT, WHO_LOOKS
from attnviz.experiments import coreference, pairs, syntax
from attnviz.experiments.sentences import self_attention

FROM_PRONOUN, FROM_NOUNS = "The pronoun looks", "The nouns look"
FROM_DEPENDENT, FROM_HEAD = "The dependent word looks", "The word it belongs to looks"


def choose() -> tuple[HeadSelection, DeltaGenerator]:
    """Draw the choice of a model and of a head; return the open head, and a place beside them.

    Raises:
        AttnvizError: the model cannot be used.
    """
    first, second = (reading.text for reading in pairs.bundled()[0].readings)
    if controls.left_empty(TEXT):
        # They stand in boxes at the page's end; links above take the sentence along, at the first run, too.
        TEXT.set(first)
        OTHER.set(second)
    with bar():
        model_column, head_column, beside = st.columns([3, 4, 6])
    with model_column:
        entry = controls.reading_model(offer_own=False)
    kind = self_attention(entry)
    with head_column:
        layer, head = choosing.head(entry, kind)
    return HeadSelection(entry, kind, layer, head), beside.container(horizontal=True)


def who_looks(chosen: HeadSelection) -> coreference.Looks:
    """Draw the choice whose weights are read; a decoder's nouns cannot look ahead."""
    if chosen.kind == "decoder":
        return "pronoun"
    asked = WHO_LOOKS.segments("Who looks", (FROM_PRONOUN, FROM_NOUNS))
    return "pronoun" if asked == FROM_PRONOUN else "nouns"


def which_way() -> syntax.Looks:
    """Draw the choice which of two related words looks."""
    asked = DIRECTION.segments("Who looks", (FROM_DEPENDENT, FROM_HEAD))
    return "dependent" if asked == FROM_DEPENDENT else "head word"
