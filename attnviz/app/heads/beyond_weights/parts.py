"""What the chosen token's output is the sum of: every part, and how far it goes in the output's direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from attnviz.analysis.sentence import name_of
from attnviz.app import caches, controls, markdown
from attnviz.app.components.head_map import head_map
from attnviz.app.components.token_bars import token_bars
from attnviz.app.heads.beyond_weights.choices import TokenSelection
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.errors import AttnvizError
from attnviz.text import decimal, head_name
from attnviz.trace import Floats, Kind

_LISTED = 12  # parts


@dataclass(frozen=True, eq=False)
class Shares:
    """Each part's share of an output o, part · o / o · o: together they are 1, and some are below 0.

    Attributes:
        heads: [layer, head, key].
        feed_forward: [layer]; empty: the model is attention alone.
        embeddings, biases: one number each.
        residual: how far the sum of all parts is from the output, in the worst of its numbers.
        d_model: how many numbers that are.
    """

    heads: Floats
    feed_forward: Floats
    embeddings: float
    biases: float
    residual: float
    d_model: int


@caches.cached(caches.named, spinner="Taking the output apart …")
def shares(model: str, given: ModelInput, kind: Kind, place: int) -> Shares:
    """The shares of one output, of the encoder or of a decoder without one; errors as in `decomposition`."""
    with loading.gate:  # our own models come without transformers
        from attnviz.capture.residual_stream import decomposition

    found = decomposition(loading.load(model), given, place, kind)
    direction = found.output / (found.output @ found.output)
    of = {(part.kind, part.layer): part.vectors @ direction for part in found.parts}
    heads = np.stack([share for (which, _), share in of.items() if which == kind])
    feed_forward = np.array([share for (which, _), share in of.items() if which == "feed-forward"])
    embeddings, biases = (float(of[name, 0]) for name in ("embeddings", "biases"))
    return Shares(heads, feed_forward, embeddings, biases, found.residual, len(found.output))


def draw(chosen: TokenSelection) -> None:
    """Draw the largest parts, all heads, and how exact the sum is."""
    with st.container(border=True):
        st.header(f"What is the output of {chosen.token} the sum of?", anchor=False)
        try:
            found = shares(chosen.entry.name, chosen.given, chosen.kind, chosen.query)
        except AttnvizError as error:
            st.info(markdown.plain(str(error)), icon=":material/block:")
            return
        st.markdown(_in_words(chosen, found))
        left, right = st.columns(2, gap="large")
        with left:
            _largest(chosen, found)
        with right:
            _heads(chosen, found)
        st.markdown(f":small[{_how_exact(found)}]")


def _in_words(chosen: TokenSelection, found: Shares) -> str:
    layers, heads, _ = found.heads.shape
    layer, head, key = np.unravel_index(int(np.abs(found.heads).argmax()), found.heads.shape)
    networks = len(found.feed_forward)
    add = f"of what {networks} feed-forward networks add, " if networks else ""
    have = f"all feed-forward networks **{decimal(found.feed_forward.sum())}**, " if networks else ""
    return (
        f"Of its embedding, of what {layers * heads} heads take from the tokens that they see, {add}and of "
        "biases. A part’s **share** is how far it goes in the direction of the whole, and all shares "
        f"together are 1. All heads have **{decimal(found.heads.sum())}**, {have}"
        f"the embedding **{decimal(found.embeddings)}**, the biases "
        f"**{decimal(found.biases)}**. The largest share, up or down, of what one head takes from one "
        f"token is {decimal(found.heads[layer, head, key], 3)}: head {head_name(int(layer), int(head))}, "
        f"from {chosen.called(int(key))}."
    )


def _how_exact(found: Shares) -> str:
    return (
        f"All parts, added, are the model’s own output: none of its {found.d_model} numbers is off by more "
        f"than {np.ceil(1e7 * found.residual) / 1e7:.7f}. Every norm is taken as it was, its divisor kept: "
        "so each part goes through all later norms alone (Elhage et al. 2021; Kobayashi et al. 2021). A "
        "share tells how much of the output a part makes up itself, not what would happen without it: what "
        "later layers read of it is in their own parts. And from layer 2 on, what a head takes from a token "
        "can come from other words."
    )


def _largest(chosen: TokenSelection, found: Shares) -> None:
    parts = [("embedding", found.embeddings), ("biases", found.biases)]
    parts += [(f"FFN {at}", float(share)) for at, share in enumerate(found.feed_forward, start=1)]
    parts += [
        (f"{head_name(layer, head)} {name_of(key, chosen.queries)}", float(share))
        for (layer, head, key), share in np.ndenumerate(found.heads)
    ]
    parts = sorted(parts, key=lambda part: -abs(part[1]))[:_LISTED]
    longest = abs(parts[0][1])
    token_bars(
        "largest parts",
        title=f"the {len(parts)} largest shares: a head and the token it takes from"
        f"{', or the feed-forward network (FFN) of a layer' if len(found.feed_forward) else ''}; bars show "
        "the size, without the sign",
        bars=[
            {
                "number": rank,
                "label": label,
                "size": abs(share) / longest,
                "written": decimal(share, 3),
                "hint": f"{label}: {decimal(share, 4)} of the output",
                "marked": False,
            }
            for rank, (label, share) in enumerate(parts, start=1)
        ],
    )


def _heads(chosen: TokenSelection, found: Shares) -> None:
    values = found.heads.sum(axis=2)
    most = float(np.abs(values).max())
    head_map(
        "parts of heads",
        title="each head’s share of the output, from all tokens together",
        values=values,
        texts=[f"{decimal(value, 4)} of the output" for value in values.ravel().tolist()],
        printed=[decimal(value, 2) for value in values.ravel().tolist()],
        low=(-most, decimal(-most)),
        high=(most, decimal(most)),
        kind="diverging",
        selected=(chosen.layer + 1, chosen.head + 1),
        on_pick=lambda layer, head: controls.open_head(layer - 1, head - 1),
    )
