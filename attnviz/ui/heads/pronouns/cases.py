"""What one head gets right and what it fails on, pair by pair, each a way to its weights."""

from __future__ import annotations

import numpy as np
import streamlit as st

from attnviz.analysis.shown import Shown
from attnviz.analysis.spans import positions
from attnviz.capture import loading
from attnviz.heads.pairs import Pair
from attnviz.heads.pronouns import LOOKS, Looks, Verdicts
from attnviz.trace import Mask
from attnviz.ui import markdown
from attnviz.ui.controls import one_of
from attnviz.ui.heads import choosing
from attnviz.ui.heads.pronouns.choices import Chosen
from attnviz.ui.heads.pronouns.figures import fine, sentence

FAILURES, SUCCESSES, ALL = "Failures", "Successes", "All pairs"

_WAYS = {"pronoun": "from the pronoun to each noun", "nouns": "from each noun to the pronoun"}
_AT_ONCE = 12
_MORE = "how many pairs are listed"


def choose() -> str:
    """Draw the choice which pairs are listed."""
    st.header("What it gets right, and what it fails on", anchor=False)
    return one_of("Pairs", (FAILURES, SUCCESSES, ALL), FAILURES, "cases")


def draw(chosen: Chosen, found: Verdicts, looks: Looks, which: str) -> None:
    """List pairs, the head's failures first."""
    right = found.right(looks)[:, :, chosen.layer, chosen.head]
    both = np.asarray(right.all(axis=1))
    order = np.argsort(both, kind="stable")
    listed = [int(place) for place in order if which == ALL or both[place] == (which == SUCCESSES)]
    st.markdown(
        f"Head {chosen.name} resolves {both.sum()} pairs and fails on {(~both).sum()}. The percentages are "
        f"the model’s own weights {_WAYS[looks]}; the noun that is meant stands in bold letters."
    )
    most = st.session_state.get(_MORE, _AT_ONCE)
    for place in listed[:most]:
        _case(chosen, found, looks, place, right[place])
    if len(listed) > most:
        st.button(f"Show {min(_AT_ONCE, len(listed) - most)} more of {len(listed)}", on_click=_show_more)
    if not listed:
        st.markdown("None.")


def _show_more() -> None:
    st.session_state[_MORE] = st.session_state.get(_MORE, _AT_ONCE) + _AT_ONCE


def _case(chosen: Chosen, found: Verdicts, looks: Looks, place: int, right: Mask) -> None:
    pair = found.pairs[place]
    weights = found.weights[LOOKS.index(looks), place, :, :, chosen.layer, chosen.head]
    with st.container(border=True, gap="xxsmall"):
        for reading, seen, is_right in zip(pair.readings, weights, right, strict=True):
            names = [
                f"**{markdown.plain(name)} {fine(float(weight))}**"
                if nth == reading.right
                else f"{markdown.plain(name)} {fine(float(weight))}"
                for nth, (name, weight) in enumerate(zip(pair.candidates, seen, strict=True))
            ]
            st.markdown(f"{'✓' if is_right else '✗'} {sentence(reading)} → {', '.join(names)}")
        with st.container(horizontal=True):
            explore(chosen, pair, "Open this pair on Explore")
            if pair.famous:
                st.badge("famous", color="gray")


def explore(chosen: Chosen, pair: Pair, label: str) -> None:
    """A way to the pair on Explore, with this head open and the pronoun followed."""
    reading, other = pair.readings
    st.page_link(
        "pages/explore.py",
        label=label,
        icon=":material/grid_view:",
        query_params={
            "model": chosen.entry.name,
            "text": reading.text,
            "other": other.text,
            **({"kind": chosen.kind} if len(chosen.entry.kinds) > 1 else {}),
            "layer": str(chosen.layer + 1),
            "head": str(chosen.head + 1),
            "query": _option(chosen, pair),
        },
    )


def _option(chosen: Chosen, pair: Pair) -> str:
    """What Explore calls the pronoun: "11 it"."""
    reading = pair.readings[0]
    tokens = loading.tokens(chosen.entry.name, reading.text)
    shown = Shown(tokens, reading.text)
    first, *_ = positions(tokens, reading.pronoun)
    index = shown.index_of(first)
    assert index is not None  # noqa: S101 - nothing is hidden; for the type checker
    return choosing.word_option(shown.groups[index])
