"""Every position's vector as a row of colours, pointed at or walked through with the arrow keys."""

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
    position: int = 0,
    pair: int | None = None,
    limit: float = 1,
    alt: str,
    about: str,
) -> None:
    """Draws numbers from −limit, blue, to limit, orange.

    Args:
        name: Streamlit's key of this widget.
        vectors: [position, d_model].
        labels: what stands at the first positions.
        position: whose row is outlined, from 0.
        pair: whose two columns are outlined, from 0; None for none.
        alt: what one sees.
        about: what the saved picture says.
    """
    message = {
        "vectors": vectors.round(_DIGITS),
        "labels": labels,
        "position": position,
        "pair": pair,
        "limit": limit,
        "alt": alt,
        "about": about,
    }
    mount("encoding", name, message)
