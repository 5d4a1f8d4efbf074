"""The sinusoidal positions as a heatmap; pointing at a cell shows its formula with numbers."""

from __future__ import annotations

from collections.abc import Sequence

from attnviz.app.components.component import mount
from attnviz.trace import Floats

_DIGITS = 6  # with 4, 0.84147 would be printed as 0.842


def encoding(
    name: str,
    vectors: Floats,
    labels: Sequence[str],
    /,
    *,
    position: int,
    pair: int,
    alt: str,
    about: str,
) -> None:
    """Draw numbers from −1, blue, to 1, orange.

    Args:
        name: Streamlit's key of this widget.
        vectors: [position, d_model].
        labels: of the tokens at the first positions.
        position: the outlined row, from 0.
        pair: the outlined two columns, from 0.
        alt: a description of the picture.
        about: the caption of the saved picture.
    """
    message = {
        "vectors": vectors.round(_DIGITS),
        "labels": labels,
        "position": position,
        "pair": pair,
        "alt": alt,
        "about": about,
    }
    mount("encoding", name, message)
