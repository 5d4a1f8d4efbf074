"""The tools for looking at heads at work, each with the question that it answers."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from attnviz.app import cards
from attnviz.app.cards import Card
from attnviz.experiments import pairs


@dataclass(frozen=True)
class Tool:
    """One page about heads at work.

    Attributes:
        name, title: its address, and what links call it.
        question, summary: what it answers, and what one does there, in a sentence of Markdown.
        icon: of its links.
    """

    name: str
    title: str
    question: str
    summary: str
    icon: str


TOOLS = (
    Tool(
        "behaviour",
        "Behaviour",
        "What does each head do?",
        "Previous word, next word, separator, broad or focused: each head on your sentence, and on hundreds.",
        ":material/monitoring:",
    ),
    Tool(
        "pronouns",
        "Pronouns",
        "Which head resolves the pronoun?",
        f"All heads on {len(pairs.bundled())} pairs of sentences: how often each is right, and on what it "
        "fails.",
        ":material/rule:",
    ),
    Tool(
        "compare",
        "Compare",
        "What changes?",
        "Two sentences, or two models on one, side by side; heads ranked by how much they change.",
        ":material/compare_arrows:",
    ),
    Tool(
        "intervene",
        "Intervene",
        "What if a head were silent?",
        "Silence a head or point it elsewhere; the model is run again, and you see what moves.",
        ":material/volume_off:",
    ),
    Tool(
        "beyond_weights",
        "Beyond weights",
        "Do the weights tell the story?",
        "Rollout, flow, norms, gradients, and leaving a word out: what each says of one token, side by side.",
        ":material/query_stats:",
    ),
    Tool(
        "plane",
        "One plane",
        "Where do queries and keys meet?",
        "A head's queries and keys as points of one plane, with what that picture keeps and what it loses.",
        ":material/scatter_plot:",
    ),
)
"""In the order in which one might use them."""


def draw() -> None:
    """Draw the tools, each with the question that it answers."""
    st.markdown(
        f"New here? Begin with **{TOOLS[0].title}**; the others stand in the order in which one might go on."
    )
    found = [Card(tool.name, tool.question, tool.summary, tool.title, tool.icon) for tool in TOOLS]
    cards.draw(found, in_a_row=3)
