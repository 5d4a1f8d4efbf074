"""The tools for looking at heads at work, each with the question that it answers."""

from __future__ import annotations

import streamlit as st

from attnviz.app import cards
from attnviz.app.cards import Card

TOOLS = (
    Card(
        "score_heads",
        "Score heads: which head does what?",
        "Previous or next token, pronouns, grammatical relations: all heads scored on many examples, beside "
        "a baseline.",
        "Score heads",
        ":material/leaderboard:",
    ),
    Card(
        "compare",
        "What changes?",
        "Two sentences, or two models on one, side by side; heads ranked by how much they change.",
        "Compare",
        ":material/compare_arrows:",
    ),
    Card(
        "intervene",
        "What if a head were silent?",
        "Ablate a head or point it elsewhere; the model is run again, and you see what moves.",
        "Intervene",
        ":material/volume_off:",
    ),
    Card(
        "beyond_weights",
        "Do the weights tell the story?",
        "Rollout, norms, gradients, and leaving a word out: what each says of one token, side by side.",
        "Beyond weights",
        ":material/query_stats:",
    ),
    Card(
        "find",
        "Similar tokens: where else does a head do this?",
        "The tokens of a text with the most similar query, key or output in a head: as a list and as a map.",
        "Find",
        ":material/travel_explore:",
    ),
)
"""In the order in which one might use them."""


def draw() -> None:
    """Draw the tools, each with the question that it answers."""
    st.markdown(
        "One picture of one head is an anecdote. These tools watch heads on many sentences, or take one "
        "sentence further: your sentence, model and head go along."
    )
    cards.draw(TOOLS)
