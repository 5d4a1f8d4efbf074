"""What the chosen token's output is the sum of: every part, and how far it goes in the output's direction."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from attnviz.analysis.decomposition import Contributions, contributions
from attnviz.app import markdown
from attnviz.app.heads import part_pictures
from attnviz.app.heads.beyond_weights.choices import TokenSelection
from attnviz.app.references import cited_markdown
from attnviz.app.server.cache import cached
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.errors import AttnvizError
from attnviz.models.catalogue import Entry
from attnviz.text import decimal
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


@cached("Taking the output apart …")
def shares(model: Entry, given: ModelInput, kind: Kind, place: int) -> Shares:
    """The shares of one output, of the encoder or of a decoder without one; errors as in `decomposition`."""
    with loading.gate:  # our own models come without transformers
        from attnviz.capture.residual_stream import decomposition

    found = decomposition(loading.opened(model), given, place, kind)
    direction = found.output / (found.output @ found.output)
    return Shares(contributions(found.parts, direction), found.residual, len(found.output))


def draw(chosen: TokenSelection) -> None:
    """Draw the largest parts, all heads, and how exact the sum is."""
    try:
        found = shares(chosen.entry, chosen.given, chosen.kind, chosen.query)
    except AttnvizError as error:
        st.info(markdown.plain(str(error)), icon=":material/block:")
        return
    st.markdown(_sums(found))
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


def _sums(found: Shares) -> str:
    """The shares of all heads, of all feed-forward networks, of the embedding and of the biases."""
    parts, heads = found.parts, sum(each.sum() for each in found.parts.attention.values())
    sums = {"heads": heads, "feed-forward networks": parts.feed_forward.sum()}
    sums |= {"embedding": parts.embeddings, "biases": parts.biases}
    listed = ", ".join(f"{name} **{decimal(float(share))}**" for name, share in sums.items())
    return f"Share of the output: {listed}"


def _how_exact(found: Shares) -> str:
    return (
        "A share is the part’s component along the output, divided by the output’s length. All shares sum to "
        f"1; the largest error of the {found.d_model} numbers is {found.residual:.1e}. Each norm keeps the "
        "divisor of the whole forward pass (Elhage et al. 2021; Kobayashi et al. 2021). A share is not the "
        "effect of removing the part: later layers read it too."
    )
