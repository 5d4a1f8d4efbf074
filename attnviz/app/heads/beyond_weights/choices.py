"""The choices of the page: a token, a head, and which tokens are ranked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from attnviz.app import controls, markdown
from attnviz.app.heads import choosing
from attnviz.app.state.choices import SPECIAL
from attnviz.capture.model import ModelInput
from attnviz.experiments.beyond_weights import MeasuredToken
from attnviz.text import decimal
from attnviz.trace import Kind, Mask


@dataclass(frozen=True)
class TokenSelection(choosing.QueryInHead):
    """The chosen token, among all tokens, and which of them are shown and ranked.

    The layers are the encoder's, or the decoder's of a model without an encoder.

    Attributes:
        special: whether special tokens are shown and ranked.
    """

    special: bool

    def called(self, place: int) -> str:
        """A token, as Markdown."""
        return markdown.token(place, self.queries)

    def shown(self) -> tuple[int, ...]:
        """The places of the tokens in the picture."""
        return tuple(
            place
            for place, group in enumerate(self.queries)
            if self.special or not group.special or place == self.query
        )

    def counted(self, found: MeasuredToken) -> Mask:
        """[token], those that are ranked: shown, in sight of the chosen one, and not it itself."""
        return np.array(
            [
                bool(found.seen[place]) and (self.special or not group.special) and place != self.query
                for place, group in enumerate(self.queries)
            ]
        )


def choose() -> TokenSelection:
    """Draw the controls.

    Raises:
        AttnvizError: the model cannot read the text, or cannot be used.
    """
    text, entry, (numbers, beside) = choosing.sentence_and_model(4, 3)
    kind: Kind = "encoder" if entry.layers else "decoder"
    given = ModelInput(text)
    groups, _ = choosing.groups(entry, given, kind)
    with beside:
        place = controls.token(groups, given, "Token")
    with numbers:
        layer, head = choosing.head(entry, kind)
    special = SPECIAL.toggle("Special tokens")
    if len(entry.kinds) > 1:
        st.caption("This model has an encoder and a decoder. This page shows the encoder.")
    return TokenSelection(entry, kind, layer, head, given, groups, groups, place, special)


def span(lowest: float, highest: float) -> str:
    """From the lowest to the highest ρ: "−0.12 to 0.45"; of one alone, "0.45"."""
    ends = dict.fromkeys((decimal(lowest), decimal(highest)))
    return " to ".join(ends)
