"""What the page is about: a model, who looks, and the head that is looked at closely."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from attnviz.app import controls
from attnviz.app.heads import choosing
from attnviz.app.state.choices import DIRECTION, PART, WHO_LOOKS
from attnviz.experiments import coreference, syntax
from attnviz.experiments.sentences import self_attention
from attnviz.models.catalogue import Entry
from attnviz.text import head_name
from attnviz.trace import Kind

PRONOUNS, GRAMMAR = "Pronouns", "Grammar"

FROM_PRONOUN, FROM_NOUNS = "The pronoun looks", "The nouns look"
FROM_DEPENDENT, FROM_HEAD = "The dependent word looks", "Its head word looks"


@dataclass(frozen=True)
class HeadSelection:
    """`PRONOUNS` or `GRAMMAR`, a model with the attention by which it reads, and the open head, from 0."""

    part: str
    entry: Entry
    kind: Kind
    layer: int
    head: int

    @property
    def name(self) -> str:
        """The open head's, as in Clark et al. 2019: "4-2"."""
        return head_name(self.layer, self.head)


def choose() -> HeadSelection:
    """Draw the choices that both parts share.

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
    return HeadSelection(part, entry, kind, layer, head)


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
