"""What one head gets right and what it fails on, pair by pair, each a way to its weights."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.app import markdown
from attnviz.app.heads.pronouns import listing, onward
from attnviz.app.heads.pronouns.choices import HeadSelection
from attnviz.app.heads.pronouns.figures import fine, marked
from attnviz.experiments.pronouns import LOOKS, Looks, Verdicts
from attnviz.text import plural

_WAYS = {"pronoun": "from the pronoun to each noun", "nouns": "from each noun to the pronoun"}


def draw(chosen: HeadSelection, found: Verdicts, looks: Looks, which: str) -> None:
    """List pairs, the head's failures first."""
    right = found.right(looks)[:, :, chosen.layer, chosen.head]
    both = np.asarray(right.all(axis=1))
    st.markdown(
        f"It resolves {plural(int(both.sum()), 'pair')} and fails on {(~both).sum() or 'none'}. The "
        f"percentages are the model’s own weights {_WAYS[looks]}; the noun that is meant stands in bold "
        "letters."
    )

    def draw_one(place: int) -> None:
        _case(chosen, found, looks, place)

    listing.draw("pairs", listing.places(both, which), draw_one)


def _case(chosen: HeadSelection, found: Verdicts, looks: Looks, place: int) -> None:
    pair = found.pairs[place]
    right = found.right(looks)[place, :, chosen.layer, chosen.head]
    weights = found.weights[LOOKS.index(looks), place, :, :, chosen.layer, chosen.head]
    for reading, seen, is_right in zip(pair.readings, weights, right, strict=True):
        names = [
            f"**{markdown.plain(name)} {fine(float(weight))}**"
            if nth == reading.right
            else f"{markdown.plain(name)} {fine(float(weight))}"
            for nth, (name, weight) in enumerate(zip(pair.candidates, seen, strict=True))
        ]
        written = marked(reading.text, [(reading.pronoun, "*"), (reading.deciding, "**")])
        st.markdown(f"{'✓' if is_right else '✗'} {written} → {', '.join(names)}")
    with st.container(horizontal=True, vertical_alignment="center"):
        # Of the two sentences, the one on which it fails; of none, the first.
        onward.pair(chosen, pair, pair.readings[int(right.argmin())], "Open this pair on Explore")
        if pair.famous:
            st.badge("famous", color="gray")
