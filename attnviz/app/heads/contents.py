"""The tools for examining heads, each with the question that it answers."""

from __future__ import annotations

import streamlit as st

from attnviz.app import cards
from attnviz.app.cards import Card

TOOLS = (
    Card(
        "score_heads",
        "Score heads: which head does what?",
        "Previous or next token, pronouns, grammatical relations: all heads scored on many examples, with "
        "a baseline.",
        "Score heads",
        ":material/leaderboard:",
    ),
    Card(
        "compare",
        "Compare: what changes?",
        "Two sentences side by side; heads ranked by how much their weights change.",
        "Compare",
        ":material/compare_arrows:",
    ),
    Card(
        "intervene",
        "Intervene: what effect does a head have?",
        "Ablate a head or redirect its attention; the model is run again, and you see what changes.",
        "Intervene",
        ":material/volume_off:",
    ),
    Card(
        "beyond_weights",
        "Beyond weights: do other measures agree?",
        "Rollout, norms, gradients, and occlusion: all measures for one token, side by side.",
        "Beyond weights",
        ":material/query_stats:",
    ),
    Card(
        "find",
        "Find: which tokens have similar vectors in a head?",
        "The tokens with a query, key or output most similar to that of a chosen token: a list and a map.",
        "Find",
        ":material/travel_explore:",
    ),
)
"""The tools, in the order in which pages list them."""


def draw() -> None:
    """Draw the tools, each with the question that it answers."""
    st.markdown(
        "One example proves little. These tools test heads on many sentences, or examine one sentence "
        "in detail. When you change tools, your sentence, model and head are kept."
    )
    cards.draw(TOOLS)
