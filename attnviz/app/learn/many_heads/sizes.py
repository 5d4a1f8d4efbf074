"""What heads and whole models cost, side by side: the tables of the page "Why many heads?"."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from attnviz.app.learn.computed import MODEL, computed
from attnviz.app.learn.computed import many_heads as compute
from attnviz.app.references import cited_markdown
from attnviz.app.state.choices import TOKENS_COUNTED
from attnviz.models import catalogue

_sizes = computed(compute.known_sizes)
_multiply_adds = computed(compute.multiply_adds)

_MODEL = catalogue.entry(MODEL)
# A vector can only be shared out equally: these are the numbers that divide it.
HEADS = tuple(heads for heads in range(1, _MODEL.heads + 1) if _MODEL.d_model % heads == 0)


@computed
def costs(tokens: int) -> tuple[compute.Cost, ...]:
    """What one attention block of the bundled BERT costs, for each number of heads in `HEADS`."""
    return compute.costs(_MODEL.d_model, HEADS, tokens)


def cost(tokens: int) -> None:
    """Draw what each number of heads costs for so many tokens."""
    found = costs(tokens)
    one, *_, many = found
    left, right = st.columns(2, gap="large")
    with left:
        table(
            ("heads × numbers", "parameters", "multiply-adds", "weights"),
            [
                (f"{c.heads} × {c.d_head}", f"{c.parameters:,}", f"{c.multiply_adds:,}", f"{c.weights:,}")
                for c in found
            ],
        )
    with right:
        st.markdown(
            f"Counted for one attention block and the {tokens} tokens of this sentence. A *multiply-add* is "
            "one product, added to a sum.\n\n"
            f"**Parameters and multiply-adds are the same**: {many.heads} × {many.d_head} = {one.d_head}. "
            f"What grows is the number of :violet[weights]: {many.heads} heads give each token {many.heads} "
            f"rows of them, {many.weights:,} in all."
        )


def models() -> None:
    """Draw the sizes of real models side by side."""
    known = _sizes()
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("Sizes", anchor=False)
        table(
            ("model", "d_model = heads × d_head", "feed-forward", "layers"),
            [
                (
                    s.name,
                    f"{s.d_model} = {s.heads} × {s.d_head}",
                    f"{s.d_feed_forward} = {s.d_feed_forward / s.d_model:g} × {s.d_model}",
                    f"{s.layers}",
                )
                for s in known
            ],
        )
    with right:
        st.subheader("Parameters, in millions", anchor=False)
        table(
            ("model", "attention block", "one layer", "encoder", "whole model"),
            [
                (s.name, *(_millions(n) for n in (s.attention, s.layer, s.encoder, s.everything)))
                for s in known
            ],
        )
    cited_markdown("\n".join(f"- :small[{_whole(size)}]" for size in known))
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("Multiply-adds, in millions", anchor=False)
        tokens = TOKENS_COUNTED.draw("Tokens to count for")
        table(
            ("model", "attention block", "one layer", "encoder"),
            [(s.name, *(_millions(n) for n in _counted(s, tokens))) for s in known],
        )
    with right:
        st.subheader("How they are counted", anchor=False)
        _count_of_multiply_adds()


def _counted(size: compute.Sizes, tokens: int) -> tuple[int, int, int]:
    added = _multiply_adds(tokens, size.d_model, size.heads, size.d_feed_forward)
    return added.attention, added.layer, size.layers * added.layer


def _count_of_multiply_adds() -> None:
    st.latex(
        r"\underbrace{4\,N\,d_{\text{model}}^{\,2}}_{W_Q,\ W_K,\ W_V,\ W_O}"
        r"+\underbrace{2\,N^2\,d_{\text{model}}}_{\textcolor{blue}{Q}\textcolor{red}{K}^{\top},"
        r"\ \textcolor{violet}{A}\,\textcolor{green}{V}}"
    )
    st.markdown(
        "One attention block for $N$ tokens: the number of heads is not in it. A *layer* has a feed-forward "
        "network, too (page 8): $2\\,N\\,d_{\\text{model}}\\,d_{\\text{ff}}$ more. Looking grows with the "
        f"square of the length: beyond {2 * _MODEL.d_model:,} tokens it costs the bundled model more than "
        "the four matrices."
    )


def _millions(number: int) -> str:
    return f"{number / 1e6:,.2f}"


def _whole(size: compute.Sizes) -> str:
    """A model's exact number of parameters, what is counted, and what its paper says."""
    paper = "" if size.published is None else f" The paper says {size.published} million."
    return (
        f"**{size.name}** ({size.source}): {size.everything:,} parameters = "
        f"{size.encoder:,} of the encoder + {size.everything - size.encoder:,} of {size.parts}.{paper}"
    )


def table(titles: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> None:
    """Draw a table whose first columns (`left` of them) are words, and the others numbers."""
    lines = [titles, ["---"] * left + ["---:"] * (len(titles) - left), *rows]
    st.markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))
