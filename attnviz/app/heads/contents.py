"""The tools for looking at heads at work, each with the question that it answers."""

from __future__ import annotations

import streamlit as st

from attnviz.app import cards
from attnviz.app.cards import Card
from attnviz.experiments import pairs

TOOLS = (
    Card(
        "behaviour",
        "What does each head do?",
        "Previous word, next word, separator, broad or focused: each head on your sentence, and on hundreds.",
        "Behaviour",
        ":material/monitoring:",
    ),
    Card(
        "pronouns",
        "Which head resolves the pronoun?",
        f"All heads on {len(pairs.bundled())} pairs of sentences: how often each is right, and on what it "
        "fails.",
        "Pronouns",
        ":material/rule:",
    ),
    Card(
        "grammar",
        "Which head knows the grammar?",
        "Which head finds the subject of a verb, or the noun of *the*: each beside the best fixed distance.",
        "Grammar",
        ":material/account_tree:",
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
        "Silence a head or point it elsewhere; the model is run again, and you see what moves.",
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
        "plane",
        "Where do queries and keys meet?",
        "A head's queries and keys as points of one plane, with what that picture keeps and what it loses.",
        "One plane",
        ":material/scatter_plot:",
    ),
    Card(
        "find",
        "Where else does a head do this?",
        "From a token in a head to the tokens of a text at which it does most alike, and what they share.",
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
