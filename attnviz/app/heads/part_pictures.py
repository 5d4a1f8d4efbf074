"""Two pictures of a sum of parts: the largest ones as bars, and all heads as a map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from attnviz.analysis.decomposition import Contributions
from attnviz.analysis.display_tokens import DisplayToken
from attnviz.analysis.sentence import names_of
from attnviz.app import controls
from attnviz.app.components.head_map import head_map
from attnviz.app.components.token_bars import token_bars
from attnviz.text import decimal, head_name
from attnviz.trace import Kind

_LISTED = 12  # parts


def largest(
    key: str, found: Contributions, keys: Mapping[Kind, Sequence[DisplayToken]], title: str, of: str
) -> None:
    """Draw the largest parts, the largest first.

    Args:
        key: Streamlit's key of the bars.
        found: the parts.
        keys: the keys of each kind of attention.
        title: what the numbers are.
        of: what they are parts of: "of the output".
    """
    parts = [("embedding", found.embeddings), ("biases", found.biases)]
    parts += [(f"FFN {at}", float(share)) for at, share in enumerate(found.feed_forward, start=1)]
    for kind, shares in found.attention.items():
        of_kind = "" if len(found.attention) == 1 else f"{kind} "
        names = names_of(keys[cast("Kind", kind)])
        parts += [
            (f"{of_kind}{head_name(layer, head)} {names[at]}", float(share))
            for (layer, head, at), share in np.ndenumerate(shares)
        ]
    parts = sorted(parts, key=lambda part: -abs(part[1]))[:_LISTED]
    longest = abs(parts[0][1]) or 1.0
    token_bars(
        key,
        title=f"the {len(parts)} largest {title}: a head and the token it takes from"
        f"{', or the feed-forward network (FFN) of a layer' if len(found.feed_forward) else ''}; bars show "
        "the size, without the sign",
        bars=[
            {
                "number": rank,
                "label": label,
                "size": abs(share) / longest,
                "written": decimal(share, 3),
                "hint": f"{label}: {decimal(share, 4)} {of}",
                "marked": False,
            }
            for rank, (label, share) in enumerate(parts, start=1)
        ],
    )


def heads(
    key: str,
    found: Contributions,
    kind: Kind,
    title: str,
    of: str,
    selected: tuple[int, int] | None,
) -> None:
    """Draw what each head of a kind has from all tokens; a click opens it. Arguments as in `largest`."""
    values = found.attention[kind].sum(axis=2)
    most = float(np.abs(values).max()) or 1.0
    head_map(
        key,
        title=title,
        values=values,
        texts=[f"{decimal(value, 4)} {of}" for value in values.ravel().tolist()],
        printed=[decimal(value, 2) for value in values.ravel().tolist()],
        low=(-most, decimal(-most)),
        high=(most, decimal(most)),
        kind="diverging",
        selected=selected,
        on_pick=controls.open_head,
    )
