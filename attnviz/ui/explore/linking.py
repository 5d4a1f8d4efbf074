"""Two tokens, and which of all heads links them most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from attnviz.analysis.linking import Link, LinkChange, rank_changes, rank_links
from attnviz.analysis.sentence import percent, signed_percent
from attnviz.analysis.shown import Group
from attnviz.trace import Floats
from attnviz.ui import caches, markdown
from attnviz.ui.caches import View
from attnviz.ui.controls import choose_token
from attnviz.ui.examples import Example, example_of
from attnviz.ui.explore.choices import Heads, open_heads
from attnviz.ui.explore.reading import Reading

STRONGEST = "the strongest"
EVERY = "every token"

_SHOWN = 8
_PRONOUN = "it"


@dataclass(frozen=True)
class Pair:
    """Who looks at whom, as numbers among the shown tokens, from 0.

    Attributes:
        query: the token that looks.
        key: the token that is looked at.
        key_is_chosen: False if the key is just the one that the query looks at most.
    """

    query: int
    key: int
    key_is_chosen: bool


@dataclass(frozen=True)
class Tokens:
    """What the visitor can choose from, and what was chosen.

    Attributes:
        options: "11 it": number and name of every shown token.
        pair: the chosen tokens; None while the lines of every token are drawn.
    """

    options: tuple[str, ...]
    pair: Pair | None

    def choose(self, query: int | None, key: int | None) -> None:
        """Make another choice, from a picture; None stands for every query, or for the strongest key."""
        st.session_state["query"] = EVERY if query is None else self.options[query]
        st.session_state["key"] = STRONGEST if key is None else self.options[key]

    def choose_key(self, key: int) -> None:
        """Keep the query and choose another key."""
        st.session_state["key"] = self.options[key]

    def name(self, index: int) -> str:
        """The token as Markdown that shows it as typed."""
        return markdown.code(self.options[index].split(" ", 1)[1])


def choose(view: View, heads: Heads) -> Tokens:
    """Draw the choice of two tokens."""
    st.subheader("Which head links two tokens?", anchor=False)
    groups = caches.groups(view)
    options = tuple(f"{group.number} {group.label}" for group in groups)
    sentence = st.session_state["text"]
    begin = options[_begin(groups, example_of(sentence, st.session_state["other"]))]
    query_column, key_column = st.columns(2)
    with query_column:
        query = choose_token("query", "Query (looks)", (EVERY, *options), begin, sentence)
    with key_column:
        key = choose_token("key", "Key (is looked at)", (STRONGEST, *options), STRONGEST, sentence)
    if query == EVERY:
        return Tokens(options, None)
    row = caches.values(view)[heads.layer - 1, heads.head - 1, options.index(query)]
    strongest = int(np.argmax(np.abs(row) if view.changed else row))
    chosen = key != STRONGEST
    return Tokens(options, Pair(options.index(query), options.index(key) if chosen else strongest, chosen))


def draw(read: Reading, view: View, heads: Heads, tokens: Tokens) -> None:
    """Draw the ranking of all heads; a click opens a head."""
    if tokens.pair is None:
        st.markdown("Choose a query token to see which heads link it to another.")
        return
    query, key = tokens.pair.query, tokens.pair.key
    pair = f"{tokens.name(query)} → {tokens.name(key)}"
    if view.changed is not None:
        st.markdown(f"Heads whose weight {pair} **moves most** from the first sentence to the second:")
    else:
        st.markdown(f"Heads with the largest weight {pair}:")
    ranked = _ranked(view, query, key)
    st.session_state["ranking"] = None
    names = {f"{name} · {number}": name for name, number in ranked[:_SHOWN]}
    st.pills(
        "Open a head",
        list(names),
        key="ranking",
        on_change=_open,
        args=(names,),
        label_visibility="collapsed",
    )
    if moved := _who_moves_most(read, view, query, key):
        st.markdown(f":small[{moved}]")
    place = [name for name, _ in ranked].index(heads.name) + 1
    st.markdown(
        f":small[The open head, {heads.name}, is number {place} of {len(ranked)}: {ranked[place - 1][1]}.]"
    )


def _who_moves_most(read: Reading, view: View, query: int, key: int) -> str | None:
    """Which head's link differs most between the two sentences; None if they cannot be compared."""
    if read.pair is None or view.changed is not None:
        return None
    before, after = (caches.weights(view.model, trace.text, view.hide, view.merge) for trace in read.pair)
    if before.shape != after.shape:
        return None
    name, moved = _moves(before, after, query, key)[0]
    return f"From the first sentence to the second, **{name}** moves most: {moved}."


def _ranked(view: View, query: int, key: int) -> list[tuple[str, str]]:
    """Every head's name and number, strongest first."""
    if view.changed is None:
        links = rank_links(caches.weights(view.model, view.text, view.hide, view.merge), query, key)
        return [(_name(link), percent(link.weight)) for link in links]
    before, after = (caches.weights(view.model, t, view.hide, view.merge) for t in (view.text, view.changed))
    return _moves(before, after, query, key)


def _moves(before: Floats, after: Floats, query: int, key: int) -> list[tuple[str, str]]:
    """Every head's name and change, largest first."""
    return [(_name(move), signed_percent(move.change)) for move in rank_changes(before, after, query, key)]


def _name(link: Link | LinkChange) -> str:
    return f"{link.layer + 1}-{link.head + 1}"


def _open(names: dict[str, str]) -> None:
    picked = st.session_state["ranking"]
    if picked:
        layer, head = names[picked].split("-")
        open_heads(int(layer), [int(head)])


def _begin(groups: Sequence[Group], example: Example | None) -> int:
    """The token to begin with: the example's, or *it*, or the last token that is a word."""
    # In a change a token that differs is called "are → is".
    labels = [group.label.split(" → ")[0] for group in groups]
    for wanted in (example.query if example else _PRONOUN, _PRONOUN):
        if wanted in labels:
            return labels.index(wanted)
    words = [index for index, group in enumerate(groups) if not group.special and labels[index].isalnum()]
    return words[-1] if words else len(groups) - 1
