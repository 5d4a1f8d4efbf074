"""What the page is about: a model, who looks, and the head that is looked at closely."""

from __future__ import annotations

import streamlit as st

from attnviz.app import controls
from attnviz.app.heads import choosing
from attnviz.app.heads.choosing import HeadSelection
from attnviz.app.state.choices import DIRECTION, PART, WHO_LOOKS
from attnviz.experiments import coreference, syntax
from attnviz.experiments.sentences import self_attention

PRONOUNS, GRAMMAR = "Pronouns", "Grammar"

FROM_PRONOUN, FROM_NOUNS = "The pronoun looks", "The nouns look"
FROM_DEPENDENT, FROM_HEAD = "The dependent word looks", "Its head word looks"


def choose() -> tuple[str, HeadSelection]:
    """Draw the choices that both parts share; return `PRONOUNS` or `GRAMMAR`, and the open head.

    Raises:
        AttnvizError: the model cannot be used.
    """
    part = PART.segments("Part", (PRONOUNS, GRAMMAR))
    model_column, head_column = st.columns(2)
    with model_column:
        entry = controls.reading_model()
    kind = self_attention(entry)
    with head_column:
        layer, head = choosing.head(entry, kind)
    return part, HeadSelection(entry, kind, layer, head)


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
