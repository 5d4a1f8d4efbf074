"""What a visitor chooses on this page: a token, a head, and which tokens are ranked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from attnviz.analysis.rank_correlation import Chance
from attnviz.analysis.shown import Group
from attnviz.app import controls, markdown
from attnviz.app.heads import choosing
from attnviz.app.state.choices import ITSELF, SPECIAL
from attnviz.capture.model import ModelInput
from attnviz.experiments.beyond_weights import Found
from attnviz.models.catalogue import Entry
from attnviz.text import head_name
from attnviz.trace import Kind, Mask


@dataclass(frozen=True)
class TokenSelection:
    """What stands in the controls.

    Attributes:
        entry, text: the model, and what it reads.
        kind: whose layers are asked: the encoder's, or the decoder's of a model without an encoder.
        layer, head: from 0.
        groups: the tokens, each by itself.
        place: the token that is asked about, from 0.
        special: whether special tokens are shown and ranked.
        itself: whether the chosen token is ranked too.
    """

    entry: Entry
    text: str
    kind: Kind
    layer: int
    head: int
    groups: tuple[Group, ...]
    place: int
    special: bool
    itself: bool

    @property
    def head_name(self) -> str:
        """The head’s name as in Clark et al. 2019: "4-2"."""
        return head_name(self.layer, self.head)

    @property
    def token(self) -> str:
        """The chosen token, as Markdown."""
        return self.called(self.place)

    def called(self, place: int) -> str:
        """A token, as Markdown."""
        return markdown.token(place, self.groups)

    def shown(self) -> tuple[int, ...]:
        """The places of the tokens in the picture."""
        return tuple(
            place
            for place, group in enumerate(self.groups)
            if self.special or not group.special or place == self.place
        )

    def counted(self, found: Found) -> Mask:
        """[token], those that are ranked: shown, in sight of the chosen one, and perhaps not it itself."""
        return np.array(
            [
                bool(found.seen[place])
                and (self.special or not group.special)
                and (self.itself or place != self.place)
                for place, group in enumerate(self.groups)
            ]
        )


def choose() -> TokenSelection:
    """Draw the controls.

    Raises:
        AttnvizError: the model cannot read the text, or cannot be used.
    """
    text, entry = choosing.sentence_and_model()
    kind: Kind = "encoder" if entry.layers else "decoder"
    groups, _ = choosing.groups(entry, ModelInput(text), kind)
    beside, numbers = st.columns([2, 3])
    with beside:
        place = controls.token(groups, ModelInput(text), "Token to ask about")
    with numbers:
        layer, head = choosing.head(entry, kind)
    with st.container(horizontal=True):
        special = SPECIAL.toggle("Special tokens")
        itself = ITSELF.toggle(
            "Rank the token itself",
            help="Without itself a token of course changes most. So it is left out of the ranks, "
            "unless you want it in.",
        )
    if len(entry.kinds) > 1:
        st.caption("This model has an encoder and a decoder. What is asked here is the encoder’s.")
    return TokenSelection(entry, text, kind, layer, head, groups, place, special, itself)


def in_words(chance: Chance, count: int) -> str:
    """How far two orders of so many tokens agree by chance, as Markdown."""
    return (
        f"Two orders of {count} tokens that know nothing of each other reach ρ = {chance.bound:.2f}, or its "
        f"negative, in about 1 of {1 / chance.frequency:.0f} cases."
    )
