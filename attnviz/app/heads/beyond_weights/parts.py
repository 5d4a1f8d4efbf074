"""What the chosen token's output is the sum of: every part, and how far it goes in the output's direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from attnviz.analysis.decomposition import Contributions, contributions
from attnviz.app import markdown
from attnviz.app.heads import part_pictures
from attnviz.app.heads.beyond_weights.choices import TokenSelection
from attnviz.app.references import cited_markdown
from attnviz.app.server import cache
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.errors import AttnvizError
from attnviz.text import decimal, head_name
from attnviz.trace import Kind

_OF = "of the output"


@dataclass(frozen=True, eq=False)
class Shares:
    """Each part's share of an output o, part · o / o · o: together they are 1, and some are below 0.

    Attributes:
        parts: the shares.
        residual: how far the sum of all parts is from the output, in the worst of its numbers.
        d_model: how many numbers that are.
    """

    parts: Contributions
    residual: float
    d_model: int


@cache.cached(cache.named, spinner="Taking the output apart …")
def shares(model: str, given: ModelInput, kind: Kind, place: int) -> Shares:
    """The shares of one output, of the encoder or of a decoder without one; errors as in `decomposition`."""
    with loading.gate:  # our own models come without transformers
        from attnviz.capture.residual_stream import decomposition

    found = decomposition(loading.load(model), given, place, kind)
    direction = found.output / (found.output @ found.output)
    return Shares(contributions(found.parts, direction), found.residual, len(found.output))


def draw(chosen: TokenSelection) -> None:
    """Draw the largest parts, all heads, and how exact the sum is."""
    try:
        found = shares(chosen.entry.name, chosen.given, chosen.kind, chosen.query)
    except AttnvizError as error:
        st.info(markdown.plain(str(error)), icon=":material/block:")
        return
    st.markdown(_in_words(chosen, found))
    left, right = st.columns(2, gap="large")
    with left:
        keys = {chosen.kind: chosen.queries}
        part_pictures.largest("largest parts", found.parts, keys, "shares", _OF)
    with right:
        part_pictures.heads(
            "parts of heads",
            found.parts,
            chosen.kind,
            "each head’s share of the output, from all tokens together",
            _OF,
            (chosen.layer, chosen.head),
        )
    cited_markdown(f":small[{_how_exact(found)}]")


def _in_words(chosen: TokenSelection, found: Shares) -> str:
    parts, heads = found.parts, found.parts.attention[chosen.kind]
    layer, head, key = np.unravel_index(int(np.abs(heads).argmax()), heads.shape)
    networks = len(parts.feed_forward)
    add = f"of what {networks} feed-forward networks add, " if networks else ""
    have = f"all feed-forward networks **{decimal(parts.feed_forward.sum())}**, " if networks else ""
    return (
        f"The output of {chosen.token} is a sum: of its embedding, of what {heads[..., 0].size} heads "
        f"take from the tokens that they see, {add}and "
        "of biases. A part’s **share** is how far it goes in the direction of the whole, and all shares "
        f"together are 1. All heads have **{decimal(heads.sum())}**, {have}"
        f"the embedding **{decimal(parts.embeddings)}**, the biases "
        f"**{decimal(parts.biases)}**. The largest share, up or down, of what one head takes from one "
        f"token is {decimal(heads[layer, head, key], 3)}: head {head_name(int(layer), int(head))}, "
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
