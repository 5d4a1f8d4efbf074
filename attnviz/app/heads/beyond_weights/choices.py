"""Controls for a token and a head."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from attnviz.app import controls
from attnviz.app.heads import choosing
from attnviz.capture.model import ModelInput
from attnviz.experiments.beyond_weights import MeasuredToken
from attnviz.trace import Kind, Mask


@dataclass(frozen=True)
class TokenSelection(choosing.QueryInHead):
    """The selected token and head.

    The head is in the encoder or, if the model has no encoder, in the decoder.
    """

    def shown(self) -> tuple[int, ...]:
        """Return the positions of the shown tokens: all that are not special, and the chosen token."""
        places = enumerate(self.queries)
        return tuple(at for at, group in places if not group.special or at == self.query)

    def ranked(self, found: MeasuredToken) -> Mask:
        """Return a mask, [token], True for ranked tokens: shown, not masked, and not the chosen token."""
        ranked = np.zeros(len(self.queries), dtype=np.bool_)
        ranked[list(self.shown())] = True
        ranked[self.query] = False
        return np.asarray(ranked & found.visible)


def choose() -> TokenSelection:
    """Draw the controls; return the selected token and head.

    Raises:
        AttnvizError: the model cannot read the text, or is unusable.
    """
    text, entry, (numbers, beside) = choosing.sentence_and_model(4, 3)
    kind: Kind = "encoder" if entry.layers else "decoder"
    given = ModelInput(text)
    groups, _ = choosing.groups(entry, given, kind)
    with beside:
        query = controls.token(groups, given, "Token")
    with numbers:
        layer, head = choosing.head(entry, kind)
    if len(entry.kinds) > 1:
        st.caption("This model has an encoder and a decoder. This page shows the encoder.")
    return TokenSelection(entry, kind, layer, head, given, groups, groups, query)
