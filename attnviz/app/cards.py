"""Cards side by side, each with a question and a link to the page that answers it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from attnviz.app import small_pictures
from attnviz.app.state import link

STYLE = """
<style>
[class*="st-key-cards-"] .stColumn { min-width: min(17rem, 100%); }
[class*="st-key-card-"] { position: relative; }
[class*="st-key-card-"]:is(:hover, :focus-within) { border-color: rgb(99 102 241); }
[class*="st-key-card-"] :is(a, :has(a)) { position: static; }
[class*="st-key-card-"] a[data-testid]::after { content: ""; position: absolute; inset: 0; z-index: 1; }
[class*="st-key-card-"] a[data-testid] p { font-size: var(--text); font-weight: 600; white-space: normal; }
[class*="st-key-card-"] a[data-testid] :has(> p) { overflow: visible; }
.small-picture { height: 2.75rem; background-repeat: no-repeat; text-align: right; font-size: var(--small); }
</style>
"""
"""Styles of cards, added by `frame`: a card is one large link; narrow windows have fewer cards per row."""

_PER_ROW = 4


@dataclass(frozen=True)
class Card:
    """A page's card: its file name, question, summary, menu label and icon."""

    name: str
    question: str
    summary: str
    label: str
    icon: str


def draw(cards: Sequence[Card]) -> None:
    """Draw these cards, up to four in a row."""
    for row in range(0, len(cards), _PER_ROW):
        row_cards = cards[row : row + _PER_ROW]
        with st.container(key=f"cards-{row_cards[0].name}"):
            for column, card in zip(st.columns(_PER_ROW), row_cards, strict=False):
                with column.container(border=True, height="stretch", key=f"card-{card.name}"):
                    picture = small_pictures.of_page(card.name)
                    visited = "✓ visited" if link.visited(card.name) else ""
                    st.html(f'<div class="small-picture" style="background-image: {picture}">{visited}</div>')
                    st.page_link(f"pages/{card.name}.py", label=card.question, icon=card.icon)
                    st.markdown(card.summary)
